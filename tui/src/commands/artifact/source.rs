//! Finds artifacts: in one repository or all repositories (REST API), or in the run to which this process
//! belongs (artifact service). Commands use all three in the same way.

use std::{collections::VecDeque, ffi::OsString};

use farrier_common::{
    api::{Artifact, ArtifactRun, FoundArtifact},
    client::{ArtifactFilter, Client, ClientError, Pages, RepositoryPath, RunScope, SignedUrl, Token},
};
use farrier_proto::results::list_artifacts_response::MonolithArtifact;
use http::StatusCode;

use crate::{
    args::{ArtifactScopeArgs, Global},
    commands::list::Listed,
    endpoint::{self, variable},
    exit::Failure,
    transfer::session,
};

/// The artifacts that a command searches.
#[derive(Debug)]
pub(super) enum ArtifactSource {
    All { client: Client, run: Option<i64> },
    Repository { client: Client, repo: RepositoryPath, run: Option<i64> },
    Run { client: Client, scope: RunScope },
}

/// An artifact, and its run and job in the artifact service.
#[derive(Debug)]
pub(super) struct SelectedArtifact {
    pub(super) artifact: Artifact,
    scope: Option<RunScope>,
    /// The artifact in the list of all repositories, with its repository and job.
    pub(super) details: Option<Box<FoundArtifact>>,
}

#[derive(Debug, PartialEq, Eq)]
enum Choice {
    All { run: Option<i64> },
    Repository { repo: RepositoryPath, run: Option<i64> },
    Run { scope: RunScope, token: Token },
}

/// Returns the job in which this process runs.
pub(super) fn own_job(variable: impl Fn(&str) -> Option<OsString>) -> Result<Option<(RunScope, Token)>, Failure> {
    let Some(text) = variable(session::TOKEN_VARIABLE) else { return Ok(None) };
    let text = text.to_string_lossy();
    let scope = session::scope(&text);
    let bad = || Failure::Usage(format!("{} is not a runtime token", session::TOKEN_VARIABLE));
    Ok(Some((scope.ok_or_else(bad)?, Token::new(&text).map_err(|_| bad())?)))
}

/// Returns the repository of the job in which this process runs.
pub(super) fn own_repository(variable: impl Fn(&str) -> Option<OsString>) -> Option<RepositoryPath> {
    variable("GITHUB_REPOSITORY")?.to_str()?.parse().ok()
}

pub(super) fn same(a: &RepositoryPath, b: &RepositoryPath) -> bool {
    a.owner.eq_ignore_ascii_case(&b.owner) && a.name.eq_ignore_ascii_case(&b.name)
}

fn choose(args: &ArtifactScopeArgs, variable: impl Fn(&str) -> Option<OsString>) -> Result<Choice, Failure> {
    let own = own_repository(&variable);
    let own_run = variable("GITHUB_RUN_ID").and_then(|run| run.to_str()?.parse().ok());
    if let Some(repo) = &args.repo {
        // Runs of another repository have other ids.
        let inherited = own_run.filter(|_| own.as_ref().is_some_and(|own| same(own, repo)));
        return Ok(Choice::Repository { repo: repo.clone(), run: args.run.or(inherited) });
    }
    if let Some((scope, token)) = own_job(&variable)?
        && args.run.is_none_or(|run| run.to_string() == scope.run)
    {
        return Ok(Choice::Run { scope, token });
    }
    Ok(match own {
        Some(repo) => Choice::Repository { repo, run: args.run.or(own_run) },
        None => Choice::All { run: args.run },
    })
}

impl ArtifactSource {
    pub(super) async fn resolve(args: &ArtifactScopeArgs, global: &Global) -> Result<Self, Failure> {
        Ok(match choose(args, variable)? {
            Choice::All { run } => Self::All { client: endpoint::connect(global).await?, run },
            Choice::Repository { repo, run } => {
                Self::Repository { client: endpoint::connect(global).await?, repo, run }
            }
            Choice::Run { scope, token } => Self::Run { client: endpoint::connect_job(global, token).await?, scope },
        })
    }

    pub(super) fn client(&self) -> &Client {
        match self {
            Self::All { client, .. } | Self::Repository { client, .. } | Self::Run { client, .. } => client,
        }
    }

    /// Lists the artifacts, newest first, page by page.
    pub(super) fn list<'p>(&'p self, name: Option<&'p str>) -> Listing<'p> {
        match self {
            Self::All { client, run } => {
                let name = name.unwrap_or_default().to_owned();
                Listing::All(client.all_artifacts(&ArtifactFilter { run: *run, name, ..ArtifactFilter::default() }))
            }
            Self::Repository { client, repo, run } => Listing::Pages(client.artifacts(repo, *run, name)),
            Self::Run { client, scope } => Listing::Run(Some((client, scope, name))),
        }
    }

    async fn by_id(&self, id: i64) -> Result<Option<SelectedArtifact>, ClientError> {
        match self {
            Self::All { client, .. } => or_none(client.any_artifact(id).await.map(of_all)),
            Self::Repository { client, repo, .. } => or_none(client.artifact(repo, id).await.map(of_repository)),
            Self::Run { client, scope } => {
                let found = client.run_artifacts(scope, None, Some(id)).await?;
                Ok(found.into_iter().find(|artifact| artifact.database_id == id).map(of_run))
            }
        }
    }

    /// Returns the artifacts that `word` names: the artifact with this id, otherwise all artifacts with this
    /// name, newest first. Expired artifacts are found only by id.
    pub(super) async fn find(&self, word: &str) -> Result<Vec<SelectedArtifact>, Failure> {
        let failed = || Failure::call(format!("looking for {word}"));
        if let Some(id) = word.parse().ok().filter(|id| *id > 0)
            && let Some(found) = self.by_id(id).await.map_err(failed())?
        {
            return Ok(vec![found]);
        }
        if let Self::All { .. } = self {
            // Names are not unique across repositories.
            return Err(match word.parse::<i64>() {
                Ok(_) => Failure::NotFound(format!("artifact {word} does not exist")),
                Err(_) => Failure::Usage(format!(
                    "{word} is not an ID; use --repo OWNER/NAME to find an artifact by its name"
                )),
            });
        }
        let (mut all, mut listing) = (Vec::new(), self.list(Some(word)));
        while let Some(page) = listing.next().await.map_err(failed())? {
            // Older daemons ignore the filter.
            all.extend(page.into_iter().filter(|found| found.artifact.name == word && !found.artifact.expired));
        }
        if all.is_empty() { Err(Failure::NotFound(format!("artifact {word} does not exist"))) } else { Ok(all) }
    }

    /// Returns the `count` oldest artifacts that have not expired, the newest of them first. Fails if there are none.
    pub(super) async fn oldest(&self, count: usize) -> Result<Vec<SelectedArtifact>, Failure> {
        let (mut oldest, mut listing) = (VecDeque::new(), self.list(None));
        while let Some(page) = listing.next().await.map_err(Failure::call("listing artifacts".to_owned()))? {
            for found in page.into_iter().filter(|found| !found.artifact.expired) {
                oldest.push_back(found);
                if oldest.len() > count {
                    oldest.pop_front();
                }
            }
        }
        if oldest.is_empty() { Err(Failure::NotFound("there are no artifacts".to_owned())) } else { Ok(oldest.into()) }
    }

    /// Returns the artifact that `word` names. Fails if several artifacts have that name.
    pub(super) async fn only(&self, word: &str) -> Result<SelectedArtifact, Failure> {
        let mut found = self.find(word).await?;
        if found.len() > 1 {
            let ids: Vec<String> = found.iter().map(|found| found.artifact.id.to_string()).collect();
            let ids = ids.join(", ");
            return Err(Failure::Conflict(format!("several artifacts are named {word}; use one of the IDs {ids}")));
        }
        found.pop().ok_or_else(|| Failure::NotFound(format!("artifact {word} does not exist")))
    }

    pub(super) async fn location(&self, found: &SelectedArtifact) -> Result<SignedUrl, ClientError> {
        match self {
            Self::All { client, .. } => client.artifact_location(&found.repository()?, found.artifact.id).await,
            Self::Repository { client, repo, .. } => client.artifact_location(repo, found.artifact.id).await,
            Self::Run { client, scope } => {
                client.run_artifact_location(found.scope.as_ref().unwrap_or(scope), &found.artifact.name).await
            }
        }
    }

    pub(super) async fn delete(&self, found: &SelectedArtifact) -> Result<(), ClientError> {
        match self {
            Self::All { client, .. } => client.delete_artifact(&found.repository()?, found.artifact.id).await,
            Self::Repository { client, repo, .. } => client.delete_artifact(repo, found.artifact.id).await,
            Self::Run { client, scope } => {
                let scope = found.scope.as_ref().unwrap_or(scope);
                client.delete_run_artifact(scope, &found.artifact.name).await.map(drop)
            }
        }
    }
}

/// A list that is being read.
pub(super) enum Listing<'p> {
    All(Pages<'p>),
    Pages(Pages<'p>),
    Run(Option<(&'p Client, &'p RunScope, Option<&'p str>)>),
}

impl Listing<'_> {
    /// Returns the first `limit` of the items that were read.
    pub(super) fn listed(&self, items: Vec<SelectedArtifact>, limit: usize) -> Listed<SelectedArtifact> {
        match self {
            Self::All(pages) | Self::Pages(pages) => Listed::read(items, limit, pages),
            Self::Run(_) => Listed::cut(items, limit),
        }
    }

    pub(super) async fn next(&mut self) -> Result<Option<Vec<SelectedArtifact>>, ClientError> {
        match self {
            Self::All(pages) => {
                let page = pages.next(|items: Vec<FoundArtifact>| (0, items), |one| one.id).await?;
                Ok(page.map(|page| page.into_iter().map(of_all).collect()))
            }
            Self::Pages(pages) => {
                let page = pages.next_artifacts().await?;
                Ok(page.map(|page| page.into_iter().map(of_repository).collect()))
            }
            Self::Run(question) => {
                let Some((client, scope, name)) = question.take() else { return Ok(None) };
                let mut all = client.run_artifacts(scope, name, None).await?;
                all.sort_by_key(|artifact| std::cmp::Reverse(artifact.database_id));
                Ok(Some(all.into_iter().map(of_run).collect()))
            }
        }
    }
}

impl SelectedArtifact {
    /// Returns the repository of an artifact that was found among all repositories.
    fn repository(&self) -> Result<RepositoryPath, ClientError> {
        let path = self.details.as_ref().and_then(|details| details.repository.parse().ok());
        path.ok_or(ClientError::Answer { what: "it names no repository" })
    }
}

fn of_repository(artifact: Artifact) -> SelectedArtifact {
    SelectedArtifact { artifact, scope: None, details: None }
}

fn of_all(details: FoundArtifact) -> SelectedArtifact {
    let artifact = Artifact {
        id: details.id,
        name: details.name.clone(),
        size_in_bytes: details.size_in_bytes,
        expired: details.expired,
        digest: details.digest.clone(),
        created_at: details.created_at.clone(),
        expires_at: details.expires_at.clone(),
        workflow_run: details.workflow_run.clone(),
        ..Artifact::default()
    };
    SelectedArtifact { artifact, scope: None, details: Some(Box::new(details)) }
}

/// Converts a 404 to `None`.
fn or_none(found: Result<SelectedArtifact, ClientError>) -> Result<Option<SelectedArtifact>, ClientError> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.status() == Some(StatusCode::NOT_FOUND) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Converts an artifact of the artifact service, which has fewer fields than the REST API.
fn of_run(found: MonolithArtifact) -> SelectedArtifact {
    let created = found.created_at.and_then(|at| jiff::Timestamp::new(at.seconds, at.nanos).ok());
    let run = ArtifactRun { id: found.workflow_run_backend_id.parse().unwrap_or_default(), ..ArtifactRun::default() };
    let artifact = Artifact {
        id: found.database_id,
        name: found.name,
        size_in_bytes: found.size,
        digest: found.digest.unwrap_or_default(),
        created_at: created.map(|at| at.to_string()).unwrap_or_default(),
        workflow_run: run,
        ..Artifact::default()
    };
    let scope = RunScope { run: found.workflow_run_backend_id, job: found.workflow_job_run_backend_id };
    SelectedArtifact { artifact, scope: Some(scope), details: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    // {"scp":"Actions.Results:7:9"}
    const TOKEN: (&str, &str) = ("ACTIONS_RUNTIME_TOKEN", "e30.eyJzY3AiOiJBY3Rpb25zLlJlc3VsdHM6Nzo5In0.c2ln");
    const REPO: (&str, &str) = ("GITHUB_REPOSITORY", "o/r");
    const RUN: (&str, &str) = ("GITHUB_RUN_ID", "7");

    fn chosen(repo: Option<&str>, run: Option<i64>, set: &[(&str, &str)]) -> Result<String, u8> {
        let args = ArtifactScopeArgs { repo: repo.map(|repo| repo.parse().unwrap()), run };
        let set: Vec<(String, OsString)> = set.iter().map(|(n, v)| ((*n).into(), (*v).into())).collect();
        let variable = |name: &str| set.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone());
        match choose(&args, variable) {
            Ok(Choice::All { run }) => Ok(format!("all {run:?}")),
            Ok(Choice::Repository { repo, run }) => Ok(format!("{repo} {run:?}")),
            Ok(Choice::Run { scope, .. }) => Ok(format!("run {} job {}", scope.run, scope.job)),
            Err(failure) => Err(failure.code()),
        }
    }

    #[test]
    fn an_explicit_repository_overrides_the_job_environment() {
        let cases = [
            (chosen(Some("o/r"), None, &[]), Ok("o/r None".into())),
            (chosen(Some("o/r"), Some(3), &[TOKEN, REPO, RUN]), Ok("o/r Some(3)".into())),
            (chosen(Some("O/R"), None, &[TOKEN, REPO, RUN]), Ok("O/R Some(7)".into())),
            (chosen(Some("x/y"), None, &[TOKEN, REPO, RUN]), Ok("x/y None".into())),
            (chosen(None, None, &[TOKEN, REPO, RUN]), Ok("run 7 job 9".into())),
            (chosen(None, Some(7), &[TOKEN, REPO]), Ok("run 7 job 9".into())),
            (chosen(None, Some(8), &[TOKEN, REPO, RUN]), Ok("o/r Some(8)".into())),
            (chosen(None, None, &[REPO, RUN]), Ok("o/r Some(7)".into())),
            (chosen(None, None, &[RUN]), Ok("all None".into())),
            (chosen(None, Some(8), &[]), Ok("all Some(8)".into())),
            (chosen(None, None, &[("ACTIONS_RUNTIME_TOKEN", "x")]), Err(crate::exit::USAGE)),
        ];
        for (at, (found, expected)) in cases.into_iter().enumerate() {
            assert_eq!(found, expected, "case {at}");
        }
    }
}
