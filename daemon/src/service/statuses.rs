//! Statuses of commits.

use std::collections::BTreeMap;

use farrier_common::api::CreateStatus;
use farrier_proto::store::{CommitStatus, StatusState, User};

use super::{
    Context, Error,
    browse::{self, Browse},
    events::{Actor, EventKind, EventRecorder, Subject},
};
use crate::{
    model::{identity::Identity, words},
    store::{Read, Snapshot, StoreError, Tx, ids::IdKind, owners, repositories, statuses},
};

const CONTEXT_DEFAULT: &str = "default";
/// Longest context and target URL, in characters.
pub(super) const TEXT_MAX_CHARS: usize = 255;
const DESCRIPTION_MAX_CHARS: usize = 1_024;

/// Adds a status to the commit that `revision` resolves to. Returns the id of the commit and the status.
pub async fn create(
    context: &Context,
    identity: &Identity,
    browse: &Browse,
    revision: &str,
    input: CreateStatus,
) -> Result<(String, CommitStatus), Error> {
    let mut row = checked(input)?;
    if browse.found.repository.archived {
        return Err(Error::Archived);
    }
    let commit = browse.git.resolve(revision).await?.ok_or(Error::NotFound { what: "the commit" })?;
    let object = browse.commit(&commit).await?;
    let snapshot = context.store.read().await?;
    let people = browse::people(&snapshot, &[&object]).await?;
    drop(snapshot);
    row.id = context.store.next_id(IdKind::Status).await?;
    row.creator_id = identity.user_id();
    row.created_ms = context.now_ms();
    let (recorder, actor) = (&EventRecorder::new(context), &Actor::of(identity));
    let (commit_ref, row_ref, object, people) = (commit.as_str(), &row, &object, &people);
    context
        .store
        .write(async |tx: Tx| {
            // Read again: the repository may have been deleted or changed since.
            let repository = repositories::get(&tx, browse.found.repository.id).await?.filter(|row| !row.deleted);
            let repository = &repository.ok_or(Error::NotFound { what: "the repository" })?;
            let owner = owners::owner(&tx, repository.owner_kind(), repository.owner_id).await?;
            let owner = &owner.ok_or(Error::NotFound { what: "the owner" })?;
            if !statuses::insert(&tx, repository.id, commit_ref, row_ref).await? {
                let most = statuses::CONTEXTS_MAX;
                return Err(Error::invalid("context", format!("the commit has statuses of {most} contexts already")));
            }
            let kind = EventKind::Status { commit: object, status: row_ref, people };
            recorder.record(&tx, Subject { repository, owner, actor }, &[kind]).await?;
            Ok::<_, Error>(())
        })
        .await?;
    Ok((commit, row))
}

/// Returns the row for `input`, without id, creator and time.
fn checked(input: CreateStatus) -> Result<CommitStatus, Error> {
    let state = words::status_state(&input.state).ok_or_else(|| {
        let known = words::STATUS_STATES.map(|(word, _)| word).join(", ");
        Error::invalid("state", format!("{:?} is not one of {known}", input.state.chars().take(50).collect::<String>()))
    })?;
    let texts = [
        ("context", &input.context, TEXT_MAX_CHARS),
        ("target_url", &input.target_url, TEXT_MAX_CHARS),
        ("description", &input.description, DESCRIPTION_MAX_CHARS),
    ];
    for (field, text, most) in texts {
        if text.chars().count() > most {
            return Err(Error::invalid(field, format!("MaxSize: is longer than {most} characters")));
        }
    }
    if input.context.chars().any(char::is_control) {
        return Err(Error::invalid("context", "must not contain control characters"));
    }
    let is_web_url = |text: &str| url::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    if !input.target_url.is_empty() && !is_web_url(&input.target_url) {
        return Err(Error::invalid("target_url", "must be an absolute http or https URL"));
    }
    let context = if input.context.is_empty() { CONTEXT_DEFAULT.to_owned() } else { input.context };
    Ok(CommitStatus {
        state: state.into(),
        context,
        description: input.description,
        target_url: input.target_url,
        ..CommitStatus::default()
    })
}

/// The filter and order of a list of statuses.
#[derive(Clone, Copy, Debug, Default)]
pub struct StatusQuery {
    /// Only statuses with this state.
    pub state: Option<StatusState>,
    /// Oldest first.
    pub oldest_first: bool,
}

/// Returns a page of the statuses of the commit `commit`, and their number.
pub async fn list(
    snapshot: &Snapshot,
    repository: u64,
    commit: &str,
    query: StatusQuery,
    window: (u64, usize),
) -> Result<(Vec<CommitStatus>, u64), Error> {
    Ok(statuses::page(snapshot, (repository, commit), query.state, !query.oldest_first, window).await?)
}

/// Returns the last status of each context of a commit, newest first, and the state that follows from them.
pub async fn combined(
    read: &impl Read,
    repository: u64,
    commit: &str,
) -> Result<(StatusState, Vec<CommitStatus>), Error> {
    let last = statuses::last_of_contexts(read, repository, commit).await?;
    Ok((combined_state(&last), last))
}

/// Returns the state of a commit from the last statuses of its contexts.
fn combined_state(last: &[CommitStatus]) -> StatusState {
    let has = |states: &[StatusState]| last.iter().any(|row| states.contains(&row.state()));
    if has(&[StatusState::Error, StatusState::Failure, StatusState::Warning]) {
        StatusState::Failure
    } else if last.is_empty() || has(&[StatusState::Pending, StatusState::Unspecified]) {
        StatusState::Pending
    } else {
        StatusState::Success
    }
}

/// Returns the accounts that created these statuses, by id.
pub async fn creators(read: &impl Read, rows: &[CommitStatus]) -> Result<BTreeMap<u64, User>, StoreError> {
    let mut found = BTreeMap::new();
    for row in rows {
        if row.creator_id != 0
            && !found.contains_key(&row.creator_id)
            && let Some(user) = owners::user(read, row.creator_id).await?
        {
            found.insert(row.creator_id, user);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use StatusState::{Error as Failed, Failure, Pending, Skipped, Success, Warning};

    use super::*;

    #[test]
    fn the_combined_state_of_every_pair_follows_from_the_worse_one() {
        assert_eq!(combined_state(&[]), Pending);
        for first in [Pending, Success, Failed, Failure, Warning, Skipped] {
            for second in [Pending, Success, Failed, Failure, Warning, Skipped] {
                let rows = [first, second].map(|state| CommitStatus { state: state.into(), ..CommitStatus::default() });
                let expected = match [first, second] {
                    states if states.iter().any(|state| matches!(state, Failed | Failure | Warning)) => Failure,
                    states if states.contains(&Pending) => Pending,
                    _ => Success,
                };
                assert_eq!(combined_state(&rows), expected, "{first:?} {second:?}");
            }
        }
        let skipped = CommitStatus { state: Skipped.into(), ..CommitStatus::default() };
        assert_eq!(combined_state(&[skipped]), Success);
    }

    #[test]
    fn input_of_a_status_is_checked() {
        let state = |state: &str| CreateStatus { state: state.into(), ..CreateStatus::default() };
        let row = checked(state("skipped")).expect("valid");
        assert_eq!((row.state(), row.context.as_str()), (Skipped, "default"));
        let field = |input: CreateStatus| match checked(input).expect_err("invalid") {
            Error::Invalid { field, .. } => field,
            other => panic!("{other}"),
        };
        assert_eq!([field(state("")), field(state("Success")), field(state("done"))], ["state"; 3]);
        let valid = || state("success");
        assert_eq!(field(CreateStatus { context: "x".repeat(256), ..valid() }), "context");
        assert_eq!(field(CreateStatus { context: "a\0b".into(), ..valid() }), "context");
        assert_eq!(field(CreateStatus { description: "x".repeat(1_025), ..valid() }), "description");
        for url in ["javascript:1", "ftp://x", "/x", &format!("http://h/{}", "x".repeat(250))] {
            assert_eq!(field(CreateStatus { target_url: url.into(), ..valid() }), "target_url", "{url}");
        }
    }
}
