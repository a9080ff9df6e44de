//! `farrier artifact delete`

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use serde::Serialize;

use super::place::{Found, Place};
use crate::{
    args::{Delete, Global},
    blocking,
    exit::{self, Failure},
    output::{Output, clean_line},
};

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
    if !args.yes && !io::stdin().is_terminal() {
        return Err(Failure::Usage("--yes is needed where nobody can be asked".into()));
    }
    let place = Place::resolve(&args.place, global).await?;
    let (mut outcomes, mut failures) = (Vec::new(), Vec::new());
    for word in args.artifacts {
        let (id, result) = match one(&place, &word).await {
            Ok(found) if args.yes || asked(&found).await? => {
                let deleted = place.delete(&found).await;
                (Some(found.artifact.id), deleted.map_err(Failure::call(format!("deleting {word}"))))
            }
            Ok(found) => (Some(found.artifact.id), Err(Failure::Other(format!("{word} was not deleted")))),
            Err(failure) => (None, Err(failure)),
        };
        let error = result.as_ref().err().map(Failure::report);
        outcomes.push(Outcome { artifact: word, id, deleted: result.is_ok(), error });
        if let Err(failure) = result {
            let _ = output.error(&failure);
            failures.push(failure);
        }
    }
    let done = outcomes.len() - failures.len();
    report(output, outcomes)?;
    Ok(match failures.first() {
        None => exit::OK,
        Some(_) if done > 0 => exit::PARTLY,
        Some(first) => first.code(),
    })
}

fn report(output: &Output, outcomes: Vec<Outcome>) -> Result<(), Failure> {
    let format = output.format();
    if format.json {
        return output.object(&Outcomes { results: outcomes }, "", String::new);
    }
    for outcome in outcomes {
        let id = outcome.id.map(|id| id.to_string()).unwrap_or_default();
        if format.jsonl || outcome.deleted {
            output.object(&outcome, &id, || format!("deleted {} ({id})", clean_line(&outcome.artifact)))?;
        }
    }
    Ok(())
}

/// Deleting cannot be undone: a name that several have is no answer.
async fn one(place: &Place, word: &str) -> Result<Found, Failure> {
    let mut found = place.find(word).await?;
    if found.len() > 1 {
        let ids: Vec<String> = found.iter().map(|found| found.artifact.id.to_string()).collect();
        return Err(Failure::Conflict(format!("several artifacts are named {word}, choose by id: {}", ids.join(", "))));
    }
    found.pop().ok_or_else(|| Failure::NotFound(format!("there is no artifact {word}")))
}

async fn asked(found: &Found) -> Result<bool, Failure> {
    let question = format!("delete {} ({})? [y/N] ", clean_line(&found.artifact.name), found.artifact.id);
    blocking::run(move || {
        let mut line = String::new();
        let read = write!(io::stderr(), "{question}").and_then(|()| io::stdin().lock().read_line(&mut line));
        read.map_err(|source| Failure::io("asking", source))?;
        Ok(matches!(line.trim(), "y" | "Y" | "yes"))
    })
    .await
}
