//! Accounts: the built-in administrator, and users that administrators create, change and delete.

mod change;
mod list;
mod own;
mod password;
mod remove;

use farrier_common::{api::CreateUser, names};
use farrier_proto::store::{User, Visibility};

pub use self::{
    change::{edit, rename},
    list::{AccountFilter, AccountOrder, list},
    own::{add_emails, delete_emails, edit_own},
    password::change_password,
    remove::delete,
};
use super::{
    Context, Error, access,
    audit::{self, AuditRecorder},
    password_hash, viewer,
};
use crate::{
    clock::Millis,
    model::{access_token, identity::Identity},
    store::{Store, StoreError, Tx, ids::IdKind, owners},
};

/// Id of the built-in administrator.
pub const ADMIN_ID: u64 = 1;
/// Name of the built-in administrator.
pub const ADMIN_NAME: &str = "admin";

const EMAIL_MAX_BYTES: usize = 254;
pub(super) const FULL_NAME_MAX_CHARS: usize = 100;
pub(super) const LOCATION_MAX_CHARS: usize = 50;
pub(super) const DESCRIPTION_MAX_CHARS: usize = 255;
pub(super) const WEBSITE_MAX_CHARS: usize = 255;
const PASSWORD_MIN_CHARS: usize = 8;

/// Creates the built-in administrator in a new store. It is an ordinary account, which has no password until one is
/// set.
pub async fn ensure_administrator(store: &Store, now: Millis) -> Result<(), StoreError> {
    if owners::user(&store.read().await?, ADMIN_ID).await?.is_some() {
        return Ok(());
    }
    let id = store.next_id(IdKind::Owner).await?;
    debug_assert_eq!(id, ADMIN_ID, "the first owner of a fresh store");
    store
        .write(async |tx: Tx| {
            let admin =
                User { id, name: ADMIN_NAME.into(), admin: true, created_ms: now, updated_ms: now, ..User::default() };
            owners::insert_user(&tx, &admin).await.map(drop)
        })
        .await
}

/// Creates a user. Requires a site administrator.
pub async fn create(context: &Context, identity: &Identity, input: CreateUser) -> Result<User, Error> {
    access::require_site_admin(identity)?;
    names::check_owner(&input.username).map_err(|e| Error::invalid("username", format!("name {e}")))?;
    check_email(&input.email)?;
    check_text("full_name", &input.full_name, FULL_NAME_MAX_CHARS)?;
    let visibility = visibility(&input.visibility)?;
    let password_hash = match input.password.filter(|password| !password.is_empty()) {
        Some(password) => {
            check_password("password", &password)?;
            password_hash::hash(context, identity, password).await?
        }
        None => String::new(),
    };
    let now = context.now_ms();
    let user = User {
        id: context.store.next_id(IdKind::Owner).await?,
        name: input.username,
        email: input.email,
        full_name: input.full_name,
        password_hash,
        admin: input.admin,
        must_change_password: input.must_change_password.unwrap_or(true),
        restricted: input.restricted,
        visibility: visibility.into(),
        created_ms: now,
        updated_ms: now,
        ..User::default()
    };
    let row = &user;
    let recorder = &AuditRecorder::new(context);
    let inserted = context.store.write(async |tx: Tx| {
        let conflict = owners::insert_user(&tx, row).await?;
        if conflict.is_none() {
            recorder.record(&tx, change::entry(audit::Action::UserCreate, &User::default(), row).created()).await?;
        }
        Ok::<_, Error>(conflict)
    });
    match inserted.await? {
        None => Ok(user),
        Some(owners::UserConflict::Name) => {
            Err(Error::in_use("username", format!("user already exists: {}", user.name)))
        }
        Some(owners::UserConflict::Email) => Err(Error::in_use("email", "e-mail already in use")),
    }
}

pub(super) fn visibility(word: &str) -> Result<Visibility, Error> {
    match word {
        "" | "public" => Ok(Visibility::Public),
        "limited" => Ok(Visibility::Limited),
        "private" => Ok(Visibility::Private),
        _ => Err(Error::invalid("visibility", "must be public, limited or private")),
    }
}

/// Returns an error if a text is too long or contains a zero byte.
pub(super) fn check_text(field: &'static str, text: &str, max_chars: usize) -> Result<(), Error> {
    if text.chars().count() > max_chars {
        return Err(Error::invalid(field, format!("is longer than {max_chars} characters")));
    }
    if text.contains('\0') {
        return Err(Error::invalid(field, "contains a zero byte"));
    }
    Ok(())
}

/// Returns an error unless the text is empty or an absolute http or https URL.
pub(super) fn check_website(text: &str) -> Result<(), Error> {
    check_text("website", text, WEBSITE_MAX_CHARS)?;
    let web = |url: url::Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    if text.is_empty() || url::Url::parse(text).is_ok_and(web) {
        return Ok(());
    }
    Err(Error::invalid("website", "must begin with http:// or https://"))
}

/// Returns the user `name` for an administrator. A renamed user gives [`Error::Renamed`].
async fn user_to_change(tx: &Tx, identity: &Identity, name: &str) -> Result<User, Error> {
    match viewer::find(tx, identity, name).await? {
        owners::Owner::User(user) => Ok(user),
        owners::Owner::Org(_) => Err(Error::invalid("username", "is an organization")),
    }
}

/// Checks the rough form of an e-mail address: one `@` with text on both sides and no whitespace. Only the mail
/// server can check more.
pub(super) fn check_email(email: &str) -> Result<(), Error> {
    let has_parts = email.split_once('@').is_some_and(|(local, domain)| {
        !local.is_empty() && !domain.is_empty() && !domain.contains('@') && !local.starts_with('-')
    });
    let plain = email.chars().all(|c| !c.is_whitespace() && !c.is_control() && !matches!(c, '<' | '>' | '"' | ','));
    match email {
        "" => Err(Error::invalid("email", "is required")),
        _ if email.len() > EMAIL_MAX_BYTES => {
            Err(Error::invalid("email", format!("is longer than {EMAIL_MAX_BYTES} bytes")))
        }
        _ if has_parts && plain => Ok(()),
        _ => Err(Error::invalid("email", "is not an e-mail address")),
    }
}

fn check_password(field: &'static str, password: &str) -> Result<(), Error> {
    if password.chars().count() < PASSWORD_MIN_CHARS {
        return Err(Error::invalid(field, format!("is shorter than {PASSWORD_MIN_CHARS} characters")));
    }
    if password.len() > password_hash::PASSWORD_MAX_BYTES {
        let max = password_hash::PASSWORD_MAX_BYTES;
        return Err(Error::invalid(field, format!("is longer than {max} bytes")));
    }
    // Such a password would be refused as a token.
    if access_token::has_form(password) {
        return Err(Error::invalid(field, "has the form of an access token"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn email_addresses_and_passwords_are_validated() {
        for good in ["a@b", "first.last+tag@example.org"] {
            assert!(check_email(good).is_ok(), "{good}");
        }
        let long = format!("a@{}", "b".repeat(260));
        for bad in ["", "a", "@b", "a@", "a@b@c", "a b@c", "-f@x", "a@b\n", "<a@b>", &long] {
            assert!(check_email(bad).is_err(), "{bad}");
        }
        assert!(check_password("password", "12345678").is_ok());
        assert!(
            check_password("password", "1234567").is_err() && check_password("password", &"x".repeat(256)).is_err()
        );
    }
}
