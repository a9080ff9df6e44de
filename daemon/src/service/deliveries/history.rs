//! Lists and reads deliveries, and queues one to be sent again.

use bytes::Bytes;
use farrier_proto::store::{Attempt, Delivery, DeliveryTrigger, Hook};
use uuid::Uuid;

use super::{
    listed::{ListedDelivery, with_event_and_hook},
    search_share,
};
use crate::{
    service::{
        Context, Error,
        audit::{Action, AuditRecorder, Entry, Object},
        hooks,
        hooks::HookOwner,
    },
    shares::Holder,
    store::{
        Read, Tx,
        deliveries::{self, DeliverySelection},
    },
};

const MISSING: Error = Error::NotFound { what: "the delivery" };
/// Maximum size of a payload that is returned, bytes.
const SHOWN_MAX_BYTES: usize = 1 << 20;

/// The hooks whose deliveries a request may access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryScope {
    /// All hooks, including deleted ones. For administrators.
    All,
    /// One existing hook.
    Hook(u64),
}

impl DeliveryScope {
    /// Returns the scope of hook `id` of `hook_owner`.
    pub async fn hook(read: &impl Read, hook_owner: HookOwner, id: u64) -> Result<Self, Error> {
        Ok(Self::Hook(hooks::get(read, hook_owner, id).await?.hook.id))
    }

    fn contains(self, row: &Delivery) -> bool {
        match self {
            Self::All => true,
            Self::Hook(id) => row.hook_id == id,
        }
    }
}

/// A delivery with its attempts and its payload.
#[derive(Clone, Debug)]
pub struct DeliveryWithAttempts {
    /// The delivery.
    pub listed: ListedDelivery,
    /// The attempts, oldest first.
    pub attempts: Vec<Attempt>,
    /// The payload of the event; empty if it has expired or is too large.
    pub json: Bytes,
}

/// A page of deliveries.
#[derive(Clone, Debug)]
pub struct DeliveryPage {
    /// The deliveries, newest first.
    pub rows: Vec<ListedDelivery>,
    /// Id after which the next page starts; 0 on the last page.
    pub next: u64,
    /// Total number of deliveries, if it was counted.
    pub total: Option<u64>,
}

/// Returns a page of deliveries, newest first. A search counts to `holder`.
pub async fn list(
    context: &Context,
    holder: Holder,
    scope: DeliveryScope,
    mut query: DeliverySelection,
) -> Result<DeliveryPage, Error> {
    if let DeliveryScope::Hook(id) = scope {
        query.hook = Some(id);
    }
    let _share = if query.may_read_many() { Some(search_share(context, holder).await?) } else { None };
    let read = &context.store.read().await?;
    let total = if query.before == 0 { deliveries::total(read, &query).await? } else { None };
    let (rows, next) = deliveries::page(read, &query).await?;
    Ok(DeliveryPage { rows: with_event_and_hook(read, rows).await?, next, total })
}

/// Finds a delivery by its UUID or id.
pub(super) async fn find(read: &impl Read, scope: DeliveryScope, text: &str) -> Result<Delivery, Error> {
    let row = if let Ok(id) = text.parse() {
        deliveries::get(read, id).await?
    } else {
        let uuid = Uuid::parse_str(text).map_err(|_| MISSING)?;
        deliveries::by_uuid(read, *uuid.as_bytes()).await?
    };
    row.filter(|row| scope.contains(row)).ok_or(MISSING)
}

/// Returns a delivery with its attempts.
pub async fn get(read: &impl Read, scope: DeliveryScope, text: &str) -> Result<DeliveryWithAttempts, Error> {
    let row = find(read, scope, text).await?;
    let attempts = deliveries::attempts(read, row.id).await?;
    let payload = deliveries::payload(read, row.event_id).await?;
    let json = payload.map(|payload| payload.json).filter(|json| json.len() <= SHOWN_MAX_BYTES).unwrap_or_default();
    Ok(DeliveryWithAttempts { listed: listed_delivery(read, row).await?, attempts, json })
}

async fn listed_delivery(read: &impl Read, row: Delivery) -> Result<ListedDelivery, Error> {
    with_event_and_hook(read, vec![row]).await?.pop().ok_or(MISSING)
}

/// Queues another attempt of a delivery, before all other deliveries of the hook. The attempt has the same body
/// and UUID, and is signed with the secret that the hook has at the time of the attempt.
pub async fn redeliver(context: &Context, scope: DeliveryScope, text: &str) -> Result<ListedDelivery, Error> {
    let recorder = &AuditRecorder::new(context);
    let queued = context
        .store
        .write(async |tx: Tx| {
            let row = find(&tx, scope, text).await?;
            let hook = crate::store::hooks::get(&tx, row.hook_id).await?.ok_or_else(hook_deleted)?;
            require_active(&hook)?;
            if deliveries::payload(&tx, row.event_id).await?.is_none() {
                return Err(payload_removed());
            }
            deliveries::request_attempt(&tx, &row, DeliveryTrigger::Manual, true);
            let entry = Entry::new(Action::DeliveryRedeliver, Object::hook(&tx, &hook).await?);
            recorder.record(&tx, entry.set("delivery_id", row.id)).await?;
            let row = deliveries::get(&tx, row.id).await?.ok_or(MISSING)?;
            listed_delivery(&tx, row).await
        })
        .await?;
    context.outbox.announce_urgent(queued.row.hook_id);
    Ok(queued)
}

/// Returns an error if hook `id` does not exist or is switched off.
pub(super) async fn require_active_hook(read: &impl Read, id: u64) -> Result<(), Error> {
    let hook = crate::store::hooks::get(read, id).await?.ok_or(Error::NotFound { what: "the hook" })?;
    require_active(&hook)
}

pub(super) fn hook_deleted() -> Error {
    Error::Conflict { reason: "the hook of this delivery was deleted".into() }
}

pub(super) fn payload_removed() -> Error {
    Error::Conflict { reason: "the payload of this delivery was removed".into() }
}

/// Returns an error if a user or the daemon has switched the hook off.
pub(super) fn require_active(hook: &Hook) -> Result<(), Error> {
    if hook.active {
        return Ok(());
    }
    let id = hook.id;
    Err(Error::Unusable {
        reason: format!(
            "hook {id} is switched off; switch it on (farrier hook on {id}, or PATCH with active: true), then try again"
        ),
    })
}
