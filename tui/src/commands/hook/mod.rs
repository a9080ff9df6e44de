//! `farrier hook`: lists, shows, creates, edits, tests and deletes webhooks.

mod change;
mod transfer;

use farrier_common::{
    api::{AppliedHook, EditHook, Hook as Row},
    client::{Client, HookOwner, HookQuery},
};
use serde::Serialize;

use super::{confirm, list};
use crate::{
    args::{Hook, HookOwnerArgs, Kind},
    exit::{self, Failure},
    output::{Output, Table, counted, fields, moment},
};

#[derive(Serialize)]
struct Hooks {
    total_count: usize,
    hooks: Vec<Row>,
}

pub(super) async fn run(command: Hook, client: &Client, output: &Output) -> Result<u8, Failure> {
    match command {
        Hook::List { all: true, .. } => {
            let pages = client.managed_hooks(&HookQuery::default());
            let all = list::collect(pages, |page: Vec<Row>| page, |hook| hook.id).await;
            let all = all.map_err(Failure::call("listing hooks"))?;
            list::show(output, all, |hook| hook.id, owners_table, |total_count, hooks| Hooks { total_count, hooks })?;
        }
        Hook::List { owner, kind, .. } => {
            let all = all(&owner, kind, client).await?;
            list::show(output, all, |hook| hook.id, table, |total_count, hooks| Hooks { total_count, hooks })?;
        }
        Hook::Show { id, owner } => {
            let hook = client.hook(&owner.of_one(), id).await.map_err(Failure::call(format!("showing hook {id}")))?;
            output.page(&hook, &id.to_string(), || page(&hook))?;
        }
        Hook::Create(args) => change::create(args, client, output).await?,
        Hook::Edit(args) => change::edit(args, client, output).await?,
        Hook::On { id, owner } => switch(id, &owner, true, client, output).await?,
        Hook::Off { id, owner } => switch(id, &owner, false, client, output).await?,
        Hook::Test { id, owner } => {
            let sent = client.test_hook(&owner.of_one(), id).await;
            let delivery = sent.map_err(Failure::call(format!("testing hook {id}")))?;
            let result = serde_json::json!({ "hook": id, "delivery": delivery });
            output.object(&result, &delivery, || format!("Test delivery {delivery} queued"))?;
        }
        Hook::Apply { id } => apply(id, client, output).await?,
        Hook::Delete { id, owner, yes } => {
            confirm::deletion(&format!("Hook {id}"), &id.to_string(), yes).await?;
            client.delete_hook(&owner.of_one(), id).await.map_err(Failure::call(format!("deleting hook {id}")))?;
            output.object(&serde_json::json!({ "deleted": id }), &id.to_string(), || format!("Hook {id} deleted"))?;
        }
        Hook::Export { owner, kind } => transfer::export(&all(&owner, kind, client).await?, output)?,
        Hook::Import { file, owner } => return transfer::import(&file, &owner.api(), client, output).await,
    }
    Ok(exit::OK)
}

/// Returns all hooks of an owner; system and default hooks unless a kind is given.
async fn all(owner: &HookOwnerArgs, kind: Kind, client: &Client) -> Result<Vec<Row>, Failure> {
    let word = match (kind.system, kind.default) {
        (true, _) => "system",
        (_, true) => "default",
        _ => "all",
    };
    let all = list::collect(client.hooks(&owner.api(), word), |page: Vec<Row>| page, |hook| hook.id).await;
    all.map_err(Failure::call("listing hooks"))
}

async fn switch(id: i64, owner: &HookOwnerArgs, active: bool, client: &Client, output: &Output) -> Result<(), Failure> {
    let request = EditHook { active: Some(active), ..EditHook::default() };
    let hook = edited(client, &owner.of_one(), id, &request).await?;
    let word = if active { "turned on" } else { "turned off" };
    output.object(&hook, &id.to_string(), || format!("Hook {id} {word}"))
}

async fn edited(client: &Client, owner: &HookOwner, id: i64, request: &EditHook) -> Result<Row, Failure> {
    client.edit_hook(owner, id, request).await.map_err(Failure::call(format!("changing hook {id}")))
}

/// Copies a default hook into existing repositories, in several requests. The loop ends because `next` grows.
async fn apply(id: i64, client: &Client, output: &Output) -> Result<(), Failure> {
    let mut total = AppliedHook::default();
    let mut after = 0;
    loop {
        let applied = client.apply_hook(id, after).await;
        let applied = applied.map_err(Failure::call(format!("applying hook {id}")))?;
        total.copied += applied.copied;
        total.skipped += applied.skipped;
        match applied.next {
            Some(next) if next > after => after = next,
            _ => break,
        }
    }
    let text = || {
        format!(
            "Hook {id} copied into {}; {} skipped: they have a copy or the maximum number of hooks",
            counted(total.copied, "repository"),
            total.skipped
        )
    };
    output.object(&total, &total.copied.to_string(), text)
}

/// Columns of every table of hooks.
const COLUMNS: [&str; 9] = ["ID", "KIND", "ON", "TYPE", "LAST", "FAILS", "EVENTS", "TARGET", "NAME"];

fn table(all: &[Row]) -> String {
    let mut table = Table::new(COLUMNS).with_states("ON");
    for hook in all {
        table.row(cells(hook));
    }
    table.render()
}

/// Returns a table of hooks with their owners.
fn owners_table(all: &[Row]) -> String {
    let mut table = Table::new(with_owner(COLUMNS, "OWNER")).with_states("ON");
    for hook in all {
        table.row(with_owner(cells(hook), owner_name(hook)));
    }
    table.render()
}

/// `cells` with `owner` after the ID.
fn with_owner<T>(cells: [T; 9], owner: T) -> [T; 10] {
    let [id, kind, on, receiver, last, fails, events, target, name] = cells;
    [id, owner, kind, on, receiver, last, fails, events, target, name]
}

/// Returns the repository, organization or user to which a hook belongs.
fn owner_name(hook: &Row) -> String {
    let name = if hook.repository.is_empty() { &hook.owner } else { &hook.repository };
    if name.is_empty() { "-".to_owned() } else { name.clone() }
}

fn cells(hook: &Row) -> [String; 9] {
    [
        hook.id.to_string(),
        hook.scope.clone(),
        if hook.active { "on" } else { "off" }.to_owned(),
        hook.r#type.clone(),
        last(hook),
        hook.failures.to_string(),
        hook.events.join(","),
        hook.url.clone(),
        hook.name.clone(),
    ]
}

fn last(hook: &Row) -> String {
    match (&hook.last_delivery_at, hook.last_status) {
        (None, _) => "-".to_owned(),
        (Some(_), 0) => "no response".to_owned(),
        (Some(_), status) => status.to_string(),
    }
}

fn page(hook: &Row) -> String {
    let more = hook.config.iter().filter(|(key, _)| !matches!(key.as_str(), "url" | "content_type"));
    let more: Vec<String> = more.map(|(key, value)| format!("{key}={value}")).collect();
    let yes = |is: bool, word: &str| if is { word.to_owned() } else { String::new() };
    fields(&[
        ("hook", format!("{} {}", hook.id, hook.name)),
        ("kind", hook.scope.clone()),
        ("owner", if hook.repository.is_empty() { hook.owner.clone() } else { hook.repository.clone() }),
        ("state", if hook.active { "active" } else { "inactive" }.to_owned()),
        ("turned off because", hook.disabled_reason.clone()),
        ("type", format!("{}, {}", hook.r#type, hook.content_type)),
        ("target", hook.url.clone()),
        ("warning", hook.warning.clone().unwrap_or_default()),
        ("configuration", more.join(" ")),
        ("events", hook.events_exact.join(", ")),
        ("branch filter", hook.branch_filter.clone()),
        ("signed", yes(hook.has_secret, "yes")),
        ("authorized", yes(hook.has_authorization_header, "yes")),
        ("copied from", hook.copied_from.map(|id| id.to_string()).unwrap_or_default()),
        ("last", last(hook)),
        ("failures", hook.failures.to_string()),
        ("failing since", hook.failing_since.as_deref().map(moment).unwrap_or_default()),
        ("last error", hook.last_error.clone()),
        ("created", moment(&hook.created_at)),
        ("updated", moment(&hook.updated_at)),
    ])
}
