//! `farrier artifact list`

use farrier_common::api::Artifact;
use serde::Serialize;

use super::place::Place;
use crate::{
    args::{Global, List},
    exit::{self, Failure},
    output::{Output, Table, human_bytes},
};

#[derive(Serialize)]
struct Artifacts {
    total_count: usize,
    artifacts: Vec<Artifact>,
}

pub(super) async fn run(args: List, global: &Global, output: &Output) -> Result<u8, Failure> {
    let place = Place::resolve(&args.place, global).await?;
    let format = output.format();
    let mut listing = place.list(args.name.as_deref());
    let mut all = Vec::new();
    while let Some(page) = listing.next().await.map_err(Failure::call("listing artifacts"))? {
        let page = page.into_iter().map(|found| found.artifact);
        let page = page.filter(|artifact| args.name.as_ref().is_none_or(|name| artifact.name == *name));
        if format.jsonl || format.quiet {
            // As they come, so that a reader who has seen enough can go.
            for artifact in page {
                output.object(&artifact, &artifact.id.to_string(), String::new)?;
            }
        } else {
            all.extend(page);
        }
    }
    if format.json {
        output.object(&Artifacts { total_count: all.len(), artifacts: all }, "", String::new)?;
    } else if !format.jsonl && !format.quiet {
        output.text(&table(&all))?;
    }
    Ok(exit::OK)
}

fn table(artifacts: &[Artifact]) -> String {
    let mut table = Table::new(["ID", "RUN", "SIZE", "CREATED", "EXPIRES", "NAME"]);
    for artifact in artifacts {
        let expires = if artifact.expired { "expired".to_owned() } else { artifact.expires_at.clone() };
        table.row([
            artifact.id.to_string(),
            artifact.workflow_run.id.to_string(),
            human_bytes(artifact.size_in_bytes),
            artifact.created_at.clone(),
            expires,
            artifact.name.clone(),
        ]);
    }
    table.render()
}
