//! Creates hooks. Checks follow the order of the API family.

use farrier_common::api::CreateHook;
use farrier_proto::store::{Hook, HookScope, HookState};

use super::{FoundHook, HookOwner, SavedHook, audited, check};
use crate::{
    model::hook_config,
    service::{Context, Error, audit::AuditRecorder},
    store::{Tx, hooks, ids::IdKind},
};

/// Creates a hook of `hook_owner`.
pub async fn create(context: &Context, hook_owner: HookOwner, input: CreateHook) -> Result<SavedHook, Error> {
    if input.r#type.is_empty() {
        return Err(Error::invalid("type", "Required"));
    }
    let config = input.config.as_ref().ok_or_else(|| Error::invalid("config", "Required"))?;
    check::branch_filter(&input.branch_filter)?;
    let name = check::name(&input.name)?;
    let unknown = || Error::Unusable { reason: format!("Invalid hook type: {}", input.r#type) };
    let kind = hook_config::by_name(&input.r#type).ok_or_else(unknown)?;
    let config = hook_config::check(kind, config)?;
    check::authorization(&input.authorization_header)?;
    let events = check::events(&input.events, &input.events_exact)?;
    let scope = match hook_owner.scope() {
        HookScope::System if config.system != Some(true) => HookScope::Default,
        scope => scope,
    };
    let now = context.now_ms();
    let row = Hook {
        id: context.store.next_id(IdKind::Hook).await?,
        scope: scope.into(),
        target_id: hook_owner.target(),
        r#type: kind.name.to_owned(),
        name,
        url: config.url,
        form: config.form,
        secret: config.secret,
        authorization: Some(input.authorization_header)
            .filter(|value| !value.is_empty())
            .or(config.authorization)
            .unwrap_or_default(),
        events: events.events,
        branch_filter: input.branch_filter,
        active: input.active,
        created_ms: now,
        updated_ms: now,
        settings: config.settings.into_iter().collect(),
        ..Hook::default()
    };
    let inserted = &row;
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            check_count(&tx, scope, inserted.target_id).await?;
            hooks::insert(&tx, inserted);
            recorder.record(&tx, audited::creation(&tx, inserted).await?).await?;
            Ok::<_, Error>(())
        })
        .await?;
    Ok(SavedHook {
        found: FoundHook { hook: row, state: HookState::default() },
        ignored: events.ignored,
        secrets_removed: false,
    })
}

/// Returns an error if the owner cannot have another hook.
pub(super) async fn check_count(tx: &Tx, scope: HookScope, target: u64) -> Result<(), Error> {
    let most = hooks::PER_SCOPE_MAX;
    if hooks::ids_of(tx, scope, target).await?.len() < most {
        return Ok(());
    }
    Err(Error::Conflict { reason: format!("there are {most} hooks already, which is the maximum") })
}
