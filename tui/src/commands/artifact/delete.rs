//! `farrier artifact delete`

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use serde::Serialize;

use super::{
    super::restorable,
    each::Tally,
    place::{Found, Place},
};
use crate::{
    args::{Delete, Global},
    blocking,
    exit::Failure,
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
    let (mut outcomes, mut tally) = (Vec::new(), Tally::default());
    for word in args.artifacts {
        let (id, result) = match place.only(&word).await {
            Ok(found) if args.yes || asked(&found).await? => {
                let deleted = place.delete(&found).await;
                (Some(found.artifact.id), deleted.map_err(Failure::call(format!("deleting {word}"))))
            }
            Ok(found) => (Some(found.artifact.id), Err(Failure::Other(format!("{word} was not deleted")))),
            Err(failure) => (None, Err(failure)),
        };
        let error = tally.count(result, output).err();
        outcomes.push(Outcome { artifact: word, id, deleted: error.is_none(), error });
    }
    let deleted: Vec<i64> = outcomes.iter().filter(|one| one.deleted).filter_map(|one| one.id).collect();
    report(output, outcomes)?;
    // A job's token cannot ask for the status.
    if let (Some(id), false) = (deleted.first(), matches!(place, Place::Run { .. })) {
        restorable::note(place.client(), &format!("farrier artifact restore {id}"), output).await;
    }
    Ok(tally.code())
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
