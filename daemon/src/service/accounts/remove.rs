//! Deletes accounts. Refuses if repositories or organizations would have no owner afterwards.

use farrier_proto::store::{Org, User};

use super::{ADMIN_ID, user_to_change};
use crate::{
    model::identity::Identity,
    service::{
        Context, Error, access,
        audit::{Action, AuditRecorder, Entry, Object},
        hooks,
    },
    store::{Tx, gpg_keys, interests, orgs, owners, repositories, ssh_keys, teams, tokens},
};

/// Collaborations or stars to remove per transaction.
const BATCH: usize = 1_000;

/// Deletes an account with its tokens, SSH keys and OpenPGP keys. With `purge` it also removes its memberships, and the
/// organizations without repositories of which it is the only owner.
pub async fn delete(context: &Context, identity: &Identity, name: &str, purge: bool) -> Result<(), Error> {
    access::require_site_admin(identity)?;
    let user =
        context.store.write(async |tx: Tx| removable(&tx, identity, name, purge).await.map(|(user, _)| user)).await?;
    let id = user.id;
    while !context
        .store
        .write(async |tx: Tx| Ok::<_, Error>(repositories::end_collaborations(&tx, id, BATCH).await?))
        .await?
    {}
    while !context.store.write(async |tx: Tx| Ok::<_, Error>(interests::end(&tx, id, BATCH).await?)).await? {}
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            let (user, owned_alone) = removable(&tx, identity, name, purge).await?;
            for org in orgs::ids_of_user(&tx, user.id).await? {
                teams::leave(&tx, org, user.id).await?;
            }
            for org in &owned_alone {
                hooks::delete_of_owner(&tx, org.id).await?;
                repositories::offers::end_of_account(&tx, org.id).await?;
                orgs::delete(&tx, org).await?;
            }
            for token in tokens::of_user(&tx, user.id).await? {
                tokens::delete(&tx, user.id, token.id).await?;
            }
            for key in ssh_keys::of_account(&tx, user.id).await? {
                ssh_keys::delete(&tx, &key);
            }
            for key in gpg_keys::of_account(&tx, user.id).await? {
                gpg_keys::delete(&tx, &key);
            }
            repositories::end_collaborations(&tx, user.id, BATCH).await?;
            interests::end(&tx, user.id, BATCH).await?;
            repositories::offers::end_of_account(&tx, user.id).await?;
            hooks::delete_of_owner(&tx, user.id).await?;
            owners::delete_user(&tx, &user);
            let mut entry = Entry::new(Action::UserDelete, Object::user(&user)).had("admin", user.admin);
            if !owned_alone.is_empty() {
                let names: Vec<_> = owned_alone.iter().map(|org| org.name.clone()).collect();
                entry = entry.had("organizations", names);
            }
            recorder.record(&tx, entry).await?;
            Ok(())
        })
        .await
}

/// Returns the account, if it may be deleted, and the organizations to delete with it.
async fn removable(tx: &Tx, identity: &Identity, name: &str, purge: bool) -> Result<(User, Vec<Org>), Error> {
    let refused = |reason: String| Error::invalid("username", reason);
    let user = user_to_change(tx, identity, name).await?;
    if user.id == identity.user_id() {
        return Err(refused("an account cannot delete itself".into()));
    }
    if user.id == ADMIN_ID {
        return Err(refused("the built-in administrator cannot be deleted".into()));
    }
    if repositories::count_of(tx, user.id, 1).await? > 0 {
        return Err(refused(format!(
            "the user still owns repositories; delete each of them first (`farrier repo delete OWNER/NAME`), or keep \
             them and close the account (`farrier user off {}`)",
            user.name
        )));
    }
    let mut owned_alone = Vec::new();
    for org in orgs::of_user(tx, user.id).await? {
        if !purge {
            return Err(refused(format!("the user still belongs to the organization {}", org.name)));
        }
        if teams::member_ids(tx, &teams::owners_team(org.id)).await? != [user.id] {
            continue;
        }
        if orgs::member_ids(tx, org.id).await?.len() > 1 {
            return Err(refused(format!(
                "the user is the only owner of the organization {}, which has other members: add another owner first",
                org.name
            )));
        }
        if repositories::count_of(tx, org.id, 1).await? > 0 {
            return Err(refused(format!("the organization {} of the user still owns repositories", org.name)));
        }
        owned_alone.push(org);
    }
    Ok((user, owned_alone))
}
