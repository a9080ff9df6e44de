//! `farrier artifact expire`: changes when artifacts expire.

use farrier_common::api::{EditArtifact, FoundArtifact};
use serde::Serialize;

use super::{BatchResult, source::ArtifactSource};
use crate::{
    args::{Expire, Global},
    exit::Failure,
    moment,
    output::{Output, clean_line},
};

#[derive(Serialize)]
struct Outcome {
    artifact: String,
    id: Option<i64>,
    /// When it expires.
    expires_at: Option<String>,
    error: Option<String>,
}

#[derive(Serialize)]
struct Outcomes {
    results: Vec<Outcome>,
}

pub(super) async fn run(args: Expire, global: &Global, output: &Output) -> Result<u8, Failure> {
    let expires_at =
        args.at.as_deref().map(moment::read).transpose().map_err(|why| Failure::Usage(format!("--at: {why}")))?;
    let request = EditArtifact { expires_at, days: args.days };
    let source = ArtifactSource::resolve(&args.scope, global).await?;
    if let ArtifactSource::Run { .. } = source {
        let text = "the token of a job cannot change the expiry of artifacts; use --repo OWNER/NAME and your own token";
        return Err(Failure::Usage(text.into()));
    }
    let (mut outcomes, mut batch) = (Vec::new(), BatchResult::default());
    for word in args.artifacts {
        let outcome = match batch.count(one(&source, &word, &request).await, output) {
            Ok(set) => Outcome { artifact: word, id: Some(set.id), expires_at: Some(set.expires_at), error: None },
            Err(error) => Outcome { artifact: word, id: None, expires_at: None, error: Some(error) },
        };
        outcomes.push(outcome);
    }
    report(output, outcomes)?;
    Ok(batch.code())
}

async fn one(source: &ArtifactSource, word: &str, request: &EditArtifact) -> Result<FoundArtifact, Failure> {
    let found = source.only(word).await?;
    let set = source.client().edit_artifact(found.artifact.id, request).await;
    set.map_err(Failure::call(format!("changing the expiry of {word}")))
}

fn report(output: &Output, outcomes: Vec<Outcome>) -> Result<(), Failure> {
    let format = output.format();
    if format.json {
        return output.object(&Outcomes { results: outcomes }, "", String::new);
    }
    for outcome in outcomes {
        let id = outcome.id.map(|id| id.to_string()).unwrap_or_default();
        let expires = outcome.expires_at.clone().unwrap_or_default();
        if format.jsonl || outcome.error.is_none() {
            let text = || format!("Artifact {} ({id}) expires {expires}", clean_line(&outcome.artifact));
            output.object(&outcome, &id, text)?;
        }
    }
    Ok(())
}
