//! Test deliveries and pings, with which users check whether a hook works.

use std::time::Duration;

use farrier_proto::store::{Delivery, DeliveryState, DeliveryTrigger, HookScope, Payload, RefChange, Repository};
use serde_json::json;

use super::history::DeliveryScope;
use crate::{
    git::ref_name::HEADS,
    model::{identity::Identity, secret},
    service::{
        Context, Error,
        access::{self, Action},
        audit::{self, AuditRecorder, Entry, Object},
        browse::Browse,
        events::{self, Actor, Subject},
        hooks::{self, FoundHook, HookOwner},
        repositories,
    },
    shares::Holder,
    show,
    store::{Read, Tx, deliveries, events as event_rows, owners, repositories as rows},
};

/// Maximum number of repositories that are searched for a commit.
const SEARCH_MAX: usize = 100;

/// The options of a test delivery.
#[derive(Clone, Debug, Default)]
pub struct TestOptions {
    /// Branch, tag or commit; empty: the default branch.
    pub revision: String,
    /// `owner/name` of the repository, for hooks that do not belong to a repository; empty for any repository
    /// with a commit.
    pub repository: String,
}

/// Sends a push event without a push to a hook, even if the hook is inactive or has not subscribed to pushes.
pub async fn test(
    context: &Context,
    identity: &Identity,
    hook_owner: HookOwner,
    id: u64,
    options: &TestOptions,
) -> Result<Delivery, Error> {
    let snapshot = context.store.read().await?;
    let found = hooks::get(&snapshot, hook_owner, id).await?;
    let repository = repository(&snapshot, identity, hook_owner, &options.repository).await?;
    let owner = owners::owner(&snapshot, repository.owner_kind(), repository.owner_id).await?;
    let owner = owner.ok_or(Error::NotFound { what: "the repository" })?;
    drop(snapshot);
    let access_level = access::AccessLevel::Owner;
    let found_repository = repositories::FoundRepository { repository: repository.clone(), owner, access_level };
    let browse = Browse::new(context, found_repository, Holder::caller(identity, None)).await?;
    if browse.git.is_empty().await? {
        return Err(EMPTY);
    }
    let commit = browse.resolve(&options.revision).await?;
    let revision = if options.revision.is_empty() { &repository.default_branch } else { &options.revision };
    let name = if revision.starts_with("refs/") { revision.clone() } else { format!("{HEADS}{revision}") };
    let change = RefChange { r#ref: name, before: commit.clone(), after: commit };
    let actor = Actor::of(identity);
    let subject = Subject { repository: &repository, owner: &browse.found.owner, actor: &actor };
    let payload = events::test_payload(context, subject, &change);
    insert(context, &found, "push", repository.id, &payload).await
}

const EMPTY: Error = Error::NotFound { what: "a commit to test with" };

/// Sends a ping event with the hook in its payload.
pub async fn ping(context: &Context, identity: &Identity, hook_owner: HookOwner, id: u64) -> Result<Delivery, Error> {
    let account = access::require_account(identity)?;
    let found = hooks::get(&context.store.read().await?, hook_owner, id).await?;
    let body = json!({
        "zen": "Design for failure.",
        "hook_id": show::number(id),
        "hook": show::hook(&found.hook, &found.state, None),
        "sender": show::user(&context.root_url, &Identity::Anonymous, &account.user),
    });
    let repository = if hook_owner.scope() == HookScope::Repository { hook_owner.target() } else { 0 };
    let payload = Payload { json: body.to_string().into(), ..Payload::default() };
    insert(context, &found, "ping", repository, &payload).await
}

async fn insert(
    context: &Context,
    found: &FoundHook,
    event: &str,
    repository: u64,
    payload: &Payload,
) -> Result<Delivery, Error> {
    let new = Delivery {
        hook_id: found.hook.id,
        event: event.to_owned(),
        repository_id: repository,
        trigger: DeliveryTrigger::Test.into(),
        next_trigger: DeliveryTrigger::Test.into(),
        state: DeliveryState::Pending.into(),
        created_ms: context.now_ms(),
        ..Delivery::default()
    };
    let recorder = &AuditRecorder::new(context);
    let inserted = context.store.write(async |tx: Tx| {
        // The payload is stored under the ID of an event. A test has no row of an event.
        let (id, event_id) = (deliveries::next_id(&tx).await?, event_rows::next_id(&tx).await?);
        let uuid = deliveries::uuid(id, secret::random_bytes()).to_vec();
        let row = Delivery { id, uuid, event_id, ..new.clone() };
        deliveries::put_initial_payload(&tx, event_id, payload);
        deliveries::insert_urgent(&tx, &row);
        let entry = Entry::new(audit::Action::HookTest, Object::hook(&tx, &found.hook).await?);
        recorder.record(&tx, entry.set("event", event).set("delivery_id", id)).await?;
        Ok::<_, Error>(row)
    });
    let row = inserted.await?;
    context.outbox.announce_urgent(found.hook.id);
    Ok(row)
}

/// Waits until a delivery has ended, at most as long as an attempt can take.
pub async fn wait(
    context: &Context,
    scope: DeliveryScope,
    row: &Delivery,
) -> Result<super::history::DeliveryWithAttempts, Error> {
    let text = row.id.to_string();
    let time_limit = Duration::from_secs(crate::config::file::TIMEOUT_SECS_MAX + 1);
    let result = async {
        loop {
            // Registered before the delivery is read, so that a result that is recorded in between is not
            // missed.
            let recorded = context.results.subscribe(row.id);
            let detail = super::history::get(&context.store.read().await?, scope, &text).await?;
            if detail.listed.row.state() != DeliveryState::Pending {
                return Ok::<_, Error>(detail);
            }
            recorded.wait().await;
        }
    };
    match tokio::time::timeout(time_limit, result).await {
        Ok(detail) => detail,
        Err(_) => super::history::get(&context.store.read().await?, scope, &text).await,
    }
}

/// Returns the repository of a test delivery.
async fn repository(
    read: &impl Read,
    identity: &Identity,
    hook_owner: HookOwner,
    path: &str,
) -> Result<Repository, Error> {
    const MISSING: Error = Error::NotFound { what: "the repository" };
    if hook_owner.scope() == HookScope::Repository {
        return rows::get(read, hook_owner.target()).await?.ok_or(MISSING);
    }
    if let Some((owner, name)) = path.split_once('/') {
        let found = repositories::find(read, identity, owner, name, Action::Read).await?;
        let is_in_scope = hook_owner.is_admin() || found.repository.owner_id == hook_owner.target();
        return if is_in_scope { Ok(found.repository) } else { Err(MISSING) };
    }
    let candidates = rows::newest(read, (!hook_owner.is_admin()).then(|| hook_owner.target()), SEARCH_MAX).await?;
    candidates.into_iter().find(|row| !row.empty && !row.deleted).ok_or(EMPTY)
}
