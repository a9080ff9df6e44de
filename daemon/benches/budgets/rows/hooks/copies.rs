//! Creation of repositories with default hooks, which are copied into each repository.

use std::sync::Arc;

use serde_json::json;

use super::scene::{CONFIG, hook};
use crate::{
    Result, client,
    farrier::Farrier,
    figures::{median, spread},
    load::requests,
    plan::Plan,
    table::Table,
};

const CLIENTS: usize = 16;
const HOOKS: usize = 10;
/// Minimum number of repositories per second.
const LEAST: f64 = 200.0;

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let mut rates = vec![];
    for round in 0..plan.rounds {
        let farrier = Farrier::configured(&plan.dir(&format!("hooks-copies-{round}"))?, CONFIG).await?;
        for number in 0..HOOKS {
            // The hooks subscribe to no event that occurs here: copies are measured, not deliveries.
            let config = json!({ "url": format!("http://127.0.0.1:9/{number}") });
            hook(&farrier, "http://127.0.0.1:9/", false, config).await?;
        }
        let request = |number: usize| {
            let body = json!({ "name": format!("new-{number}") });
            Arc::from(client::json("POST", "/api/v1/user/repos", &[], &body))
        };
        rates.push(requests(&farrier.unix, CLIENTS, plan.round, 201, request).await?.per_second());
    }
    let what = format!("repositories created with {HOOKS} default hooks, {CLIENTS} clients, Unix");
    table.alone(&what, spread(&rates, "/s"), "≥ 200 /s", median(&rates) >= LEAST);
    Ok(())
}
