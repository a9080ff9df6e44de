//! Looks for objects of all kinds by a word: a name, a URL, or the beginning of a commit ID or a delivery UUID.
//!
//! Each kind takes one page of a list that the daemon filters, or of the newest objects where it has no filter.
//! Branches and tags take some pages, because their lists are sorted by name.

use std::pin::Pin;

use farrier_common::{
    api::{
        AccessToken, BackgroundTask, Branch, Delivery, FoundArtifact, FoundRun, Hook, Organization, RepositorySearch,
        Tag, User,
    },
    client::{ArtifactFilter, Client, ClientError, DeliveryFilter, HookQuery, Pages, RepositoryPath, RunFilter},
};
use serde::de::DeserializeOwned;

use super::{
    Answer,
    found::{BRANCHES, FoundObject, FoundObjects, ObjectSearch},
};
use crate::ui::words;

/// Most objects of one kind.
const OF_KIND_MAX: usize = 10;
/// Most pages of branches, and of tags.
const REF_PAGES_MAX: usize = 10;
/// Digits of the shortest commit ID, and characters of the shortest delivery UUID.
const ID_MIN: usize = 4;
/// Digits of the longest commit ID.
const ID_MAX: usize = 64;

type Found = Result<Vec<FoundObject>, ClientError>;

/// A search for objects of one kind, with the name of the kind.
type Search<'a> = (&'static str, Pin<Box<dyn Future<Output = Found> + 'a>>);

fn search_for<'a>(kind: &'static str, search: impl Future<Output = Found> + 'a) -> Search<'a> {
    (kind, Box::pin(search))
}

/// Looks for objects of all kinds at the same time.
pub(super) async fn find(client: &Client, search: &ObjectSearch) -> Result<Answer, ClientError> {
    let word = search.word.as_str();
    let mut searches: Vec<Search<'_>> = vec![
        search_for("repositories", repositories(client, word)),
        search_for("users", users(client, word)),
        search_for("organizations", organizations(client, word)),
        search_for("hooks", hooks(client, word)),
        search_for("runs and jobs", runs(client, word)),
        search_for("artifacts", artifacts(client, word)),
        search_for("tasks", tasks(client, word)),
        search_for("your tokens", tokens(client, word)),
    ];
    let is_hexadecimal = |c: char| c.is_ascii_hexdigit();
    if word.len() >= ID_MIN && word.chars().all(|c| is_hexadecimal(c) || c == '-') {
        searches.push(search_for("deliveries", deliveries(client, word)));
    }
    if let Some(repository) = &search.repository {
        searches.push(search_for(BRANCHES, branches(client, repository, word)));
        searches.push(search_for("tags", tags(client, repository, word)));
        if (ID_MIN..=ID_MAX).contains(&word.len()) && word.chars().all(is_hexadecimal) {
            searches.push(search_for("commits", commits(client, repository, word)));
        }
    }
    let (kinds, searches): (Vec<_>, Vec<_>) = searches.into_iter().unzip();
    let mut found = FoundObjects { word: word.to_owned(), ..FoundObjects::default() };
    let mut first_error = None;
    for (kind, result) in kinds.into_iter().zip(futures_util::future::join_all(searches).await) {
        match result {
            Ok(objects) => {
                found.searched.push(kind);
                found.objects.extend(best(objects));
            }
            Err(error) => {
                found.failed.push(kind);
                first_error.get_or_insert(error);
            }
        }
    }
    if let Some(error) = first_error
        && found.searched.is_empty()
    {
        return Err(error);
    }
    found.objects.sort_by_key(|one| !one.exact);
    Ok(Answer::FoundObjects(Box::new(found)))
}

/// Returns at most [`OF_KIND_MAX`] objects of one kind, those with exactly the name first.
fn best(mut objects: Vec<FoundObject>) -> Vec<FoundObject> {
    objects.sort_by_key(|one| !one.exact);
    objects.truncate(OF_KIND_MAX);
    objects
}

/// Returns the items of the first page.
async fn first<B: DeserializeOwned, T>(
    mut pages: Pages<'_>,
    open: impl FnOnce(B) -> Vec<T>,
) -> Result<Vec<T>, ClientError> {
    // Only later pages are compared by ID.
    Ok(pages.next(|body: B| (0, open(body)), |_: &T| 0_u8).await?.unwrap_or_default())
}

fn has(text: &str, word: &str) -> bool {
    text.to_lowercase().contains(&word.to_lowercase())
}

/// Returns a name as one word of a command line.
fn quoted(name: &str) -> String {
    // Only a zero byte cannot be quoted. No name contains it.
    shlex::try_quote(name).unwrap_or_default().into_owned()
}

async fn repositories(client: &Client, word: &str) -> Found {
    let found = first(client.find_repositories(word), |found: RepositorySearch| found.data).await?;
    let object = |path: String, about: String, name: &str| FoundObject {
        kind: "repository",
        line: format!("repo show {}", quoted(&path)),
        exact: name.eq_ignore_ascii_case(word) || path.eq_ignore_ascii_case(word),
        about,
        name: path,
    };
    Ok(found.into_iter().map(|repo| object(repo.full_name, words::title(&repo.description), &repo.name)).collect())
}

async fn users(client: &Client, word: &str) -> Found {
    let found = match first(client.users(Some(word)), |users: Vec<User>| users).await {
        // Only administrators list users.
        Err(error) if error.status().is_some_and(|status| status.as_u16() == 403) => match client.user(word).await {
            Ok(user) => vec![user],
            Err(error) if is_missing(&error) => Vec::new(),
            Err(error) => return Err(error),
        },
        listed => listed?,
    };
    let object = |user: User| FoundObject {
        kind: "user",
        line: format!("user show {}", quoted(&user.login)),
        exact: user.login.eq_ignore_ascii_case(word),
        about: user.full_name,
        name: user.login,
    };
    Ok(found.into_iter().map(object).collect())
}

async fn organizations(client: &Client, word: &str) -> Found {
    let mut found = first(client.orgs(), |all: Vec<Organization>| all).await?;
    found.retain(|org| has(&org.name, word) || has(&org.full_name, word));
    if !found.iter().any(|org| org.name.eq_ignore_ascii_case(word)) {
        // It may be on a later page.
        match client.org(word).await {
            Ok(org) => found.insert(0, org),
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    let object = |org: Organization| FoundObject {
        kind: "organization",
        line: format!("org show {}", quoted(&org.name)),
        exact: org.name.eq_ignore_ascii_case(word),
        about: org.full_name,
        name: org.name,
    };
    Ok(found.into_iter().map(object).collect())
}

/// Returns whether no object has this name, or no object can have it.
fn is_missing(error: &ClientError) -> bool {
    error.status().is_some_and(|status| matches!(status.as_u16(), 400 | 404 | 422))
}

async fn hooks(client: &Client, word: &str) -> Found {
    let query = HookQuery { text: word.to_owned(), ..HookQuery::default() };
    let found = first(client.managed_hooks(&query), |hooks: Vec<Hook>| hooks).await?;
    let object = |hook: Hook| {
        let owner = match (hook.owner.as_str(), hook.repository.as_str()) {
            (_, repository) if !repository.is_empty() => format!(" --repo {}", quoted(repository)),
            (owner, _) if hook.scope == "organization" => format!(" --org {}", quoted(owner)),
            _ => String::new(),
        };
        FoundObject {
            kind: "hook",
            line: format!("hook show {}{owner}", hook.id),
            exact: hook.url == word || (!hook.name.is_empty() && hook.name.eq_ignore_ascii_case(word)),
            name: hook.id.to_string(),
            about: format!("{}  {}", hook.url, hook.name).trim_end().to_owned(),
        }
    };
    Ok(found.into_iter().map(object).collect())
}

/// Looks for the newest runs by their titles, branches and commits, and for the jobs of these runs by their names.
async fn runs(client: &Client, word: &str) -> Found {
    let found = first(client.found_runs(&RunFilter::default()), |runs: Vec<FoundRun>| runs).await?;
    let mut objects = Vec::new();
    for run in found {
        let line = format!("run show {}", run.id);
        let (name, about) = (run.id.to_string(), format!("{}  {}", run.repository, run.display_title));
        for job in run.jobs.iter().filter(|job| has(&job.name, word)) {
            let about = format!("{}  run {}  {}", job.name, run.id, run.repository);
            let (name, exact) = (job.id.to_string(), job.name.eq_ignore_ascii_case(word));
            objects.push(FoundObject { kind: "job", name, about, line: line.clone(), exact });
        }
        let is_of_commit = word.len() >= ID_MIN && run.head_sha.starts_with(&word.to_lowercase());
        if is_of_commit || has(&run.display_title, word) || has(&run.head_branch, word) {
            let exact = run.display_title.eq_ignore_ascii_case(word);
            objects.push(FoundObject { kind: "run", name, about, line, exact });
        }
    }
    Ok(objects)
}

async fn artifacts(client: &Client, word: &str) -> Found {
    let filter = ArtifactFilter { name: word.to_owned(), ..ArtifactFilter::default() };
    let found = first(client.all_artifacts(&filter), |all: Vec<FoundArtifact>| all).await?;
    let object = |one: FoundArtifact| FoundObject {
        kind: "artifact",
        line: format!("artifact {}", one.id),
        exact: one.name == word,
        name: one.id.to_string(),
        about: format!("{}  run {}  {}", one.name, one.workflow_run.id, one.repository),
    };
    Ok(found.into_iter().map(object).collect())
}

async fn tasks(client: &Client, word: &str) -> Found {
    let object = |task: BackgroundTask| FoundObject {
        kind: "task",
        line: format!("task show {}", task.id),
        exact: task.kind.eq_ignore_ascii_case(word),
        name: task.id.to_string(),
        about: format!("{} {}", task.kind, task.repository).trim_end().to_owned(),
    };
    let found = client.tasks().await?.into_iter();
    Ok(found.filter(|task| has(&task.kind, word) || has(&task.repository, word)).map(object).collect())
}

/// Looks for the newest deliveries by the beginning of their UUIDs.
async fn deliveries(client: &Client, word: &str) -> Found {
    let mut found = first(client.deliveries(&DeliveryFilter::default()), |all: Vec<Delivery>| all).await?;
    let prefix = word.to_lowercase();
    found.retain(|one| one.guid.starts_with(&prefix));
    let object = |one: Delivery| FoundObject {
        kind: "delivery",
        line: format!("delivery show {}", one.guid),
        exact: one.guid == prefix,
        about: format!("{} to hook {}", one.event, one.hook_id),
        name: one.guid,
    };
    Ok(found.into_iter().map(object).collect())
}

/// Looks for the tokens of the caller by their names and their last characters.
async fn tokens(client: &Client, word: &str) -> Found {
    let login = client.current_user().await?.login;
    let mut found = first(client.tokens(&login), |all: Vec<AccessToken>| all).await?;
    found.retain(|token| has(&token.name, word) || token.token_last_eight.eq_ignore_ascii_case(word));
    let object = |token: AccessToken| FoundObject {
        kind: "token",
        line: format!("token list --user {}", quoted(&login)),
        exact: token.name == word,
        about: format!("token {} of {login}", token.id),
        name: token.name,
    };
    Ok(found.into_iter().map(object).collect())
}

/// Returns an object whose content a repository shows.
fn in_repository(kind: &'static str, name: String, repository: &RepositoryPath, word: &str) -> FoundObject {
    FoundObject {
        kind,
        line: format!("files {} {}", quoted(&repository.to_string()), quoted(&name)),
        exact: name == word,
        about: format!("in {repository}"),
        name,
    }
}

/// Returns the items whose names contain the word, until there are enough and the one with this name is among them.
async fn named<T: DeserializeOwned>(
    mut pages: Pages<'_>,
    name: impl Fn(&T) -> String,
    word: &str,
) -> Result<Vec<String>, ClientError> {
    let mut found = Vec::new();
    for _ in 0..REF_PAGES_MAX {
        let Some(page) = pages.next(|page: Vec<T>| (0, page), &name).await? else { break };
        found.extend(page.iter().map(&name).filter(|name| has(name, word)));
        let has_exact = || found.iter().any(|name| name == word);
        if (found.len() >= OF_KIND_MAX && has_exact()) || !pages.more() {
            break;
        }
    }
    Ok(found)
}

async fn branches(client: &Client, repository: &RepositoryPath, word: &str) -> Found {
    let names = named(client.branches(repository), |branch: &Branch| branch.name.clone(), word).await?;
    Ok(names.into_iter().map(|name| in_repository("branch", name, repository, word)).collect())
}

async fn tags(client: &Client, repository: &RepositoryPath, word: &str) -> Found {
    let names = named(client.tags(repository), |tag: &Tag| tag.name.clone(), word).await?;
    Ok(names.into_iter().map(|name| in_repository("tag", name, repository, word)).collect())
}

async fn commits(client: &Client, repository: &RepositoryPath, word: &str) -> Found {
    let commit = match client.commit(repository, word).await {
        Ok(commit) => commit,
        Err(error) if is_missing(&error) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    // A branch can have a name with hexadecimal digits only.
    if !commit.sha.starts_with(&word.to_lowercase()) {
        return Ok(Vec::new());
    }
    let title = words::title(&commit.commit.message);
    Ok(vec![FoundObject {
        kind: "commit",
        line: format!("commit {} {}", quoted(&repository.to_string()), commit.sha),
        exact: true,
        about: format!("{title}  in {repository}"),
        name: commit.sha,
    }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_with_exactly_the_name_is_not_lost_among_many_others() {
        let repository: RepositoryPath = "a/tool".parse().unwrap();
        let names = (0..OF_KIND_MAX + 3).map(|number| format!("feature/main-{number}")).chain(["main".to_owned()]);
        let found = best(names.map(|name| in_repository("branch", name, &repository, "main")).collect());
        assert_eq!((found.len(), found[0].name.as_str(), found[0].exact), (OF_KIND_MAX, "main", true));
        assert_eq!(found[1].name, "feature/main-0", "the others keep their order");
    }
}
