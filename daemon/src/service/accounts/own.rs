//! Lets users change the settings and the other email addresses of their own account.

use farrier_common::api::EditUserSettings;
use farrier_proto::store::User;

use super::{
    DESCRIPTION_MAX_CHARS, FULL_NAME_MAX_CHARS, LOCATION_MAX_CHARS, change::entry, check_email, check_text,
    check_website,
};
use crate::{
    model::identity::Identity,
    service::{
        Context, Error, access,
        audit::{Action, AuditRecorder},
    },
    store::{Tx, owners},
};

/// Most other email addresses of an account.
const EMAILS_MAX: usize = 20;
/// Longest name of a language, in characters.
const LANGUAGE_MAX_CHARS: usize = 50;

/// A change of the caller's account.
enum OwnChange<'a> {
    /// Absent fields keep their values.
    Settings(&'a EditUserSettings),
    /// Adds email addresses.
    AddEmails(&'a [String]),
    /// Removes email addresses.
    DeleteEmails(&'a [String]),
}

/// Changes the settings of the caller's account. Absent fields keep their values.
pub async fn edit_own(context: &Context, identity: &Identity, input: &EditUserSettings) -> Result<User, Error> {
    let texts = [
        ("full_name", &input.full_name, FULL_NAME_MAX_CHARS),
        ("location", &input.location, LOCATION_MAX_CHARS),
        ("description", &input.description, DESCRIPTION_MAX_CHARS),
        ("language", &input.language, LANGUAGE_MAX_CHARS),
    ];
    for (field, text, max) in texts {
        check_text(field, text.as_deref().unwrap_or_default(), max)?;
    }
    if let Some(website) = &input.website {
        check_website(website)?;
    }
    change(context, identity, OwnChange::Settings(input)).await
}

/// Adds email addresses to the caller's account.
pub async fn add_emails(context: &Context, identity: &Identity, emails: &[String]) -> Result<User, Error> {
    if emails.is_empty() {
        return Err(Error::invalid("emails", "Required"));
    }
    for email in emails {
        check_email(email)?;
    }
    change(context, identity, OwnChange::AddEmails(emails)).await
}

/// Removes email addresses from the caller's account. The address that an administrator set stays.
pub async fn delete_emails(context: &Context, identity: &Identity, emails: &[String]) -> Result<User, Error> {
    change(context, identity, OwnChange::DeleteEmails(emails)).await
}

async fn change(context: &Context, identity: &Identity, change: OwnChange<'_>) -> Result<User, Error> {
    let id = access::require_account(identity)?.user.id;
    access::require_whole_account(identity)?;
    let (now, change) = (context.now_ms(), &change);
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            let before = owners::user(&tx, id).await?.ok_or(Error::NotFound { what: "the account" })?;
            let mut row = before.clone();
            match change {
                OwnChange::Settings(input) => apply_settings(&mut row, input),
                OwnChange::AddEmails(emails) => append_emails(&tx, &mut row, emails).await?,
                OwnChange::DeleteEmails(emails) => remove_emails(&mut row, emails)?,
            }
            if row == before {
                return Ok(row);
            }
            row.updated_ms = now;
            // Name and address stay the same, so there can be no conflict.
            owners::update_user(&tx, &before, &row).await?;
            let entry = entry(Action::UserEdit, &before, &row)
                .field("other_emails", before.other_emails.clone(), row.other_emails.clone())
                .field("language", before.language.as_str(), &row.language)
                .field("hide_email", before.hide_email, row.hide_email)
                .field("hide_activity", before.hide_activity, row.hide_activity);
            recorder.record(&tx, entry).await?;
            Ok::<_, Error>(row)
        })
        .await
}

fn apply_settings(row: &mut User, input: &EditUserSettings) {
    for (field, value) in [
        (&mut row.full_name, &input.full_name),
        (&mut row.website, &input.website),
        (&mut row.description, &input.description),
        (&mut row.location, &input.location),
        (&mut row.language, &input.language),
    ] {
        if let Some(value) = value {
            field.clone_from(value);
        }
    }
    row.hide_email = input.hide_email.unwrap_or(row.hide_email);
    row.hide_activity = input.hide_activity.unwrap_or(row.hide_activity);
}

async fn append_emails(tx: &Tx, row: &mut User, emails: &[String]) -> Result<(), Error> {
    for email in emails {
        let is_own = row.other_emails.iter().any(|other| other.eq_ignore_ascii_case(email));
        if is_own || owners::user_by_email(tx, email).await?.is_some() {
            return Err(Error::in_use("emails", "e-mail already in use"));
        }
        if row.other_emails.len() >= EMAILS_MAX {
            return Err(Error::invalid("emails", format!("an account has at most {EMAILS_MAX} other addresses")));
        }
        row.other_emails.push(email.clone());
    }
    Ok(())
}

fn remove_emails(row: &mut User, emails: &[String]) -> Result<(), Error> {
    for email in emails {
        let number = row.other_emails.len();
        row.other_emails.retain(|other| !other.eq_ignore_ascii_case(email));
        if row.other_emails.len() == number {
            return Err(Error::NotFound { what: "the e-mail address" });
        }
    }
    Ok(())
}
