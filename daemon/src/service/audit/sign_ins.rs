//! Records sign-ins in bounded numbers: the first use of a password or token per address and day, and refusals counted
//! per account, address and minute.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{Action, AuditRecorder, Entry, LOG_TARGET, Object, RequestScope, record_after};
use crate::{
    clock::Millis,
    model::identity::{Account, Proof},
    service::{Context, Error},
    store::Tx,
    wake::Wake,
};

const DAY_MS: Millis = 86_400_000;
/// Refusals of this time are counted in one entry per account and address.
const WINDOW_MS: Millis = 60_000;
/// Maximum number of accounts and addresses that are counted separately. The rest is counted together.
const COUNTERS_MAX: usize = 100;
/// Maximum number of accepted sign-ins that are recorded per day.
const ACCEPTED_MAX: usize = 20_000;

/// Distinguishes the ID of a public key from the ID of a token.
const KEY_BIT: u64 = 1 << 63;

/// The sign-ins that are counted now.
#[derive(Debug, Default)]
pub struct SignIns {
    accepted: Mutex<Accepted>,
    refused: Mutex<Refused>,
    /// Wakes the task that records refusals.
    pub due: Wake,
}

/// The accepted sign-ins of one day, as account, token and address.
#[derive(Debug, Default)]
struct Accepted {
    day: Millis,
    seen: HashSet<(u64, u64, String)>,
}

/// The refused sign-ins since `since_ms`.
#[derive(Debug, Default)]
struct Refused {
    since_ms: Millis,
    counters: HashMap<Refusal, u64>,
    /// Refusals without a counter.
    others: u64,
}

/// Refusals that are counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Refusal {
    account: Option<String>,
    source: String,
    reason: &'static str,
}

impl SignIns {
    /// Counts a refused sign-in. `account`: an existing account. Names of other accounts are not recorded, because
    /// programs send tokens as names and people type passwords there by mistake.
    pub fn refused(&self, account: Option<&str>, source: &str, reason: &'static str, now: Millis) {
        let mut refused = lock(&self.refused);
        if refused.counters.is_empty() && refused.others == 0 {
            refused.since_ms = now;
            self.due.due_at(now.saturating_add(WINDOW_MS));
        }
        let key = Refusal { account: account.map(str::to_owned), source: source.to_owned(), reason };
        let is_full = refused.counters.len() >= COUNTERS_MAX;
        match refused.counters.get_mut(&key) {
            Some(count) => *count += 1,
            None if is_full => refused.others += 1,
            None => drop(refused.counters.insert(key, 1)),
        }
    }

    /// Returns whether this is the first use of the credentials today.
    fn is_first(&self, user: u64, token: u64, source: &str, now: Millis) -> bool {
        let mut accepted = lock(&self.accepted);
        let day = now.div_euclid(DAY_MS);
        if accepted.day != day {
            *accepted = Accepted { day, seen: HashSet::new() };
        }
        accepted.seen.len() < ACCEPTED_MAX && accepted.seen.insert((user, token, source.to_owned()))
    }

    /// Returns the refusals whose window is over, and when the others are due.
    fn take_due(&self, now: Millis, is_final: bool) -> (Refused, Option<Millis>) {
        let mut refused = lock(&self.refused);
        if refused.counters.is_empty() && refused.others == 0 {
            return (Refused::default(), None);
        }
        let due = refused.since_ms.saturating_add(WINDOW_MS);
        if now < due && !is_final {
            return (Refused::default(), Some(due));
        }
        (std::mem::take(&mut *refused), None)
    }

    /// Puts back refusals that could not be recorded.
    fn put_back(&self, taken: Refused) {
        let mut refused = lock(&self.refused);
        refused.since_ms = taken.since_ms;
        refused.others += taken.others;
        for (key, count) in taken.counters {
            *refused.counters.entry(key).or_default() += count;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Logs a wrong password or token. `account`: an existing account whose password was wrong.
pub(in crate::service) fn log_refused(account: Option<&str>, source: &str) {
    let account = account.unwrap_or("-");
    tracing::warn!(target: LOG_TARGET, account, source, "sign-in failed");
}

/// Logs a request with an expired token.
pub(in crate::service) fn log_expired_token(owner: &str, token: u64, source: &str) {
    tracing::warn!(target: LOG_TARGET, account = owner, token_id = token, source, "sign-in with an expired token");
}

/// Logs that further attempts are refused for some time. `account`: an existing account, if passwords were tried.
pub(in crate::service) fn log_locked_out(account: Option<&str>, source: &str, retry_after_secs: u64) {
    let account = account.unwrap_or("-");
    let message = "too many failed sign-ins: further ones are refused";
    tracing::warn!(target: LOG_TARGET, account, source, retry_after_secs, "{message}");
}

/// Records the first use of a password or token from an address on a day, without delaying the request.
pub fn accepted(context: &Context, account: &Account, source: &str) {
    let (how, key, token, token_owner) = match &account.proof {
        Proof::Peer => return,
        Proof::Password => ("password", 0, 0, account.user.id),
        Proof::Key(key) => ("ssh_key", *key, 0, account.user.id),
        Proof::Token(token) => ("token", 0, token.id, token.user_id),
    };
    // IDs of keys and tokens are two sequences.
    let credential = if key == 0 { token } else { key | KEY_BIT };
    if !context.audit.sign_ins.is_first(token_owner, credential, source, context.now_ms()) {
        return;
    }
    let entry = Entry::new(Action::SignInAccept, Object::user(&account.user)).set("with", how);
    let entry = if token == 0 { entry } else { entry.set("token_id", token) };
    let entry = if key == 0 { entry } else { entry.set("key_id", key) };
    // The task may run before the request gets its caller.
    if let Some(request) = RequestScope::current() {
        request.set_account(account);
    }
    let context = context.clone();
    let tasks = context.tasks.clone();
    tasks.short(RequestScope::inherit(async move { record_after(&context, entry).await }));
}

/// Records the refusals whose window is over; all with `is_final`. Returns when the next ones are due.
pub async fn flush_refusals(context: &Context, is_final: bool) -> Result<Option<Millis>, Error> {
    let (taken, due) = context.audit.sign_ins.take_due(context.now_ms(), is_final);
    if due.is_some() || (taken.counters.is_empty() && taken.others == 0) {
        return Ok(due);
    }
    match write(context, &taken).await {
        Ok(()) => Ok(None),
        Err(error) => {
            context.audit.sign_ins.put_back(taken);
            Err(error)
        }
    }
}

async fn write(context: &Context, refused: &Refused) -> Result<(), Error> {
    let mut entries: Vec<Entry> = refused.counters.iter().map(|(key, count)| entry(key, *count)).collect();
    if refused.others > 0 {
        let reason = "further addresses and accounts";
        let key = Refusal { account: None, source: "several addresses".into(), reason };
        entries.push(entry(&key, refused.others));
    }
    let recorder = &AuditRecorder::new(context);
    let entries = &entries;
    context
        .store
        .write(async |tx: Tx| {
            recorder.record_all(&tx, entries.iter().cloned()).await?;
            Ok(())
        })
        .await
}

fn entry(key: &Refusal, count: u64) -> Entry {
    let object = Object::new("user", 0, key.account.as_deref().unwrap_or_default());
    Entry::new(Action::SignInRefuse, object).refused(key.reason).count(count).from_source(&key.source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_counted_per_account_and_address_up_to_a_limit() {
        let sign_ins = SignIns::default();
        for n in 0..COUNTERS_MAX + 7 {
            for _ in 0..3 {
                sign_ins.refused(Some("octo"), &format!("ip {n}"), "wrong password", 1_000);
            }
        }
        let (none, due) = sign_ins.take_due(1_000 + WINDOW_MS - 1, false);
        assert_eq!((none.counters.len(), due), (0, Some(1_000 + WINDOW_MS)));
        let (taken, due) = sign_ins.take_due(1_000 + WINDOW_MS, false);
        assert_eq!((taken.counters.len(), taken.others, due), (COUNTERS_MAX, 21, None));
        assert!(taken.counters.values().all(|count| *count == 3));
        assert_eq!(sign_ins.take_due(i64::MAX, true).0.counters.len(), 0);
    }

    #[test]
    fn only_the_first_sign_in_of_a_day_counts() {
        let sign_ins = SignIns::default();
        let first = |source: &str, now| sign_ins.is_first(1, 0, source, now);
        assert_eq!([first("ip a", 5), first("ip a", 6), first("ip b", 7)], [true, false, true]);
        assert!(first("ip a", DAY_MS));
        assert!(sign_ins.is_first(1, 9, "ip a", DAY_MS), "a token is separate from the password");
    }
}
