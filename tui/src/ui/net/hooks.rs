//! Requests about hooks: list, create, edit, test, delete.

use std::collections::{BTreeMap, BTreeSet};

use farrier_common::{
    api::{EditHook, Hook},
    client::{Client, ClientError, HookOwner, HookQuery, Pages},
};

use super::{Answer, NewHook, Request};

/// Handles a request about hooks.
pub(super) async fn answer(client: &Client, request: Request) -> Result<Answer, ClientError> {
    Ok(match request {
        Request::Hooks(owner) => Answer::Hooks(list(client, &owner).await?),
        Request::FailingHooks => {
            let states = vec!["failing".to_owned(), "disabled".to_owned()];
            let query = HookQuery { states, ..HookQuery::default() };
            Answer::Hooks(all_pages(client.managed_hooks(&query)).await?)
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
        Some(above) => list(client, &new.owner).await?.into_iter().find(|hook| hook.id > above && is_like(hook, new)),
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

async fn list(client: &Client, owner: &HookOwner) -> Result<Vec<Hook>, ClientError> {
    all_pages(match owner {
        HookOwner::Any => client.managed_hooks(&HookQuery::default()),
        owner => client.hooks(owner, "all"),
    })
    .await
}

/// Loads all pages.
async fn all_pages(mut pages: Pages<'_>) -> Result<Vec<Hook>, ClientError> {
    let mut all = Vec::new();
    while let Some(mut items) = pages.next(|items: Vec<Hook>| (0, items), |hook| hook.id).await? {
        all.append(&mut items);
    }
    Ok(all)
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
