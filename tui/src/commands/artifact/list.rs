//! `farrier artifact list`

use farrier_common::api::{Artifact, FoundArtifact};
use serde::Serialize;

use super::place::{Found, Place};
use crate::{
    args::{Global, List},
    exit::{self, Failure},
    output::{Output, Table, human_bytes, time},
};

#[derive(Serialize)]
struct Artifacts<'a> {
    total_count: usize,
    artifacts: Vec<Shown<'a>>,
}

/// An artifact, and its repository and job where the daemon told of them.
#[derive(Serialize)]
#[serde(untagged)]
enum Shown<'a> {
    Alone(&'a Artifact),
    Whole(&'a FoundArtifact),
}

fn shown(found: &Found) -> Shown<'_> {
    found.whole.as_deref().map_or(Shown::Alone(&found.artifact), Shown::Whole)
}

pub(super) async fn run(args: List, global: &Global, output: &Output) -> Result<u8, Failure> {
    let place = Place::resolve(&args.place, global).await?;
    let format = output.format();
    let mut listing = place.list(args.name.as_deref());
    let mut all = Vec::new();
    while let Some(page) = listing.next().await.map_err(Failure::call("listing artifacts"))? {
        let named = |found: &Found| args.name.as_ref().is_none_or(|name| found.artifact.name == *name);
        let page = page.into_iter().filter(named);
        if format.jsonl || format.quiet {
            // As they come, so that a reader who has seen enough can go.
            for found in page {
                output.object(&shown(&found), &found.artifact.id.to_string(), String::new)?;
            }
        } else {
            all.extend(page);
        }
    }
    if format.json {
        let artifacts = all.iter().map(shown).collect();
        output.object(&Artifacts { total_count: all.len(), artifacts }, "", String::new)?;
    } else if !format.jsonl && !format.quiet {
        let all_repositories = matches!(place, Place::All { .. });
        output.text(&if all_repositories { table_of_all(&all) } else { table(&all) })?;
    }
    Ok(exit::OK)
}

fn table(all: &[Found]) -> String {
    let mut table = Table::new(["ID", "RUN", "SIZE", "CREATED", "EXPIRES", "NAME"]);
    for Found { artifact, .. } in all {
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

fn table_of_all(all: &[Found]) -> String {
    let mut table = Table::new(["ID", "RUN", "SIZE", "CREATED", "EXPIRES", "REPOSITORY", "JOB", "NAME"]);
    for Found { artifact, whole, .. } in all {
        let (repository, job) =
            whole.as_ref().map_or_else(Default::default, |whole| (whole.repository.clone(), whole.job.name.clone()));
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
