//! The third pane: the user under the cursor, and the token or key under the cursor of the second pane.

use super::{UserPart, Users, token_rows};
use crate::ui::{screens::ThirdPane, times::Clock, user::UserSummary, view::Role, words};

pub(super) fn of(screen: &Users, clock: &Clock, room: u16) -> Option<ThirdPane> {
    let user = screen.selected_user()?;
    let line = |line: &str| (Role::Text, line.to_owned());
    let mut lines: Vec<(Role, String)> = facts(user, clock).lines().map(line).collect();
    let is_loaded = screen.part_of.as_deref() == Some(user.login());
    let part = match screen.part {
        UserPart::Tokens => {
            screen.tokens.list.current().map(|token| ("Token under the cursor", token_rows::details(token, clock)))
        }
        UserPart::Keys => screen.keys.list.current().map(|key| ("Key under the cursor", key.details(clock))),
    };
    if let Some((title, fields)) = part.filter(|_| is_loaded) {
        lines.extend([(Role::Text, String::new()), (Role::Title, title.to_owned())]);
        lines.extend(fields.lines().map(line));
    }
    Some(ThirdPane::text("User", lines, room))
}

/// Returns the fields of a user, one per line.
fn facts(user: &UserSummary, clock: &Clock) -> String {
    let switches = [
        (user.is_admin(), "administrator"),
        (user.is_restricted(), "restricted"),
        (!user.is_active(), "off"),
        (user.cannot_sign_in(), "cannot sign in"),
    ];
    let state: Vec<&str> = switches.into_iter().filter_map(|(is, word)| is.then_some(word)).collect();
    let stamp = |at: i64, none: &str| if at > 0 { clock.stamp_of(at) } else { none.to_owned() };
    words::fields([
        ("login", user.login().to_owned()),
        ("name", user.full_name().to_owned()),
        ("email", user.email().to_owned()),
        ("state", state.join(", ")),
        ("created", stamp(user.created(), "")),
        ("last login", stamp(user.last_login(), "never")),
    ])
}
