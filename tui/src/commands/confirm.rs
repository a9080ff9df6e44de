//! Confirmation of deletions and of actions on many objects, and the hint how to restore a deleted object.
//!
//! On a terminal the user confirms with `y`, by typing the name of the deleted object, or, for many objects, by
//! typing their number. Without a terminal, `--yes` is required.

use std::fmt::Write as _;

use farrier_common::client::Client;
use jiff::{SignedDuration, tz::TimeZone};

use crate::{
    clock,
    config::{Config, TYPED_ABOVE},
    endpoint::variable,
    exit::Failure,
    output::{Output, clean_line, counted},
    prompt,
};

/// Asks for confirmation before `what` is deleted permanently.
pub(super) async fn deletion(what: &str, name: &str, yes: bool) -> Result<(), Failure> {
    named(what, "will be deleted permanently", name, yes).await
}

/// Asks for confirmation before `what` is deleted. `restore` says until when and how it can be restored.
pub(super) async fn restorable_deletion(
    what: &str,
    name: &str,
    restore: Option<String>,
    yes: bool,
) -> Result<(), Failure> {
    match restore {
        Some(restore) => named(what, &format!("will be deleted. {restore}"), name, yes).await,
        None => named(what, "will be deleted permanently", name, yes).await,
    }
}

async fn named(what: &str, happens: &str, name: &str, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !prompt::is_possible() {
        return Err(Failure::Usage(format!("deleting {what} without a terminal requires --yes")));
    }
    let happens = happens.trim_end_matches('.');
    let question = format!("{what} {happens}. Type {name} to confirm: ");
    if prompt::line(&clean_line(&question)).await? == name {
        return Ok(());
    }
    Err(Failure::Other("the names differ; nothing was deleted".to_owned()))
}

/// Returns until when and with which command an object that is deleted now can be restored; `None` if it
/// cannot, or if the daemon does not report it.
pub(super) async fn restore_hint(client: &Client, command: &str) -> Option<String> {
    let date = restorable_until(client.status().await.ok()?.restore_days)?;
    Some(format!("An administrator can restore it until {date} with `{command}`."))
}

/// Prints the hint on standard error after a deletion.
pub(super) fn print_restore_hint(hint: Option<&str>, output: &Output) {
    if let Some(hint) = hint {
        let _ = output.note(hint); // the object is deleted even if the hint cannot be written
    }
}

/// Returns the day until which an object that is deleted now can be restored; `None` if the deletion is
/// permanent.
fn restorable_until(days: i64) -> Option<jiff::civil::Date> {
    let retention = SignedDuration::from_hours(24_i64.checked_mul(days).filter(|_| days > 0)?);
    Some(clock::now().checked_add(retention).ok()?.to_zoned(TimeZone::UTC).date())
}

/// An action on several objects.
pub(super) struct Bulk {
    /// The action, for example `Redeliver`.
    pub(super) verb: &'static str,
    /// Name of one object, for example `delivery`.
    pub(super) noun: &'static str,
    pub(super) count: usize,
    /// Details to print before the confirmation, one per line: what is skipped, and the consequences.
    pub(super) details: Vec<String>,
    /// Whether the action deletes objects.
    pub(super) deletes: bool,
}

impl Bulk {
    /// `Redeliver 24 deliveries`
    fn title(&self) -> String {
        format!("{} {}", self.verb, counted(self.count, self.noun))
    }

    /// Prints a summary, and asks for confirmation unless `yes` is set.
    pub(super) async fn confirmed(&self, yes: bool, output: &Output) -> Result<(), Failure> {
        if yes {
            // A deletion prints its results afterwards.
            if !self.deletes && !output.format().quiet {
                let _ = output.note(&self.summary()); // a message may get lost
            }
            return Ok(());
        }
        if !prompt::is_possible() {
            return Err(Failure::Usage(format!("{}\nwithout a terminal, this requires --yes", self.summary())));
        }
        let over = if self.deletes { Config::load(variable).ui.confirm_bulk_over.unwrap_or(1) } else { TYPED_ABOVE };
        let is_typed = self.count > over.min(TYPED_ABOVE);
        let answer = prompt::line(&self.question(is_typed)).await?;
        let agreed = if is_typed {
            answer.trim() == self.count.to_string()
        } else {
            matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
        };
        if agreed { Ok(()) } else { Err(Failure::Other("not confirmed; nothing was changed".to_owned())) }
    }

    fn summary(&self) -> String {
        self.details.iter().fold(self.title(), |text, detail| format!("{text}\n  {}", clean_line(detail)))
    }

    fn question(&self, is_typed: bool) -> String {
        let mut text = self.summary();
        let _ = if is_typed {
            write!(text, "\nType {} to confirm: ", self.count)
        } else {
            write!(text, "\nContinue? [y/N] ")
        };
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bulk_confirmation_shows_the_count_and_skipped_items() {
        let details = vec!["2 skipped: not attempted yet".to_owned()];
        let bulk = Bulk { verb: "Redeliver", noun: "delivery", count: 24, details, deletes: false };
        assert_eq!(
            bulk.question(true),
            "Redeliver 24 deliveries\n  2 skipped: not attempted yet\nType 24 to confirm: "
        );
        assert!(bulk.question(false).ends_with("\nContinue? [y/N] "));
    }
}
