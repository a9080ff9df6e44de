//! Hashes and verifies passwords.
//!
//! Hashing uses a core for about 50 ms, and anybody can cause it with a wrong password. So passwords are verified on
//! threads that the kernel runs only while a core is idle. If that takes longer than 100 ms, the password is
//! verified with normal priority, so that users can sign in while the machine is busy.

use std::{sync::Arc, time::Duration};

use argon2::{Argon2, PasswordHasher as _, PasswordVerifier as _, password_hash::phc::PasswordHash};
use tokio::sync::Semaphore;

use super::{Context, Error, work};
use crate::{
    model::{identity::Identity, secret},
    shares::Holder,
    tasks,
};

/// Longest password, in bytes.
pub const PASSWORD_MAX_BYTES: usize = 255;
/// How long a password check waits for its share of the cores.
pub(super) const QUEUE: Duration = Duration::from_secs(10);
/// How long a password is verified with idle priority only.
const IDLE_WAIT: Duration = Duration::from_millis(100);

/// Verifies passwords on threads with idle priority.
pub(super) struct IdleHashing {
    /// One permit for each thread. Limits the threads that are still running after [`IDLE_WAIT`]; each uses 19 MiB.
    threads: Arc<Semaphore>,
}

impl Default for IdleHashing {
    fn default() -> Self {
        Self { threads: Arc::new(Semaphore::new(work::PASSWORD_CHECKS_MAX)) }
    }
}

impl IdleHashing {
    /// Returns whether `password` matches `hash`. Takes the same time without a hash.
    pub(super) async fn verify(&self, password: String, hash: Option<String>) -> bool {
        let Ok(permit) = self.threads.clone().try_acquire_owned() else {
            return verify(password, hash).await;
        };
        let verified = tasks::thread_when_idle("password hash", {
            let (password, hash) = (password.clone(), hash.clone());
            move || {
                let _permit = permit;
                is_correct(&password, hash.as_deref())
            }
        });
        match tokio::time::timeout(IDLE_WAIT, verified).await {
            Ok(Some(is_correct)) => is_correct,
            Ok(None) | Err(_) => verify(password, hash).await,
        }
    }
}

/// Like [`IdleHashing::verify`], with normal priority.
async fn verify(password: String, hash: Option<String>) -> bool {
    tasks::blocking(move || is_correct(&password, hash.as_deref())).await
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

/// Returns the hash to store for a password of `identity`.
pub async fn hash(context: &Context, identity: &Identity, password: String) -> Result<String, Error> {
    let share = context.work.password_checks.wait(Holder::caller(identity, None), QUEUE).await?;
    let hashed = tasks::blocking(move || {
        let salt = secret::random_bytes::<16>();
        Argon2::default().hash_password_with_salt(password.as_bytes(), &salt).map(|hash| hash.to_string())
    })
    .await;
    drop(share);
    hashed.map_err(|error| Error::invalid("password", error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashed(password: &str) -> String {
        Argon2::default().hash_password_with_salt(password.as_bytes(), &[7; 16]).expect("hashed").to_string()
    }

    #[tokio::test]
    async fn a_password_is_verified_also_while_all_idle_threads_are_in_use() {
        let (hashing, hash) = (IdleHashing::default(), Some(hashed("correct horse")));
        assert!(hashing.verify("correct horse".into(), hash.clone()).await);
        assert!(!hashing.verify("wrong".into(), hash.clone()).await);
        let permits = u32::try_from(work::PASSWORD_CHECKS_MAX).expect("a small number");
        let _all = hashing.threads.acquire_many(permits).await.expect("permits");
        assert!(hashing.verify("correct horse".into(), hash.clone()).await);
        assert!(!hashing.verify("wrong".into(), hash).await);
    }

    #[tokio::test]
    async fn without_a_hash_and_with_too_long_passwords_nothing_matches() {
        assert!(!verify("none".into(), None).await);
        let long = "x".repeat(PASSWORD_MAX_BYTES + 1);
        assert!(!verify(long, Some(hashed("none"))).await);
    }
}
