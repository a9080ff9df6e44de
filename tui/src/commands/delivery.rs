//! `farrier delivery`: lists, groups, shows, redelivers and replays deliveries.

mod groups;
mod redeliver;
mod replay;

use std::{collections::BTreeMap, fmt::Write as _};

use farrier_common::{
    api::{Delivery as Row, DeliveryDetail, DeliveryResponse},
    client::{Client, DeliveryFilter},
};
use serde::Serialize;

use super::{
    instant::instant,
    list::{self, Listed},
};
use crate::{
    args::{Delivery, FilterArgs, ListDeliveries},
    clock,
    exit::{self, Failure},
    output::{Output, Table, clean_line, clean_lines, time},
};

#[derive(Serialize)]
struct Deliveries {
    total_count: usize,
    deliveries: Vec<Row>,
}

pub(super) async fn run(command: Delivery, client: &Client, output: &Output) -> Result<u8, Failure> {
    match command {
        Delivery::List(args) => list_of(args, client, output).await?,
        Delivery::Groups { by, filter } => groups::run(&by, filter, client, output).await?,
        Delivery::Show { delivery, request, response, body } => {
            let detail = client.delivery(&delivery).await.map_err(Failure::call("showing the delivery"))?;
            if body {
                let bytes = detail.request.body_bytes();
                let unknown = || {
                    Failure::Other("the body is not available: nothing was sent yet, or the payload has expired".into())
                };
                output.bytes(&bytes.ok_or_else(unknown)?)?;
                return Ok(exit::OK);
            }
            output.page(&detail, &detail.delivery.guid, || detail_text(&detail, request, response))?;
        }
        Delivery::Redeliver { deliveries, filter, yes } => {
            return redeliver::run(deliveries, filter, yes, client, output).await;
        }
        Delivery::Replay(args) => return replay::run(args, client, output).await,
        Delivery::Recover { hook, since, yes } => {
            let since = since.as_deref().map(|text| instant("--since", text, clock::now())).transpose()?;
            redeliver::recover(hook, since.as_deref(), yes, client, output).await?;
        }
    }
    Ok(exit::OK)
}

async fn list_of(args: ListDeliveries, client: &Client, output: &Output) -> Result<(), Failure> {
    let all = rows(args.filter, args.limit, client).await?;
    list::show(
        output,
        all,
        |row| row.guid.clone(),
        table,
        |total_count, deliveries| Deliveries { total_count, deliveries },
    )
}

/// Returns the newest matching deliveries, at most `limit`.
async fn rows(filter: FilterArgs, limit: usize, client: &Client) -> Result<Listed<Row>, Failure> {
    let query = query(filter, client).await?;
    let listed = list::first(limit, client.deliveries(&query), |page: Vec<Row>| page, |row| row.id).await;
    listed.map_err(Failure::call("listing deliveries"))
}

/// Converts the filter of a command.
async fn query(filter: FilterArgs, client: &Client) -> Result<DeliveryFilter, Failure> {
    let since = filter.since.as_deref().map(|text| instant("--since", text, clock::now())).transpose()?;
    let failed = filter.failed.then(|| "failure".to_owned());
    let repository = match &filter.repo {
        Some(path) => Some(client.repository(path).await.map_err(Failure::call(format!("looking for {path}")))?.id),
        None => None,
    };
    Ok(DeliveryFilter {
        status: filter.status.or(failed).unwrap_or_default(),
        event: filter.event.unwrap_or_default(),
        reason: filter.reason.unwrap_or_default(),
        host: filter.host.unwrap_or_default(),
        hook: filter.hook,
        repository,
        since: since.unwrap_or_default(),
    })
}

fn table(all: &[Row]) -> String {
    let headings = ["DELIVERY", "HOOK", "EVENT", "STATE", "STATUS", "ATTEMPTS", "CREATED", "NEXT"];
    let mut table = Table::new(headings).with_states("STATE");
    for row in all {
        let action = row.action.as_ref().map(|action| format!(" {action}")).unwrap_or_default();
        let code = if row.status_code == 0 { String::new() } else { format!(" {}", row.status_code) };
        table.row([
            row.guid.clone(),
            row.hook_id.to_string(),
            format!("{}{action}", row.event),
            row.state.clone(),
            format!("{}{code}", row.status),
            row.attempts.to_string(),
            time(&row.created_at),
            row.next_attempt_at.as_deref().map(time).unwrap_or_default(),
        ]);
    }
    table.render()
}

fn detail_text(detail: &DeliveryDetail, request: bool, response: bool) -> String {
    let mut text = table(std::slice::from_ref(&detail.delivery));
    for attempt in &detail.history {
        let error = if attempt.error.is_empty() { "delivered" } else { &attempt.error };
        let took = format!("{:.3} s", attempt.duration);
        let line = format!("{}. {} {} {took}: {error}", attempt.number, attempt.started_at, attempt.trigger);
        let _ = writeln!(text, "\n{}", clean_line(&line));
    }
    if request {
        let sent = &detail.request;
        let body = sent.body.clone().unwrap_or_else(|| pretty(&sent.payload));
        let method = if sent.method.is_empty() { "POST" } else { &sent.method };
        let request = format!("\n{method} {}\n{}\n{body}\n", detail.url, headers(&sent.headers));
        text.push_str(&clean_lines(&request));
    }
    if response {
        text.push_str(&response_text(detail.delivery.status_code, &detail.response));
    }
    text
}

/// Returns the response to a request: status, headers and body.
fn response_text(status: u32, response: &DeliveryResponse) -> String {
    let headers = headers(&response.headers);
    let rest = if response.truncated { "\n(the response was longer)" } else { "" };
    clean_lines(&format!("\n{status}\n{headers}\n{}{rest}\n", response.payload)).into_owned()
}

fn headers(all: &BTreeMap<String, String>) -> String {
    all.iter().fold(String::new(), |text, (name, value)| text + name + ": " + value + "\n")
}

fn pretty(payload: &serde_json::Value) -> String {
    serde_json::to_string_pretty(payload).unwrap_or_default()
}
