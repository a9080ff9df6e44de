//! `farrier delivery redeliver`: those that are named, or all that pass.

use farrier_common::client::Client;
use serde::Serialize;

use crate::{
    args::Filter,
    exit::{self, Failure},
    output::Output,
};

/// What became of one of several.
#[derive(Serialize)]
struct Outcome {
    delivery: String,
    redelivered: bool,
    error: Option<String>,
}

#[derive(Serialize)]
struct Outcomes {
    results: Vec<Outcome>,
}

pub(super) async fn run(
    named: Vec<String>,
    filter: Filter,
    yes: bool,
    client: &Client,
    output: &Output,
) -> Result<u8, Failure> {
    if let [delivery] = named.as_slice() {
        let again = client.redeliver(delivery).await;
        let again = again.map_err(Failure::call(format!("sending {delivery} again")))?;
        output.object(&again, &again.guid, || format!("{} goes out again", again.guid))?;
        return Ok(exit::OK);
    }
    if !named.is_empty() {
        return each(named, client, output).await;
    }
    if !yes {
        return Err(Failure::Usage("sending again all that pass needs --yes".into()));
    }
    // All of them are known before the first goes out: what is on its way would pass no more.
    let rows = super::rows(filter, usize::MAX, client).await?;
    each(rows.into_iter().map(|row| row.guid).collect(), client, output).await
}

/// Asks for all of them, whatever becomes of one.
async fn each(wanted: Vec<String>, client: &Client, output: &Output) -> Result<u8, Failure> {
    let (mut results, mut failures) = (Vec::new(), Vec::new());
    for delivery in wanted {
        let again = client.redeliver(&delivery).await.map_err(Failure::call(format!("sending {delivery} again")));
        let error = again.as_ref().err().map(Failure::report);
        let outcome = Outcome { delivery, redelivered: error.is_none(), error };
        if !output.format().json && (output.format().jsonl || outcome.redelivered) {
            output.object(&outcome, &outcome.delivery, || format!("{} goes out again", outcome.delivery))?;
        }
        if let Err(failure) = again {
            let _ = output.error(&failure); // nobody reads standard error: the exit code says it
            failures.push(failure);
        }
        results.push(outcome);
    }
    let done = results.len() - failures.len();
    if output.format().json {
        output.object(&Outcomes { results }, "", String::new)?;
    }
    Ok(match failures.first() {
        None => exit::OK,
        Some(_) if done > 0 => exit::PARTLY,
        Some(first) => first.code(),
    })
}
