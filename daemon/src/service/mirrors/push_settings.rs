//! Push mirrors of a repository: lists, creates, deletes and runs them. Only administrators of the repository may.

use farrier_common::api::{CreatePushMirror, MigrateRepository};
use farrier_proto::store::MirrorRemote;
use url::Url;

use super::{
    runs,
    settings::{find, interval, require_enabled},
};
use crate::{
    model::{identity::Identity, secret},
    service::{
        Context, Error,
        access::Action,
        audit::{self, AuditRecorder, Entry, Object},
        migrations::{self, input::Address},
        repositories::FoundRepository,
    },
    store::{Tx, mirrors, repositories as rows},
};

const MISSING: Error = Error::NotFound { what: "the push mirror" };
/// Start of the names of push mirrors.
const NAME_PREFIX: &str = "remote_mirror_";
/// Number of random letters in a name.
const NAME_LETTERS: usize = 10;

/// Returns the push mirrors of a repository, oldest first.
pub async fn push_mirrors(
    context: &Context,
    identity: &Identity,
    place: (&str, &str),
) -> Result<(FoundRepository, Vec<MirrorRemote>), Error> {
    let found = find(context, identity, place, Action::Administer).await?;
    let mut all = mirrors::push_mirrors(&context.store.read().await?, found.repository.id).await?;
    all.sort_by(|a, b| (a.created_ms, &a.name).cmp(&(b.created_ms, &b.name)));
    Ok((found, all))
}

/// Returns the push mirror `name` of a repository.
pub async fn push_mirror(
    context: &Context,
    identity: &Identity,
    place: (&str, &str),
    name: &str,
) -> Result<(FoundRepository, MirrorRemote), Error> {
    let found = find(context, identity, place, Action::Administer).await?;
    let row = named(&context.store.read().await?, found.repository.id, name).await?;
    Ok((found, row))
}

/// Returns the push mirror `name`, without the source of a pull mirror, whose name is empty.
async fn named(read: &impl crate::store::Read, repository: u64, name: &str) -> Result<MirrorRemote, Error> {
    if name.is_empty() || name.contains('\0') {
        return Err(MISSING);
    }
    mirrors::remote(read, repository, name).await?.ok_or(MISSING)
}

/// Adds a push mirror. With an interval, it runs for the first time at once.
pub async fn create_push_mirror(
    context: &Context,
    identity: &Identity,
    place: (&str, &str),
    input: CreatePushMirror,
) -> Result<(FoundRepository, MirrorRemote), Error> {
    let found = find(context, identity, place, Action::Administer).await?;
    require_enabled(context)?;
    let interval_ms = interval(context, "interval", &input.interval)?;
    for (field, is_set) in [("use_ssh", input.use_ssh), ("branch_filter", !input.branch_filter.is_empty())] {
        if is_set {
            return Err(Error::invalid(field, "is not supported"));
        }
    }
    let sync_on_commit = input.sync_on_commit;
    let Address { url, credentials } = address(input)?;
    if is_own_address(context, &url, &found) {
        return Err(Error::invalid("remote_address", "a repository cannot be a mirror of itself"));
    }
    migrations::resolve(context, identity, "remote_address", &Address { url: url.clone(), credentials: None }).await?;
    let (username, password) = credentials.unwrap_or_default();
    let now = context.now_ms();
    let row = &MirrorRemote {
        name: new_name(),
        address: url.to_string(),
        username,
        password,
        sync_on_commit,
        interval_ms,
        created_ms: now,
        next_ms: if interval_ms > 0 { now } else { 0 },
        ..MirrorRemote::default()
    };
    let (recorder, path, id) = (&AuditRecorder::new(context), &found.path(), found.repository.id);
    context
        .store
        .write(async |tx: Tx| {
            rows::get(&tx, id).await?.filter(|row| !row.deleted).ok_or(Error::NotFound { what: "the repository" })?;
            if mirrors::push_mirrors(&tx, id).await?.len() >= mirrors::PUSH_MIRRORS_MAX {
                let most = mirrors::PUSH_MIRRORS_MAX;
                return Err(Error::invalid(
                    "remote_address",
                    format!("the repository has {most} push mirrors already"),
                ));
            }
            mirrors::put(&tx, id, None, row);
            mirrors::count_on_commit(&tx, id).await?;
            let object = Object::new("push_mirror", 0, &row.name).in_repository(id, path);
            let entry = Entry::new(audit::Action::PushMirrorCreate, object).url("address", "", &row.address);
            recorder
                .record(&tx, entry.secret("password", "", &row.password).set("on_commit", row.sync_on_commit))
                .await?;
            Ok(())
        })
        .await?;
    runs::wake(context);
    Ok((found, row.clone()))
}

/// Deletes the push mirror `name`. The copy on the other server stays.
pub async fn delete_push_mirror(
    context: &Context,
    identity: &Identity,
    place: (&str, &str),
    name: &str,
) -> Result<(), Error> {
    let found = find(context, identity, place, Action::Administer).await?;
    let (recorder, path, id) = (&AuditRecorder::new(context), &found.path(), found.repository.id);
    context
        .store
        .write(async |tx: Tx| {
            let row = named(&tx, id, name).await?;
            mirrors::delete(&tx, id, &row);
            mirrors::count_on_commit(&tx, id).await?;
            let object = Object::new("push_mirror", 0, &row.name).in_repository(id, path);
            let entry = Entry::new(audit::Action::PushMirrorDelete, object).url("address", &row.address, "");
            recorder.record(&tx, entry).await?;
            Ok::<_, Error>(())
        })
        .await?;
    context.mirrors.cancel(id, name);
    Ok(())
}

/// Runs all push mirrors of a repository and waits for them. They continue if the caller disconnects.
pub async fn sync_push_mirrors(context: &Context, identity: &Identity, place: (&str, &str)) -> Result<(), Error> {
    require_enabled(context)?;
    let (found, all) = push_mirrors(context, identity, place).await?;
    let (task_context, id) = (context.clone(), found.repository.id);
    let failed = context.tasks.carry(async move {
        let mut failed = Vec::new();
        for row in all {
            if let Err(reason) = runs::run_now(&task_context, id, &row.name).await {
                failed.push(format!("{}: {reason}", row.name));
            }
        }
        failed
    });
    let failed = failed.await;
    if failed.is_empty() {
        return Ok(());
    }
    Err(Error::Unusable { reason: format!("push mirrors failed: {}", failed.join("; ")) })
}

/// Parses the address of the remote: http or https. Errors name the fields of the request.
fn address(input: CreatePushMirror) -> Result<Address, Error> {
    let fields = MigrateRepository {
        clone_addr: input.remote_address,
        auth_username: input.remote_username,
        auth_password: input.remote_password,
        ..MigrateRepository::default()
    };
    let parsed = migrations::input::address(&fields).map_err(|error| match error {
        Error::Invalid { field: "clone_addr", reason } => Error::Invalid { field: "remote_address", reason },
        Error::Invalid { field: "auth_username", reason } => Error::Invalid { field: "remote_username", reason },
        Error::Invalid { field: "auth_password", reason } => Error::Invalid { field: "remote_password", reason },
        other => other,
    })?;
    if parsed.url.scheme() == "git" {
        return Err(Error::invalid("remote_address", "is not an http or https address"));
    }
    Ok(parsed)
}

/// Returns whether `url` is the address of the repository itself.
fn is_own_address(context: &Context, url: &Url, found: &FoundRepository) -> bool {
    let plain = |text: &str| text.trim_end_matches('/').trim_end_matches(".git").to_lowercase();
    plain(url.as_str()) == plain(&format!("{}/{}", context.root_url, found.path()))
}

fn new_name() -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789ab";
    let random: [u8; NAME_LETTERS] = secret::random_bytes();
    let letters = random.iter().map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()]));
    NAME_PREFIX.chars().chain(letters).collect()
}
