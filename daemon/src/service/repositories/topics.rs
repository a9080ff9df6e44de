//! Topics of repositories.

use std::collections::BTreeSet;

use farrier_proto::store::{Repository, Visibility};

use super::{FoundRepository, find, list, with_access_levels};
use crate::{
    model::identity::Identity,
    service::{
        Context, Error,
        access::Action,
        audit::{self, AuditRecorder, Entry, Object},
        migrations,
    },
    store::{Snapshot, Tx, repositories},
};

/// Most topics of a repository.
pub const TOPICS_MAX: usize = 25;
/// Most topics that a search reads.
const FOUND_MAX: usize = 1_000;
/// Most repositories of one topic whose visibility a search checks one by one, and of all topics.
const CHECKED_MAX: usize = 1_000;
const ALL_CHECKED_MAX: usize = 10_000;
/// Longest topic, in characters.
const TOPIC_MAX_CHARS: usize = 35;

/// A change of the topics of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopicChange {
    /// Replaces all topics.
    Replace(Vec<String>),
    /// Adds a topic.
    Add(String),
    /// Removes a topic.
    Remove(String),
}

/// Why topics are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopicProblem {
    /// These are not valid.
    Invalid(Vec<String>),
    /// There are more than [`TOPICS_MAX`].
    TooMany,
}

/// Changes the topics of the repository `owner`/`name`.
pub async fn change_topics(
    context: &Context,
    identity: &Identity,
    owner: &str,
    name: &str,
    change: &TopicChange,
) -> Result<Result<(), TopicProblem>, Error> {
    let snapshot = context.store.read().await?;
    let FoundRepository { repository, owner, .. } = find(&snapshot, identity, owner, name, Action::Administer).await?;
    drop(snapshot);
    if let Some(reason) = migrations::pending(&repository) {
        return Err(Error::Conflict { reason: reason.into() });
    }
    if repository.archived {
        return Err(Error::Archived);
    }
    let (owner, recorder) = (&owner, &AuditRecorder::new(context));
    context
        .store
        .write(async |tx: Tx| {
            let before = repositories::get(&tx, repository.id).await?.filter(|row| !row.deleted);
            let before = before.ok_or(super::MISSING)?;
            let topics = match changed(&before.topics, change) {
                Ok(topics) => topics.ok_or(Error::NotFound { what: "the topic" })?,
                Err(problem) => return Ok(Err(problem)),
            };
            if topics != before.topics {
                let entry = Entry::new(audit::Action::RepositoryEdit, Object::repository(&before, owner.name()));
                recorder.record(&tx, entry.field("topics", before.topics.clone(), topics.clone())).await?;
                repositories::put(&tx, Some(&before), &Repository { topics, ..before.clone() });
            }
            Ok(Ok(()))
        })
        .await
}

/// Returns the topics that begin with `prefix` of the repositories that the caller sees, sorted by name, and for each
/// the number of these repositories. Reads no more than `FOUND_MAX` topics, and checks no more than
/// `ALL_CHECKED_MAX` repositories that only some callers see; the numbers do not contain others.
pub async fn search_topics(read: &Snapshot, identity: &Identity, prefix: &str) -> Result<Vec<(String, u64)>, Error> {
    let prefix = normalized(prefix);
    if !prefix.is_empty() && !is_valid(&prefix) {
        return Ok(Vec::new());
    }
    let mut listing = list::visible(read, identity, 0).await?;
    list::restrict(identity, &mut listing);
    let sees_all = |class: Visibility| listing.lists.iter().any(|list| list.scope == 0 && list.class == class);
    let (mut found, mut after): (Vec<(String, u64)>, Option<String>) = (Vec::new(), None);
    let mut left = ALL_CHECKED_MAX;
    for _ in 0..FOUND_MAX {
        let Some(topic) = repositories::next_topic(read, &prefix, after.as_deref()).await? else { break };
        let mut count = 0;
        for class in [Visibility::Public, Visibility::Limited, Visibility::Private] {
            if sees_all(class) {
                count += repositories::count_with_topic(read, &topic, class).await?;
            } else if identity.account().is_some() && left > 0 {
                let rows = repositories::with_topic_in(read, &topic, class, CHECKED_MAX.min(left)).await?;
                left = left.saturating_sub(rows.len());
                count += with_access_levels(read, identity, rows).await?.len() as u64;
            }
        }
        if count > 0 {
            found.push((topic.clone(), count));
        }
        after = Some(topic);
    }
    Ok(found)
}

/// Returns the sorted topics after `change`; `None` if the topic to remove does not exist.
fn changed(topics: &[String], change: &TopicChange) -> Result<Option<Vec<String>>, TopicProblem> {
    let mut topics: BTreeSet<String> = topics.iter().cloned().collect();
    match change {
        TopicChange::Replace(new) => topics = new.iter().map(|topic| normalized(topic)).collect(),
        TopicChange::Add(topic) => {
            topics.insert(normalized(topic));
        }
        TopicChange::Remove(topic) => {
            let topic = normalized(topic);
            if !is_valid(&topic) {
                return Err(TopicProblem::Invalid(vec![topic]));
            }
            if !topics.remove(&topic) {
                return Ok(None);
            }
        }
    }
    let invalid: Vec<String> = topics.iter().filter(|topic| !is_valid(topic)).cloned().collect();
    if topics.len() > TOPICS_MAX {
        return Err(TopicProblem::TooMany);
    }
    if invalid.is_empty() { Ok(Some(topics.into_iter().collect())) } else { Err(TopicProblem::Invalid(invalid)) }
}

/// Returns the form in which topics are stored.
fn normalized(topic: &str) -> String {
    topic.trim().to_lowercase()
}

/// Returns whether `topic` matches `[a-z0-9][a-z0-9.-]*` and is not too long.
fn is_valid(topic: &str) -> bool {
    let is_alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    topic.len() <= TOPIC_MAX_CHARS
        && topic.bytes().next().is_some_and(is_alphanumeric)
        && topic.bytes().all(|byte| is_alphanumeric(byte) || matches!(byte, b'.' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(topics: &[&str]) -> Vec<String> {
        topics.iter().map(|topic| (*topic).to_owned()).collect()
    }

    #[test]
    fn topics_are_normalized_sorted_and_checked() {
        let replace = |topics: &[&str]| changed(&texts(&["old"]), &TopicChange::Replace(texts(topics)));
        assert_eq!(replace(&["Rust", " ci ", "rust", "c.3-x"]), Ok(Some(texts(&["c.3-x", "ci", "rust"]))));
        assert_eq!(replace(&[]), Ok(Some(Vec::new())));
        let long = "x".repeat(36);
        assert_eq!(
            replace(&["ok", "bad topic", "-x", "", "ä", &long]),
            Err(TopicProblem::Invalid(texts(&["", "-x", "bad topic", &long, "ä"])))
        );
        let many: Vec<String> = (0..26).map(|n| format!("t{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(replace(&many), Err(TopicProblem::TooMany));
        assert!(replace(&many[..25]).is_ok());
    }

    #[test]
    fn one_topic_is_added_or_removed() {
        let old = texts(&["b"]);
        assert_eq!(changed(&old, &TopicChange::Add("A".into())), Ok(Some(texts(&["a", "b"]))));
        assert_eq!(changed(&old, &TopicChange::Add("b".into())), Ok(Some(old.clone())));
        assert_eq!(changed(&old, &TopicChange::Remove("B".into())), Ok(Some(Vec::new())));
        assert_eq!(changed(&old, &TopicChange::Remove("c".into())), Ok(None));
        assert!(changed(&old, &TopicChange::Remove("-".into())).is_err());
    }
}
