//! Deletes tokens some time after they expired.

use farrier_proto::store::Token;

use crate::{
    clock::Millis,
    service::{
        Context, Error,
        audit::{Action, AuditRecorder, Entry, Object},
    },
    store::{Tx, tokens},
};

/// How long expired tokens stay in lists, so that people see why a script is refused.
const KEPT_MS: Millis = 30 * super::DAY_MS;
/// Tokens to read per step.
const BATCH: usize = 256;

/// Deletes the tokens that expired at least 30 days ago.
///
/// Hits only rows of tokens with an expiry. The transaction reads the row again and compares its expiry with the time,
/// so no other token is deleted: an expiry never changes, and a token without one has 0. If the clock is ahead by more
/// than 30 days, tokens are deleted that would still be valid. They are refused at that time anyway, and a token can be
/// replaced.
pub async fn delete_expired(context: &Context) -> Result<(), Error> {
    let mut after = None;
    loop {
        let snapshot = context.store.read().await?;
        let (rows, next) = tokens::batch(&snapshot, after.as_deref(), BATCH).await?;
        drop(snapshot);
        let due: Vec<Token> = rows.into_iter().filter(|row| is_due(row, context.now_ms())).collect();
        if !due.is_empty() {
            delete(context, &due).await?;
        }
        match next {
            Some(key) => after = Some(key),
            None => return Ok(()),
        }
    }
}

async fn delete(context: &Context, due: &[Token]) -> Result<(), Error> {
    let now = context.now_ms();
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            let mut deleted = Vec::new();
            for Token { user_id, id, .. } in due {
                let row = tokens::get(&tx, *user_id, *id).await?;
                if row.is_some_and(|row| is_due(&row, now)) && tokens::delete(&tx, *user_id, *id).await? {
                    deleted.push(*id);
                }
            }
            if !deleted.is_empty() {
                let object = Object::new("tokens", 0, "expired tokens");
                let entry = Entry::new(Action::RetentionDelete, object).count(deleted.len() as u64);
                recorder.record(&tx, entry.had("token_ids", deleted)).await?;
            }
            Ok(())
        })
        .await
}

fn is_due(row: &Token, now: Millis) -> bool {
    row.expires_ms != 0 && row.expires_ms.saturating_add(KEPT_MS) <= now
}
