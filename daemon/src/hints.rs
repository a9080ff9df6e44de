//! Hints for other nodes: which rows may have changed.
//!
//! Local signals, such as that of the event readers, add to the next hint, and `service::hints` sends it and raises the
//! signals of the other nodes. A hint can be lost, so the rows decide, and every node also reads them at intervals. If
//! only one process can use the store, nothing is collected.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::Notify;

use crate::clock::Millis;

/// What may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// The rights of callers.
    Access,
    /// The audit log.
    Audit,
    /// The events.
    Events,
    /// The rows of events whose deliveries are written in steps.
    FanOut,
    /// The nodes and their leases.
    Nodes,
    /// The queue of a hook; which one is not known.
    Queues,
    /// The results of deliveries for which callers wait.
    Results,
}

/// Background work that one node does at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DueWork {
    /// Runs of mirrors.
    Mirrors,
    /// Pruning of repositories.
    Pruning,
    /// The sweep.
    Sweep,
}

impl Topic {
    /// All topics.
    pub const ALL: [Self; 7] =
        [Self::Access, Self::Audit, Self::Events, Self::FanOut, Self::Nodes, Self::Queues, Self::Results];

    fn name(self) -> &'static str {
        match self {
            Self::Access => "access",
            Self::Audit => "audit",
            Self::Events => "events",
            Self::FanOut => "fan-out",
            Self::Nodes => "nodes",
            Self::Queues => "queues",
            Self::Results => "results",
        }
    }
}

impl DueWork {
    /// All kinds of work.
    pub const ALL: [Self; 3] = [Self::Mirrors, Self::Pruning, Self::Sweep];

    fn name(self) -> &'static str {
        match self {
            Self::Mirrors => "mirrors",
            Self::Pruning => "pruning",
            Self::Sweep => "sweep",
        }
    }
}

/// Several changes that are sent together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    /// What may have changed.
    pub topics: BTreeSet<Topic>,
    /// Work, and when it is due.
    pub due: BTreeMap<DueWork, Millis>,
    /// Hooks with new deliveries; `true`: they are sent even if the hook is failing.
    pub hooks: BTreeMap<u64, bool>,
}

impl Hint {
    /// Returns the text of the hint: words that are separated by spaces. If it would be longer than `bytes_max`, it
    /// does not name the hooks.
    pub fn encode(&self, bytes_max: usize) -> String {
        let mut text = String::new();
        for topic in &self.topics {
            _ = write!(text, "{} ", topic.name()); // cannot fail
        }
        for (work, at_ms) in &self.due {
            _ = write!(text, "{}@{at_ms} ", work.name());
        }
        let length = text.len();
        for (hook, urgent) in &self.hooks {
            _ = write!(text, "{}{hook} ", if *urgent { '!' } else { '+' });
        }
        if text.len() > bytes_max {
            text.truncate(length);
            text.push_str(Topic::Queues.name());
        }
        text
    }

    /// Reads a hint. Unknown words are of another release and are left out.
    pub fn decode(text: &str) -> Self {
        let mut hint = Self::default();
        for word in text.split_ascii_whitespace() {
            let hook = |number: &str| number.parse().ok();
            if let Some(id) = word.strip_prefix('+').and_then(hook) {
                hint.hooks.entry(id).or_default();
            } else if let Some(id) = word.strip_prefix('!').and_then(hook) {
                hint.hooks.insert(id, true);
            } else if let Some((name, at_ms)) = word.split_once('@') {
                let work = DueWork::ALL.into_iter().find(|work| work.name() == name);
                hint.due.extend(work.zip(at_ms.parse().ok()));
            } else {
                hint.topics.extend(Topic::ALL.into_iter().find(|topic| topic.name() == word));
            }
        }
        hint
    }
}

/// Collects the changes of this node for the next hint. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct OutgoingHints(Option<Arc<Collected>>);

#[derive(Debug)]
struct Collected {
    next: Mutex<Hint>,
    signal: Notify,
    /// Whether other nodes are alive, as far as is known.
    has_others: AtomicBool,
}

impl Collected {
    fn next(&self) -> MutexGuard<'_, Hint> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OutgoingHints {
    /// `is_shared`: whether other processes can use the store. Otherwise nothing is collected.
    pub fn new(is_shared: bool) -> Self {
        let collected =
            || Collected { next: Mutex::default(), signal: Notify::new(), has_others: AtomicBool::new(true) };
        Self(is_shared.then(|| Arc::new(collected())))
    }

    /// Returns whether other nodes may be alive.
    pub fn has_others(&self) -> bool {
        self.0.as_ref().is_some_and(|collected| collected.has_others.load(Ordering::SeqCst))
    }

    /// Sets whether other nodes are alive.
    pub fn set_has_others(&self, has_others: bool) {
        if let Some(collected) = &self.0 {
            collected.has_others.store(has_others, Ordering::SeqCst);
        }
    }

    /// Adds a topic.
    pub fn add(&self, topic: Topic) {
        self.change(|hint| {
            hint.topics.insert(topic);
        });
    }

    /// Adds work that is due at `at_ms`.
    pub fn add_due(&self, work: DueWork, at_ms: Millis) {
        self.change(|hint| {
            let due = hint.due.entry(work).or_insert(at_ms);
            *due = at_ms.min(*due);
        });
    }

    /// Adds a hook with new deliveries.
    pub fn add_hook(&self, hook: u64, urgent: bool) {
        self.change(|hint| *hint.hooks.entry(hook).or_default() |= urgent);
    }

    fn change(&self, change: impl FnOnce(&mut Hint)) {
        if let Some(collected) = self.0.as_ref().filter(|_| self.has_others()) {
            change(&mut collected.next());
            collected.signal.notify_one();
        }
    }

    /// Waits for changes and takes them. For one listener.
    pub async fn taken(&self) -> Hint {
        let Some(collected) = &self.0 else { return std::future::pending().await };
        loop {
            let hint = std::mem::take(&mut *collected.next());
            if hint != Hint::default() {
                return hint;
            }
            collected.signal.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn changes_are_merged_until_they_are_taken() {
        let hints = OutgoingHints::new(true);
        hints.add(Topic::Events);
        hints.add(Topic::Access);
        hints.add_due(DueWork::Sweep, 500);
        hints.add_due(DueWork::Sweep, 900);
        hints.add_hook(7, true);
        hints.add_hook(7, false);
        hints.add_hook(8, false);
        let hint = hints.taken().await;
        assert_eq!(hint.encode(1_000), "access events sweep@500 !7 +8 ");
        assert_eq!(Hint::decode(&hint.encode(1_000)), hint);
        assert!(hints.taken().now_or_never().is_none());
        hints.set_has_others(false);
        hints.add(Topic::Events);
        assert!(hints.taken().now_or_never().is_none(), "no other node reads it");
    }

    #[test]
    fn a_long_hint_does_not_name_the_hooks_and_unknown_words_are_left_out() {
        let hooks = (1..1_000).map(|hook| (hook, false)).collect();
        let hint = Hint { topics: [Topic::Events].into(), hooks, ..Hint::default() };
        assert_eq!(Hint::decode(&hint.encode(100)).topics, [Topic::Events, Topic::Queues].into());
        let partly = Hint::decode("later results moon@7 sweep@x mirrors@-1 +x *9");
        assert_eq!(partly.topics, [Topic::Results].into());
        assert_eq!((partly.due, partly.hooks), ([(DueWork::Mirrors, -1)].into(), BTreeMap::new()));
    }

    #[test]
    fn a_node_that_has_the_store_alone_collects_nothing() {
        let hints = OutgoingHints::new(false);
        hints.add(Topic::Events);
        assert!(!hints.has_others() && hints.taken().now_or_never().is_none());
    }
}
