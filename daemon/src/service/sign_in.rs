//! Passwords: how they are kept and checked, and how often somebody may guess.

use std::sync::{Mutex, PoisonError};

use argon2::{Argon2, PasswordHasher as _, PasswordVerifier as _, password_hash::phc::PasswordHash};
use tokio::sync::Semaphore;

use super::{Error, authentication::wrong, security_log};
use crate::{
    app::App,
    clock::Millis,
    model::{
        identity::{Account, Proof},
        secret,
        throttle::{Allowance, Throttle},
    },
    store::owners,
    tasks,
};

/// Longest password, bytes.
pub const PASSWORD_MAX_BYTES: usize = 255;
/// Passwords that are hashed at once: each takes a core and 19 MiB for a moment.
const HASHING_MAX: usize = 2;
/// Of one address: 300 wrong tokens or 30 wrong passwords at once, then one or a tenth a second.
const OF_SOURCE: Allowance = Allowance { limit: 300, forgive_ms: 1_000 };
/// What a wrong password counts for an address.
const PASSWORD_POINTS: u32 = 10;
/// Of one account, from wherever: 10 wrong passwords at once, then one in 30 seconds.
const OF_ACCOUNT: Allowance = Allowance { limit: 10, forgive_ms: 30_000 };
/// Longer names are no names; what is remembered of them stays small.
const NAME_MAX_CHARS: usize = 64;

/// What is remembered about signing in.
pub struct SignIn {
    failures: Mutex<Throttle>,
    hashing: Semaphore,
}

impl Default for SignIn {
    fn default() -> Self {
        Self { failures: Mutex::default(), hashing: Semaphore::new(HASHING_MAX) }
    }
}

impl SignIn {
    /// Refuses who has shown too many wrong credentials: from `source`, and for the account `name`.
    pub(super) fn heard(&self, source: &str, name: Option<&str>, now: Millis) -> Result<(), Error> {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let of_source = failures.wait_ms(source, OF_SOURCE, now);
        let of_account = name.and_then(|name| failures.wait_ms(&account_key(name), OF_ACCOUNT, now));
        match of_source.max(of_account) {
            None => Ok(()),
            Some(ms) => Err(Error::Throttled { retry_after_secs: ms.unsigned_abs().div_ceil(1_000) }),
        }
    }

    /// Notes and logs wrong credentials: a token, or a password for the account `name`, which `exists` or does not.
    pub(super) fn note(&self, source: &str, name: Option<&str>, exists: bool, now: Millis) {
        let account = name.filter(|_| exists);
        security_log::failed_sign_in(account, source);
        self.count(source, name, now);
        if let Err(Error::Throttled { retry_after_secs }) = self.heard(source, name, now) {
            security_log::locked_out(account, source, retry_after_secs);
        }
    }

    fn count(&self, source: &str, name: Option<&str>, now: Millis) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let points = if name.is_some() { PASSWORD_POINTS } else { 1 };
        failures.note(source.to_owned(), points, OF_SOURCE, now);
        if let Some(name) = name {
            failures.note(account_key(name), 1, OF_ACCOUNT, now);
        }
    }
}

fn account_key(name: &str) -> String {
    format!("account {}", name.chars().take(NAME_MAX_CHARS).collect::<String>().to_lowercase())
}

/// The account `name`, if `password` is its password. Whether the account exists and has a password
/// makes no difference in time.
pub(super) async fn by_password(app: &App, name: &str, password: String, source: &str) -> Result<Account, Error> {
    let turn = app.sign_in.hashing.acquire().await.map_err(|_| Error::Busy)?;
    app.sign_in.heard(source, Some(name), app.now_ms())?;
    let snapshot = app.store.read().await?;
    let user = owners::user_by_name(&snapshot, name).await?.filter(|user| !user.password_hash.is_empty());
    drop(snapshot);
    let hash = user.as_ref().map(|user| user.password_hash.clone());
    let fits = tasks::blocking(move || fits(&password, hash.as_deref())).await;
    drop(turn);
    match user {
        Some(user) if fits => Ok(Account { user, proof: Proof::Password }),
        user => {
            app.sign_in.note(source, Some(name), user.is_some(), app.now_ms());
            Err(wrong())
        }
    }
}

/// Without a hash, the same work is done for nothing; so it is for a password that cannot be one.
fn fits(password: &str, hash: Option<&str>) -> bool {
    let possible = (1..=PASSWORD_MAX_BYTES).contains(&password.len());
    let password = if possible { password } else { "none" };
    if let Some(Ok(hash)) = hash.map(PasswordHash::new) {
        return Argon2::default().verify_password(password.as_bytes(), &hash).is_ok() && possible;
    }
    let _ = Argon2::default().hash_password_with_salt(password.as_bytes(), &[0; 16]);
    false
}

/// The hash under which a password is kept. Slow on purpose: runs beside the async workers.
pub async fn hash_password(app: &App, password: String) -> Result<String, Error> {
    let turn = app.sign_in.hashing.acquire().await.map_err(|_| Error::Busy)?;
    let hashed = tasks::blocking(move || {
        let salt = secret::random_bytes::<16>();
        Argon2::default().hash_password_with_salt(password.as_bytes(), &salt).map(|hash| hash.to_string())
    })
    .await;
    drop(turn);
    hashed.map_err(|error| Error::invalid("password", error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_guarded_from_all_addresses_and_an_address_for_all_accounts() {
        let sign_in = SignIn::default();
        for n in 0..10 {
            sign_in.heard(&format!("tcp {n}"), Some("Octo"), 0).expect("below the limit");
            sign_in.note(&format!("tcp {n}"), Some("octo"), true, 0);
        }
        let refused = sign_in.heard("tcp 99", Some("OCTO"), 0);
        assert!(matches!(refused, Err(Error::Throttled { retry_after_secs: 30 })), "{refused:?}");
        sign_in.heard("tcp 0", Some("other"), 0).expect("another account");
        sign_in.heard("tcp 99", Some("octo"), 30_000).expect("after a while");
        for _ in 0..300 {
            sign_in.note("tcp 7", None, false, 60_000);
        }
        assert!(sign_in.heard("tcp 7", None, 60_000).is_err());
    }
}
