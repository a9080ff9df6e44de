//! Requests about hooks: list, create, edit, test, delete.

use std::collections::{BTreeMap, BTreeSet};

use farrier_common::{
    api::{EditHook, Hook},
    client::{Client, ClientError, HookOwner, HookQuery, Pages},
};

use super::{Answer, NewHook, Page, Request};
use crate::ui::hook::HookCompactor;

/// Number of hooks that the screen gets at once. A long list must not be in memory as objects of the API.
const PART_ROWS: usize = 500;

/// Handles a request about hooks. `part` receives pages before the final response.
pub(super) async fn answer(client: &Client, request: Request, part: &impl Fn(Answer)) -> Result<Answer, ClientError> {
    Ok(match request {
        Request::Hooks(owner) => list(of_owner(client, &owner), PART_ROWS, part).await?,
        Request::FailingHooks => {
            let states = vec!["failing".to_owned(), "disabled".to_owned()];
            let query = HookQuery { states, ..HookQuery::default() };
            list(client.managed_hooks(&query), usize::MAX, part).await?
        }
        Request::HookJson(hooks) => {
            let mut lines = Vec::with_capacity(hooks.len());
            for (owner, id) in hooks {
                // The daemon never sends secrets.
                lines.push(serde_json::to_string(&client.hook(&owner, id).await?).unwrap_or_default());
            }
            Answer::HookJson(lines.join("\n"))
        }
        Request::HookEvents => Answer::HookEvents(client.hook_events().await?),
        Request::CreateHook(new) => create(client, &new).await?,
        Request::EditHook(owner, id, request) => Answer::Hook(Box::new(client.edit_hook(&owner, id, &request).await?)),
        Request::SaveHook(save) => {
            let saved = client.edit_hook_if_match(&save.owner, save.id, &save.request, save.tag.as_ref()).await?;
            Answer::Hook(Box::new(saved.value))
        }
        Request::LoadHook(owner, id) => Answer::LoadedHook(Box::new(client.hook_tagged(&owner, id).await?)),
        Request::DeleteHook(owner, id) => {
            client.delete_hook(&owner, id).await?;
            Answer::Done
        }
        Request::TestHook(owner, id) => Answer::Tested { hook: id, delivery: Ok(client.test_hook(&owner, id).await?) },
        Request::ApplyHook(id) => apply(client, id).await?,
        _ => Answer::Done,
    })
}

/// Creates a hook. With `unless_above` it first looks for the hook of an earlier attempt, so that a retry creates no
/// second one.
async fn create(client: &Client, new: &NewHook) -> Result<Answer, ClientError> {
    let existing = match new.unless_above {
        Some(above) => find_like(client, new, above).await?,
        None => None,
    };
    let hook = match existing {
        Some(hook) => set_secret(client, new, hook).await?,
        None => client.create_hook(&new.owner, &new.request).await?,
    };
    if !new.test {
        return Ok(Answer::Hook(Box::new(hook)));
    }
    // The hook exists even if its test fails.
    let delivery = client.test_hook(&new.owner, hook.id).await.map_err(|error| error.to_string());
    Ok(Answer::Tested { hook: hook.id, delivery })
}

/// Sets the secret of the request in the hook of an earlier attempt. The user may have chosen another one since, and
/// the hook must sign with the secret that is shown.
async fn set_secret(client: &Client, new: &NewHook, hook: Hook) -> Result<Hook, ClientError> {
    let Some(secret) = new.request.config.as_ref().and_then(|config| config.get("secret")) else { return Ok(hook) };
    let config = BTreeMap::from([("secret".to_owned(), secret.clone())]);
    let request = EditHook { config: Some(config), ..EditHook::default() };
    client.edit_hook(&new.owner, hook.id, &request).await
}

fn is_like(hook: &Hook, new: &NewHook) -> bool {
    let url = new.request.config.as_ref().and_then(|config| config.get("url"));
    let sorted = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
    url == Some(&hook.url)
        && hook.r#type == new.request.r#type
        && hook.branch_filter == new.request.branch_filter
        && sorted(&hook.events_exact) == sorted(&new.request.events_exact)
}

/// Returns the hook of an earlier attempt to create `new`: a hook like it with an ID above `above`.
async fn find_like(client: &Client, new: &NewHook, above: i64) -> Result<Option<Hook>, ClientError> {
    let mut pages = of_owner(client, &new.owner);
    while let Some(hooks) = pages.next(|hooks: Vec<Hook>| (0, hooks), |hook| hook.id).await? {
        let found = hooks.into_iter().find(|hook| hook.id > above && is_like(hook, new));
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

fn of_owner<'a>(client: &'a Client, owner: &HookOwner) -> Pages<'a> {
    match owner {
        HookOwner::Any => client.managed_hooks(&HookQuery::default()),
        owner => client.hooks(owner, "all"),
    }
}

/// Lists all hooks. Passes them to `part` each time `most` are loaded, and returns the rest.
async fn list(mut pages: Pages<'_>, most: usize, part: &impl Fn(Answer)) -> Result<Answer, ClientError> {
    let mut compactor = HookCompactor::default();
    let mut items = Vec::new();
    while let Some(hooks) = pages.next(|hooks: Vec<Hook>| (0, hooks), |hook| hook.id).await? {
        items.append(&mut compactor.compact_all(hooks));
        if items.len() >= most {
            part(Answer::Hooks(Page { items: std::mem::take(&mut items), total: None, last: false }));
        }
    }
    Ok(Answer::Hooks(Page { items, total: None, last: true }))
}

/// Copies a default hook into repositories, batch by batch, until the daemon reports the end.
async fn apply(client: &Client, id: i64) -> Result<Answer, ClientError> {
    let (mut copied, mut skipped, mut after) = (0, 0, 0);
    loop {
        let batch = client.apply_hook(id, after).await?;
        copied += batch.copied;
        skipped += batch.skipped;
        match batch.next {
            Some(next) => after = next,
            None => return Ok(Answer::Applied { copied, skipped }),
        }
    }
}
