//! Limits failed sign-ins per account and address, and hashes and verifies passwords.

use std::sync::{Mutex, PoisonError};

use argon2::{Argon2, PasswordHasher as _, PasswordVerifier as _, password_hash::phc::PasswordHash};
use tokio::sync::Semaphore;

use super::{Context, Error, authentication::wrong_credentials, security_log};
use crate::{
    clock::Millis,
    model::{
        identity::{Account, Proof},
        secret,
        throttle::{Allowance, Throttle},
    },
    store::owners,
    tasks,
};

/// Longest password, in bytes.
pub const PASSWORD_MAX_BYTES: usize = 255;
/// Passwords to hash at the same time. Each one uses a core and 19 MiB for a moment.
const HASHING_MAX: usize = 2;
/// Limit per address: 300 wrong tokens or 30 wrong passwords at once, then one token per second
/// or password per 10 s.
const SOURCE_LIMIT: Allowance = Allowance { limit: 300, expire_point_ms: 1_000 };
/// Points of a wrong password, for the limit per address.
const PASSWORD_POINTS: u32 = 10;
/// Limit per account, for all addresses together: 10 wrong passwords at once, then one in 30 seconds.
const ACCOUNT_LIMIT: Allowance = Allowance { limit: 10, expire_point_ms: 30_000 };
/// Names are cut to this length, in characters, so that long ones do not use memory.
const NAME_MAX_CHARS: usize = 64;

/// The state of sign-in limits.
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
    /// Returns an error if `source` or the account `name` has sent too many wrong credentials.
    pub(super) fn check(&self, source: &str, name: Option<&str>, now: Millis) -> Result<(), Error> {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let of_source = failures.wait_ms(source, SOURCE_LIMIT, now);
        let of_account = name.and_then(|name| failures.wait_ms(&account_key(name), ACCOUNT_LIMIT, now));
        match of_source.max(of_account) {
            None => Ok(()),
            Some(ms) => Err(Error::Throttled { retry_after_secs: ms.unsigned_abs().div_ceil(1_000) }),
        }
    }

    /// Records and logs wrong credentials: a token, or a password for the account `name`. `exists`: whether
    /// it exists.
    pub(super) fn note(&self, source: &str, name: Option<&str>, exists: bool, now: Millis) {
        let account = name.filter(|_| exists);
        security_log::failed_sign_in(account, source);
        self.count(source, name, now);
        if let Err(Error::Throttled { retry_after_secs }) = self.check(source, name, now) {
            security_log::locked_out(account, source, retry_after_secs);
        }
    }

    fn count(&self, source: &str, name: Option<&str>, now: Millis) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let points = if name.is_some() { PASSWORD_POINTS } else { 1 };
        failures.note(source.to_owned(), points, SOURCE_LIMIT, now);
        if let Some(name) = name {
            failures.note(account_key(name), 1, ACCOUNT_LIMIT, now);
        }
    }
}

fn account_key(name: &str) -> String {
    format!("account {}", name.chars().take(NAME_MAX_CHARS).collect::<String>().to_lowercase())
}

/// Returns the account `name` if `password` is correct. The time does not depend on whether the account exists and has
/// a password.
pub(super) async fn by_password(
    context: &Context,
    name: &str,
    password: String,
    source: &str,
) -> Result<Account, Error> {
    let permit = context.sign_in.hashing.acquire().await.map_err(|_| Error::Busy)?;
    context.sign_in.check(source, Some(name), context.now_ms())?;
    let snapshot = context.store.read().await?;
    let user = owners::user_by_name(&snapshot, name).await?.filter(|user| !user.password_hash.is_empty());
    drop(snapshot);
    let hash = user.as_ref().map(|user| user.password_hash.clone());
    let is_correct = tasks::blocking(move || is_correct(&password, hash.as_deref())).await;
    drop(permit);
    match user {
        Some(user) if is_correct => Ok(Account { user, proof: Proof::Password }),
        user => {
            context.sign_in.note(source, Some(name), user.is_some(), context.now_ms());
            Err(wrong_credentials())
        }
    }
}

/// Verifies a password. Without a hash, or with an invalid password, it does the same amount of work and returns
/// `false`.
fn is_correct(password: &str, hash: Option<&str>) -> bool {
    let valid_length = (1..=PASSWORD_MAX_BYTES).contains(&password.len());
    let password = if valid_length { password } else { "none" };
    if let Some(Ok(hash)) = hash.map(PasswordHash::new) {
        return Argon2::default().verify_password(password.as_bytes(), &hash).is_ok() && valid_length;
    }
    let _ = Argon2::default().hash_password_with_salt(password.as_bytes(), &[0; 16]);
    false
}

/// Returns the hash to store for a password. It is slow on purpose, so it runs on a blocking thread.
pub async fn hash_password(context: &Context, password: String) -> Result<String, Error> {
    let permit = context.sign_in.hashing.acquire().await.map_err(|_| Error::Busy)?;
    let hashed = tasks::blocking(move || {
        let salt = secret::random_bytes::<16>();
        Argon2::default().hash_password_with_salt(password.as_bytes(), &salt).map(|hash| hash.to_string())
    })
    .await;
    drop(permit);
    hashed.map_err(|error| Error::invalid("password", error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_limited_per_account_and_per_address() {
        let sign_in = SignIn::default();
        for n in 0..10 {
            sign_in.check(&format!("tcp {n}"), Some("Octo"), 0).expect("below the limit");
            sign_in.note(&format!("tcp {n}"), Some("octo"), true, 0);
        }
        let refused = sign_in.check("tcp 99", Some("OCTO"), 0);
        assert!(matches!(refused, Err(Error::Throttled { retry_after_secs: 30 })), "{refused:?}");
        sign_in.check("tcp 0", Some("other"), 0).expect("another account");
        sign_in.check("tcp 99", Some("octo"), 30_000).expect("after a while");
        for _ in 0..300 {
            sign_in.note("tcp 7", None, false, 60_000);
        }
        assert!(sign_in.check("tcp 7", None, 60_000).is_err());
    }
}
