//! `farrier artifact delete`: deletes artifacts by name or ID.

use serde::Serialize;

use super::{
    super::confirm::{self, Bulk},
    BatchResult,
    source::{ArtifactSource, SelectedArtifact},
};
use crate::{
    args::{Delete, Global},
    endpoint,
    exit::Failure,
    output::{Output, clean_line, human_bytes},
};

/// Most artifacts that the question lists.
const LISTED_MAX: usize = 6;

#[derive(Serialize)]
struct Outcome {
    artifact: String,
    id: Option<i64>,
    deleted: bool,
    error: Option<String>,
}

#[derive(Serialize)]
struct Outcomes {
    results: Vec<Outcome>,
}

pub(super) async fn run(args: Delete, global: &Global, output: &Output) -> Result<u8, Failure> {
    endpoint::check_writable(global, "deleting artifacts")?;
    let source = ArtifactSource::resolve(&args.scope, global).await?;
    let mut found = Vec::new();
    if let Some(count) = args.oldest {
        let oldest = source.oldest(usize::try_from(count).unwrap_or(usize::MAX)).await?;
        found.extend(oldest.into_iter().map(|found| (found.artifact.name.clone(), Ok(found))));
    }
    for word in args.artifacts {
        let artifact = source.only(&word).await;
        found.push((word, artifact));
    }
    let selected: Vec<&SelectedArtifact> = found.iter().filter_map(|(_, artifact)| artifact.as_ref().ok()).collect();
    let hint = match (selected.first(), &source) {
        // The token of a job may not read the status.
        (None, _) | (_, ArtifactSource::Run { .. }) => None,
        (Some(first), _) => {
            confirm::restore_hint(source.client(), &format!("farrier artifact restore {}", first.artifact.id)).await
        }
    };
    if !selected.is_empty() {
        question(&selected, hint.as_deref()).confirmed(args.yes, output).await?;
    }
    let (mut outcomes, mut batch) = (Vec::new(), BatchResult::default());
    for (word, artifact) in found {
        let (id, result) = match artifact {
            Ok(found) => {
                let deleted = source.delete(&found).await;
                (Some(found.artifact.id), deleted.map_err(Failure::call(format!("deleting {word}"))))
            }
            Err(failure) => (None, Err(failure)),
        };
        let error = batch.count(result, output).err();
        outcomes.push(Outcome { artifact: word, id, deleted: error.is_none(), error });
    }
    let has_deleted = outcomes.iter().any(|one| one.deleted);
    report(output, outcomes)?;
    confirm::print_restore_hint(hint.as_deref().filter(|_| has_deleted), output);
    Ok(batch.code())
}

fn question(selected: &[&SelectedArtifact], hint: Option<&str>) -> Bulk {
    let line = |found: &&SelectedArtifact| {
        let artifact = &found.artifact;
        format!("{} ({}), {}", artifact.name, artifact.id, human_bytes(artifact.size_in_bytes))
    };
    let mut details: Vec<String> = selected.iter().take(LISTED_MAX).map(line).collect();
    if let Some(more) = selected.len().checked_sub(LISTED_MAX).filter(|more| *more > 0) {
        details.push(format!("and {more} more"));
    }
    if selected.len() > 1 {
        let bytes = selected.iter().map(|found| found.artifact.size_in_bytes).sum();
        details.push(format!("{} together", human_bytes(bytes)));
    }
    details.extend(hint.map(str::to_owned));
    Bulk { verb: "Delete", noun: "artifact", count: selected.len(), details, deletes: true }
}

fn report(output: &Output, outcomes: Vec<Outcome>) -> Result<(), Failure> {
    let format = output.format();
    if format.json {
        return output.object(&Outcomes { results: outcomes }, "", String::new);
    }
    for outcome in outcomes {
        let id = outcome.id.map(|id| id.to_string()).unwrap_or_default();
        if format.jsonl || outcome.deleted {
            output.object(&outcome, &id, || format!("Artifact {} ({id}) deleted", clean_line(&outcome.artifact)))?;
        }
    }
    Ok(())
}
