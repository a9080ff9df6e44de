//! Lets users change their own password.

use farrier_common::api::ChangePassword;
use farrier_proto::store::User;

use super::{change::entry, check_password};
use crate::{
    model::identity::{Identity, Proof},
    service::{
        Context, Error, access,
        audit::{Action, AuditRecorder},
        password_hash, sign_in,
        tokens::deletion_entry,
    },
    shares::Holder,
    store::{Tx, owners, tokens},
};

/// Changes the password of the calling account. `source` is the address of the request, for the limit on attempts.
///
/// The old password is required even with a token, so that a stolen token is not enough to take over the account.
/// It is not required from the operator on this machine, who could set any password. On request, the tokens of the
/// account are deleted in the same transaction, except the token of the request.
pub async fn change_password(
    context: &Context,
    identity: &Identity,
    input: ChangePassword,
    source: Holder,
) -> Result<(), Error> {
    let account = access::require_account(identity)?;
    access::require_whole_account(identity)?;
    if identity.token().is_some_and(|token| !token.repositories.is_empty()) {
        return Err(Error::Forbidden {
            reason: "a token that is limited to repositories cannot change the account".into(),
        });
    }
    if !context.config.auth.password_login && account.proof != Proof::Peer {
        let reason = "passwords are not accepted (auth.password_login = false); an administrator can change this";
        return Err(Error::Forbidden { reason: reason.into() });
    }
    check_password("new_password", &input.new_password)?;
    let revoke_tokens = input.revoke_tokens;
    let hash_before = match account.proof {
        Proof::Peer => account.user.password_hash.clone(),
        Proof::Password | Proof::Token(_) | Proof::Key(_) => verified(context, &account.user, &input, source).await?,
    };
    let hash = &password_hash::hash(context, identity, input.new_password).await?;
    let (id, hash_before, now) = (account.user.id, &hash_before, context.now_ms());
    let current_token = identity.token().map(|token| token.id);
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            let before = owners::user(&tx, id).await?.ok_or(Error::NotFound { what: "the account" })?;
            if before.password_hash != *hash_before {
                return Err(Error::Conflict { reason: "the password was changed by another request meanwhile".into() });
            }
            let row =
                User { password_hash: hash.clone(), must_change_password: false, updated_ms: now, ..before.clone() };
            // Name and e-mail address stay the same, so there can be no conflict.
            owners::update_user(&tx, &before, &row).await?;
            let mut entries = vec![entry(Action::UserPassword, &before, &row)];
            if revoke_tokens {
                for token in tokens::of_user(&tx, id).await? {
                    if Some(token.id) != current_token {
                        tokens::delete(&tx, id, token.id).await?;
                        entries.push(deletion_entry(&token, &row.name));
                    }
                }
            }
            recorder.record_all(&tx, entries).await?;
            Ok(())
        })
        .await
}

/// Checks the old password and returns the stored hash that it was compared with.
async fn verified(context: &Context, user: &User, input: &ChangePassword, source: Holder) -> Result<String, Error> {
    if user.password_hash.is_empty() {
        let reason = format!(
            "the account has no password; an administrator sets the first one with PATCH /api/v1/admin/users/{}",
            user.name
        );
        return Err(Error::Conflict { reason });
    }
    if input.old_password == input.new_password {
        return Err(Error::invalid("new_password", "is the same as the old password"));
    }
    match sign_in::by_password(context, &user.name, input.old_password.clone(), source).await {
        Ok(account) if account.user.id == user.id => Ok(account.user.password_hash),
        Ok(_) | Err(Error::Unauthenticated { .. }) => Err(Error::invalid("old_password", "is wrong")),
        Err(error) => Err(error),
    }
}
