//! Telling what happened: the one place that records events, in the transaction of the change.
//!
//! An event is a row; when a hook wants it, its payload and a delivery for each such hook are rows,
//! too, written together with it. Nothing is sent here, and nothing that deliveries write is read:
//! recording an event never meets the sending of another one.

mod fanout;
mod ledger;
mod news;
mod payload;
mod read;

use farrier_proto::store::{
    Delivery, DeliveryState, DeliveryTrigger, Event, Hook, HookScope, Payload, RefChange, Repository,
};

use self::fanout::Ready;
pub use self::{
    ledger::Ledger,
    news::{Actor, KINDS, News},
    read::{Filter, Page, newest, next_due_ms, page, present, sweep},
};
use crate::{
    app::App,
    clock::Millis,
    model::secret,
    store::{StoreError, Tx, deliveries, events, hooks, owners::Owner},
};

/// Whom news are about.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The repository as it is after the change.
    pub repository: &'a Repository,
    /// Its owner.
    pub owner: &'a Owner,
    /// Who changed it.
    pub actor: &'a Actor,
}

/// Numbers for events that a transaction is about to record.
///
/// Whoever reads events in order waits for numbers that are taken and not yet given back: a lower
/// number may be committed after a higher one. Dropping this gives them back, whatever became of the
/// transaction, and wakes the sender and the readers.
pub struct Telling<'a> {
    app: &'a App,
    numbers: Vec<u64>,
    now: Millis,
    told: std::sync::Mutex<Vec<u64>>,
}

impl<'a> Telling<'a> {
    /// Takes numbers for at most `most` events.
    pub async fn of(app: &'a App, most: usize) -> Result<Self, StoreError> {
        // From here on it is dropped in order, also when taking fails in the middle.
        let mut telling = Self { app, numbers: Vec::with_capacity(most), now: app.now_ms(), told: <_>::default() };
        app.events.take(&app.store, most, &mut telling.numbers).await?;
        Ok(telling)
    }

    /// Records `news` in `tx`, in their order. To be called once in a transaction, with no more news
    /// than numbers were taken for.
    pub async fn tell(&self, tx: &Tx, subject: Subject<'_>, news: &[News<'_>]) -> Result<(), StoreError> {
        let hooks = self.hooks(tx, subject.repository, news).await?;
        let mut told = Vec::new();
        for (id, news) in self.numbers.iter().zip(news) {
            let event = self.event(*id, subject, news);
            events::insert(tx, &event);
            let wanting: Vec<&Hook> = hooks.iter().filter(|hook| hook.wants(news)).map(|hook| &hook.hook).collect();
            if wanting.is_empty() {
                continue;
            }
            deliveries::put_first(tx, *id, &payload::of(self.app, subject, news));
            for (place, hook) in wanting.into_iter().take(deliveries::PER_EVENT_MAX).enumerate() {
                deliveries::enqueue(tx, &self.delivery(&event, hook, place));
                told.push(hook.id);
            }
        }
        // Of a run whose commit met others, too: a hook that is announced for nothing costs a look.
        self.told.lock().unwrap_or_else(std::sync::PoisonError::into_inner).append(&mut told);
        Ok(())
    }

    /// The hooks that may want `news`: the repository's, the owner's, the system's.
    async fn hooks(&self, tx: &Tx, repository: &Repository, news: &[News<'_>]) -> Result<Vec<Ready>, StoreError> {
        if !self.app.config.webhook.enabled {
            return Ok(Vec::new());
        }
        let places =
            [(HookScope::Repository, repository.id), (HookScope::Org, repository.owner_id), (HookScope::System, 0)];
        let mut ids = Vec::new();
        for (scope, target) in places {
            ids.append(&mut hooks::ids_of(tx, scope, target).await?);
        }
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let rows = hooks::many(tx, &ids).await?;
        Ok(rows.into_iter().filter_map(|row| Ready::of(row, news)).collect())
    }

    fn event(&self, id: u64, subject: Subject<'_>, news: &News<'_>) -> Event {
        let (run_id, job_id, conclusion) = news.run();
        Event {
            id,
            kind: news.kind().to_owned(),
            action: news.action().to_owned(),
            repository_id: subject.repository.id,
            actor_id: subject.actor.id(),
            at_ms: self.now,
            ref_change: news.ref_change().cloned(),
            repository_path: format!("{}/{}", subject.owner.name(), subject.repository.name),
            actor_name: subject.actor.name().to_owned(),
            run_id,
            job_id,
            conclusion: conclusion.into(),
        }
    }

    fn delivery(&self, event: &Event, hook: &Hook, place: usize) -> Delivery {
        let id = deliveries::number(event.id, place);
        Delivery {
            id,
            uuid: deliveries::uuid(id, secret::random_bytes()).to_vec(),
            hook_id: hook.id,
            event_id: event.id,
            event: event.kind.clone(),
            action: event.action.clone(),
            repository_id: event.repository_id,
            trigger: DeliveryTrigger::Event.into(),
            state: DeliveryState::Pending.into(),
            created_ms: self.now,
            ..Delivery::default()
        }
    }
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        self.app.events.give_back(&self.numbers);
        let told = self.told.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.app.outbox.announce(told);
        if !self.numbers.is_empty() {
            read::remember(self.app, self.now);
        }
    }
}

/// The payload of a push that asks for one without having happened: what a test of a hook sends.
/// Commits are still to be added.
pub fn test_payload(app: &App, subject: Subject<'_>, change: &RefChange) -> Payload {
    payload::of(app, subject, &News::Ref { kind: "push", change, known: &[] })
}
