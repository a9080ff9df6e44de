//! `farrier artifact list`: lists artifacts of a run, a repository or all repositories.

use farrier_common::api::{Artifact, FoundArtifact};
use serde::Serialize;

use super::source::{ArtifactSource, SelectedArtifact};
use crate::{
    args::{Global, ListArtifacts},
    exit::{self, Failure},
    output::{Output, Table, human_bytes, time},
};

#[derive(Serialize)]
struct Artifacts<'a> {
    total_count: usize,
    artifacts: Vec<ArtifactEntry<'a>>,
}

/// An artifact, with its repository and job if the daemon sent them.
#[derive(Serialize)]
#[serde(untagged)]
enum ArtifactEntry<'a> {
    Plain(&'a Artifact),
    Detailed(&'a FoundArtifact),
}

fn entry(found: &SelectedArtifact) -> ArtifactEntry<'_> {
    found.details.as_deref().map_or(ArtifactEntry::Plain(&found.artifact), ArtifactEntry::Detailed)
}

pub(super) async fn run(args: ListArtifacts, global: &Global, output: &Output) -> Result<u8, Failure> {
    let source = ArtifactSource::resolve(&args.scope, global).await?;
    let (format, limit) = (output.format(), args.limit.items());
    let mut listing = source.list(args.name.as_deref());
    let (mut all, mut count) = (Vec::new(), 0);
    while count < limit {
        let Some(page) = listing.next().await.map_err(Failure::call("listing artifacts"))? else { break };
        let named = |found: &SelectedArtifact| args.name.as_ref().is_none_or(|name| found.artifact.name == *name);
        let mut page: Vec<SelectedArtifact> = page.into_iter().filter(named).collect();
        count += page.len();
        if format.jsonl || format.quiet {
            page.truncate(page.len() - count.saturating_sub(limit));
            // Each page is printed immediately, so that a consumer such as `head` can stop early.
            for found in page {
                output.object(&entry(&found), &found.artifact.id.to_string(), String::new)?;
            }
        } else {
            all.extend(page);
        }
    }
    let all = listing.listed(all, limit);
    if format.json {
        let artifacts: Vec<ArtifactEntry<'_>> = all.items.iter().map(entry).collect();
        output.object(&Artifacts { total_count: artifacts.len(), artifacts }, "", String::new)?;
    } else if !format.jsonl && !format.quiet {
        let all_repositories = matches!(source, ArtifactSource::All { .. });
        output.table(&if all_repositories { table_of_all(&all.items) } else { table(&all.items) })?;
        all.note(output);
    }
    Ok(exit::OK)
}

fn table(all: &[SelectedArtifact]) -> String {
    let mut table = Table::new(["ID", "RUN", "SIZE", "CREATED", "EXPIRES", "NAME"]);
    for SelectedArtifact { artifact, .. } in all {
        table.row([
            artifact.id.to_string(),
            artifact.workflow_run.id.to_string(),
            human_bytes(artifact.size_in_bytes),
            time(&artifact.created_at),
            expires(artifact),
            artifact.name.clone(),
        ]);
    }
    table.render()
}

fn table_of_all(all: &[SelectedArtifact]) -> String {
    let mut table = Table::new(["ID", "RUN", "SIZE", "CREATED", "EXPIRES", "REPOSITORY", "JOB", "NAME"]);
    for SelectedArtifact { artifact, details, .. } in all {
        let (repository, job) = details
            .as_ref()
            .map_or_else(Default::default, |details| (details.repository.clone(), details.job.name.clone()));
        table.row([
            artifact.id.to_string(),
            artifact.workflow_run.id.to_string(),
            human_bytes(artifact.size_in_bytes),
            time(&artifact.created_at),
            expires(artifact),
            repository,
            job,
            artifact.name.clone(),
        ]);
    }
    table.render()
}

fn expires(artifact: &Artifact) -> String {
    if artifact.expired { "expired".to_owned() } else { time(&artifact.expires_at) }
}
