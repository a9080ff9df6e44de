//! The keys that sign ID tokens: reads them, and creates and removes them when that is due.
//!
//! There is no task for it. Every request that needs the keys does what is due, see `model::id_token`.

use farrier_proto::store::SigningKey;

use crate::{
    clock::Millis,
    model::id_token::{self, Algorithm, KeyPair, KeyTime},
    service::{Context, Error},
    store::{StoreError, Tx, id_token_keys as rows},
    tasks,
};

/// A key with its number.
type Numbered = (u64, SigningKey);

/// Returns all keys. At least one of each algorithm can sign.
pub(super) async fn all(context: &Context) -> Result<Vec<Numbered>, Error> {
    let (now, period) = (context.now_ms(), period_ms(context));
    let keys = rows::all(&context.store.read().await?).await?;
    if !is_change_due(&keys, now, period) {
        return Ok(keys);
    }
    let context = context.clone();
    // To its end, because clients that disconnect could otherwise start it again and again.
    tasks::detached(async move { change_due(&context, now, period).await }).await.unwrap_or(Err(Error::Busy))
}

/// Makes the changes that are due, unless another request has made them. Returns all keys.
async fn change_due(context: &Context, now: Millis, period: Millis) -> Result<Vec<Numbered>, Error> {
    // Creating an RSA key takes a part of a second, so it is not done twice.
    let _creating = context.id_tokens.creating.lock().await;
    let keys = rows::all(&context.store.read().await?).await?;
    if !is_change_due(&keys, now, period) {
        return Ok(keys);
    }
    let mut new = Vec::new();
    for algorithm in Algorithm::ALL {
        if id_token::next_active_ms(&times(&keys, algorithm), now, period).is_some() {
            new.push((algorithm, tasks::blocking(move || create(algorithm, now)).await));
        }
    }
    let new = &new;
    let keys = context.store.write(async |tx: Tx| change(&tx, new, now, period).await).await?;
    tracing::info!(keys = keys.len(), "the signing keys of ID tokens were changed");
    Ok(keys)
}

/// Returns the key of `algorithm` that signs now.
pub(super) fn signing(keys: &[Numbered], algorithm: Algorithm, now: Millis) -> Result<KeyPair, StoreError> {
    let number = id_token::signing(&times(keys, algorithm), now).unwrap_or_default();
    let row = keys.iter().find(|(known, _)| *known == number);
    let pair = row.and_then(|(_, row)| KeyPair::open(algorithm, &row.secret));
    pair.ok_or_else(|| rows::unusable(number))
}

fn period_ms(context: &Context) -> Millis {
    Millis::from(context.config.ci.id_token_key_days) * 24 * 3_600_000
}

/// Returns the times of the keys of `algorithm`.
fn times(keys: &[Numbered], algorithm: Algorithm) -> Vec<KeyTime> {
    let own = keys.iter().filter(|(_, row)| row.algorithm == algorithm.name());
    own.map(|(number, row)| KeyTime { number: *number, active_ms: row.active_ms }).collect()
}

fn is_change_due(keys: &[Numbered], now: Millis, period: Millis) -> bool {
    Algorithm::ALL.into_iter().any(|algorithm| {
        let times = times(keys, algorithm);
        let removable = times.iter().any(|key| id_token::is_removable(*key, &times, now));
        removable || id_token::next_active_ms(&times, now, period).is_some()
    })
}

/// Creates a key. Its row says when it begins to sign after it was inserted.
fn create(algorithm: Algorithm, now: Millis) -> SigningKey {
    let secret = KeyPair::generate(algorithm);
    let pair = KeyPair::open(algorithm, &secret).expect("a new key is valid");
    SigningKey {
        secret: secret.to_vec(),
        created_ms: now,
        algorithm: algorithm.name().to_owned(),
        active_ms: 0,
        public_jwk: pair.public().to_string(),
    }
}

/// Inserts the keys of `new` that are still missing, and deletes keys whose tokens have all expired. Returns all keys.
async fn change(
    tx: &Tx,
    new: &[(Algorithm, SigningKey)],
    now: Millis,
    period: Millis,
) -> Result<Vec<Numbered>, StoreError> {
    let mut keys = rows::all(tx).await?;
    for (algorithm, row) in new {
        if let Some(active_ms) = id_token::next_active_ms(&times(&keys, *algorithm), now, period) {
            let row = SigningKey { active_ms, ..row.clone() };
            keys.push((rows::insert(tx, &keys, &row), row));
        }
    }
    for algorithm in Algorithm::ALL {
        let times = times(&keys, algorithm);
        for key in times.iter().filter(|key| id_token::is_removable(**key, &times, now)) {
            rows::delete(tx, key.number);
            keys.retain(|(number, _)| *number != key.number);
        }
    }
    Ok(keys)
}
