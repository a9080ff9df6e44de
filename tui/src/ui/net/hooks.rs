//! Carrying out what is asked about hooks.

use farrier_common::{
    api::Hook,
    client::{Client, ClientError, HookPlace},
};

use super::{Answer, Ask};

/// Answers `ask`, which is about hooks.
pub(super) async fn answer(client: &Client, ask: Ask) -> Result<Answer, ClientError> {
    Ok(match ask {
        Ask::Hooks(place) => Answer::Hooks(list(client, &place).await?),
        Ask::HookEvents => Answer::HookEvents(client.hook_events().await?),
        Ask::CreateHook(place, wanted) => Answer::Hook(Box::new(client.create_hook(&place, &wanted).await?)),
        Ask::EditHook(place, id, wanted) => Answer::Hook(Box::new(client.edit_hook(&place, id, &wanted).await?)),
        Ask::DeleteHook(place, id) => {
            client.delete_hook(&place, id).await?;
            Answer::Done
        }
        Ask::TestHook(place, id) => {
            client.test_hook(&place, id).await?;
            Answer::Done
        }
        Ask::ApplyHook(id) => apply(client, id).await?,
        _ => Answer::Done,
    })
}

async fn list(client: &Client, place: &HookPlace) -> Result<Vec<Hook>, ClientError> {
    let mut pages = client.hooks(place, "all");
    let mut all = Vec::new();
    while let Some(mut items) = pages.next(|items: Vec<Hook>| (0, items), |hook| hook.id).await? {
        all.append(&mut items);
    }
    Ok(all)
}

/// Batch after batch, until the daemon says that all is done.
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
