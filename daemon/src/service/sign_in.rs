//! Limits failed sign-ins per account and address.
//!
//! The first limit is for an account together with an address, so clients at other addresses cannot lock a user out.
//! A higher limit for the account slows down guessing from many addresses; it does not apply to an address from which
//! the account has signed in before. Valid tokens are accepted regardless of failed passwords.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use super::{
    Context, Error,
    audit::{log_locked_out, log_refused},
    authentication::wrong_credentials,
    password_hash::{self, IdleHashing},
};
use crate::{
    clock::Millis,
    model::{
        identity::{Account, Proof},
        known_sources::KnownSources,
        throttle::{Allowance, Throttle},
    },
    shares::Holder,
    store::owners,
};

/// How long the response to a sign-in is delayed after too many failed ones. Clients that repeat the request without
/// a pause use no more than this.
const REFUSAL_DELAY: Duration = Duration::from_secs(1);
/// Limit per address: 300 wrong tokens or 30 wrong passwords at once, then one token per second
/// or password per 10 s.
const SOURCE_LIMIT: Allowance = Allowance { limit: 300, expire_point_ms: 1_000 };
/// Points of a wrong password, for the limit per address.
const PASSWORD_POINTS: u32 = 10;
/// Limit per account and address: 10 wrong passwords at once, then one in 30 seconds.
const ATTEMPTS_LIMIT: Allowance = Allowance { limit: 10, expire_point_ms: 30_000 };
/// Limit per account, for all addresses together: 200 wrong passwords at once, then one in 3 seconds.
const ACCOUNT_LIMIT: Allowance = Allowance { limit: 200, expire_point_ms: 3_000 };
/// Names are cut to this length, in characters, so that long ones do not use memory.
const NAME_MAX_CHARS: usize = 64;

/// Reason of refusals in the audit log.
const TOO_MANY: &str = "too many failed sign-ins";

/// The state of sign-in limits.
#[derive(Default)]
pub struct SignIn {
    failures: Mutex<Throttle>,
    /// The addresses from which accounts have signed in.
    known: Mutex<KnownSources<Holder>>,
    hashing: IdleHashing,
}

/// The account of a password, as the limits use it.
#[derive(Clone, Copy)]
pub(super) struct AttemptedAccount<'a> {
    name: &'a str,
    /// `None`: the account does not exist or has no password.
    id: Option<u64>,
}

impl SignIn {
    /// Returns an error if `source` or the account has sent too many wrong credentials. `now`: monotonic.
    pub(super) fn check(
        &self,
        source: Holder,
        account: Option<AttemptedAccount<'_>>,
        now: Millis,
    ) -> Result<(), Error> {
        let is_known = account.and_then(|account| account.id).is_some_and(|id| self.is_known(id, source));
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let of_source = failures.wait_ms(&source_key(source), SOURCE_LIMIT, now);
        let of_attempts =
            account.and_then(|account| failures.wait_ms(&attempts_key(account.name, source), ATTEMPTS_LIMIT, now));
        let of_account = account.filter(|_| !is_known);
        let of_account =
            of_account.and_then(|account| failures.wait_ms(&account_key(account.name), ACCOUNT_LIMIT, now));
        match of_source.max(of_attempts).max(of_account) {
            None => Ok(()),
            Some(ms) => Err(Error::Throttled { retry_after_secs: ms.unsigned_abs().div_ceil(1_000) }),
        }
    }

    /// Records and logs wrong credentials: a token, or a password for an account. `now`: monotonic.
    pub(super) fn note(&self, source: Holder, account: Option<AttemptedAccount<'_>>, now: Millis) {
        let name = account.filter(|account| account.id.is_some()).map(|account| account.name);
        let label = source.label();
        log_refused(name, &label);
        self.count(source, account, now);
        if let Err(Error::Throttled { retry_after_secs }) = self.check(source, account, now) {
            log_locked_out(name, &label, retry_after_secs);
        }
    }

    /// Records that the account `id` has signed in from `source`.
    pub(super) fn note_success(&self, id: u64, source: Holder) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(id, source);
    }

    fn is_known(&self, id: u64, source: Holder) -> bool {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).contains(id, source)
    }

    fn count(&self, source: Holder, account: Option<AttemptedAccount<'_>>, now: Millis) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let points = if account.is_some() { PASSWORD_POINTS } else { 1 };
        failures.note(source_key(source), points, SOURCE_LIMIT, now);
        if let Some(AttemptedAccount { name, .. }) = account {
            failures.note(attempts_key(name, source), 1, ATTEMPTS_LIMIT, now);
            failures.note(account_key(name), 1, ACCOUNT_LIMIT, now);
        }
    }
}

fn source_key(source: Holder) -> String {
    format!("from {}", source.label())
}

fn attempts_key(name: &str, source: Holder) -> String {
    format!("{} from {}", account_key(name), source.label())
}

fn account_key(name: &str) -> String {
    format!("account {}", name.chars().take(NAME_MAX_CHARS).collect::<String>().to_lowercase())
}

/// Counts a wrong credential without an account from `source`, such as an unknown token. Returns an error, delayed, if
/// `source` has sent too many of them. `reason`: for the audit log.
pub(super) async fn refuse(context: &Context, source: Holder, reason: &'static str) -> Result<(), Error> {
    let now = context.clock.monotonic_ms();
    let checked = context.sign_in.check(source, None, now);
    let reason = if checked.is_err() { TOO_MANY } else { reason };
    context.audit.sign_ins.refused(None, &source.label(), reason, context.now_ms());
    delay_refusal(checked).await?;
    context.sign_in.note(source, None, now);
    Ok(())
}

/// Waits if `checked` is an error, so that clients that try passwords without a pause cause little work.
async fn delay_refusal<T>(checked: Result<T, Error>) -> Result<T, Error> {
    if checked.is_err() {
        tokio::time::sleep(REFUSAL_DELAY).await;
    }
    checked
}

/// Returns the account `name` if `password` is correct. The time does not depend on whether the account exists and has
/// a password.
pub(super) async fn by_password(
    context: &Context,
    name: &str,
    password: String,
    source: Holder,
) -> Result<Account, Error> {
    let sign_in = &context.sign_in;
    let snapshot = context.store.read().await?;
    let user = owners::user_by_name(&snapshot, name).await?.filter(|user| !user.password_hash.is_empty());
    drop(snapshot);
    let account = Some(AttemptedAccount { name, id: user.as_ref().map(|user| user.id) });
    let existing_name = user.as_ref().map(|user| user.name.as_str());
    let record = |reason| {
        context.audit.sign_ins.refused(existing_name, &source.label(), reason, context.now_ms());
    };
    let check = || {
        let checked = sign_in.check(source, account, context.clock.monotonic_ms());
        checked.inspect_err(|_| record(TOO_MANY))
    };
    delay_refusal(check()).await?;
    let share =
        delay_refusal(context.work.password_checks.wait(source, password_hash::QUEUE).await.map_err(Error::from))
            .await?;
    // Again, because other attempts may have failed while this one waited.
    if let Err(error) = check() {
        drop(share);
        return delay_refusal(Err(error)).await;
    }
    let hash = user.as_ref().map(|user| user.password_hash.clone());
    let is_correct = sign_in.hashing.verify(password, hash).await;
    // Recorded while the share is held, so that parallel attempts cannot exceed the limits by more than the capacity.
    match user {
        Some(user) if is_correct => {
            drop(share);
            Ok(Account { user, proof: Proof::Password })
        }
        _ => {
            record("wrong password");
            sign_in.note(source, account, context.clock.monotonic_ms());
            drop(share);
            Err(wrong_credentials())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const OCTO: Option<AttemptedAccount<'_>> = Some(AttemptedAccount { name: "octo", id: Some(7) });

    fn address(number: u32) -> Holder {
        Holder::address(Some(Ipv4Addr::from_bits(0x7f00_0000 + number).into()))
    }

    fn wait_secs(refused: Result<(), Error>) -> Option<u64> {
        match refused {
            Ok(()) => None,
            Err(Error::Throttled { retry_after_secs }) => Some(retry_after_secs),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn wrong_passwords_from_one_address_do_not_block_other_addresses() {
        let sign_in = SignIn::default();
        for _ in 0..10 {
            assert_eq!(wait_secs(sign_in.check(address(1), OCTO, 0)), None);
            sign_in.note(address(1), OCTO, 0);
        }
        let upper = Some(AttemptedAccount { name: "OCTO", id: Some(7) });
        assert_eq!(wait_secs(sign_in.check(address(1), upper, 0)), Some(30));
        assert_eq!(wait_secs(sign_in.check(address(2), OCTO, 0)), None, "another address");
        let other = Some(AttemptedAccount { name: "other", id: None });
        assert_eq!(wait_secs(sign_in.check(address(1), other, 0)), None, "another account");
        assert_eq!(wait_secs(sign_in.check(address(1), OCTO, 30_000)), None, "after a while");
    }

    #[test]
    fn guessing_from_many_addresses_blocks_only_unknown_addresses() {
        let sign_in = SignIn::default();
        sign_in.note_success(7, address(1));
        for number in 2..202 {
            assert_eq!(wait_secs(sign_in.check(address(number), OCTO, 0)), None);
            sign_in.note(address(number), OCTO, 0);
        }
        assert_eq!(wait_secs(sign_in.check(address(999), OCTO, 0)), Some(3));
        assert_eq!(wait_secs(sign_in.check(address(1), OCTO, 0)), None, "it has signed in before");
        for _ in 0..10 {
            sign_in.note(address(1), OCTO, 0);
        }
        assert_eq!(wait_secs(sign_in.check(address(1), OCTO, 0)), Some(30), "its own limit applies");
    }

    #[test]
    fn wrong_tokens_are_limited_per_address() {
        let sign_in = SignIn::default();
        for _ in 0..300 {
            sign_in.note(address(7), None, 60_000);
        }
        assert!(sign_in.check(address(7), None, 60_000).is_err());
        sign_in.check(address(8), None, 60_000).expect("another address");
    }
}
