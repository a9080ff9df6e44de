//! One hook in detail.

use farrier_common::api::{Delivery, Hook};
use ratatui::{buffer::Buffer, layout::Rect};

use super::{delivery_rows, hook_rows};
use crate::ui::{
    times::Clock,
    view::{Role, rule, text, wrapped},
    words,
    world::World,
};

/// What there is to say of a hook.
fn facts(hook: &Hook, world: &World) -> Vec<(Role, &'static str, String)> {
    let set = |is: bool| if is { "set" } else { "none" };
    let mut facts = vec![
        (Role::Text, "url", hook.url.clone()),
        (Role::Text, "type", format!("{}   content {}", hook.r#type, hook.content_type)),
        (Role::Text, "events", hook_rows::events(hook)),
        (
            Role::Text,
            "branches",
            if hook.branch_filter.is_empty() { "all".to_owned() } else { hook.branch_filter.clone() },
        ),
        (
            Role::Text,
            "secret",
            format!("{}   auth header {}", set(hook.has_secret), set(hook.has_authorization_header)),
        ),
    ];
    if let Some(at) = &hook.last_delivery_at {
        let status = if hook.last_status == 0 { "no answer".to_owned() } else { hook.last_status.to_string() };
        let role = if (200..300).contains(&hook.last_status) { Role::Ok } else { Role::Error };
        facts.push((
            role,
            "last",
            format!("{status}, {} ago, {} failed in a row", world.clock.since(words::seconds(at)), hook.failures),
        ));
    }
    if let Some(from) = hook.copied_from {
        facts.push((Role::Text, "from", format!("a copy of default hook {from}")));
    }
    if !hook.disabled_reason.is_empty() {
        facts.push((Role::Error, "off", hook.disabled_reason.clone()));
    }
    if let Some(warning) = &hook.warning {
        facts.push((Role::Warn, "warning", warning.clone()));
    }
    facts.push((
        Role::Muted,
        "changed",
        format!("{}   made {}", world.clock.stamp(&hook.updated_at), world.clock.stamp(&hook.created_at)),
    ));
    facts
}

/// Draws a hook in detail. Answers the row below.
pub(super) fn draw(hook: &Hook, world: &World, area: Rect, buf: &mut Buffer) -> u16 {
    let on = if hook.active { "on" } else { "off" };
    text(
        buf,
        Rect { height: 1, ..area },
        &format!("hook {}   {}   {on}   {}", hook.id, hook_rows::kind(hook), hook.name),
        Role::Title,
    );
    let mut y = area.y + 1;
    for (role, name, value) in facts(hook, world) {
        for (at, part) in wrapped(&value, area.width.saturating_sub(11)).iter().enumerate() {
            if y >= area.bottom() {
                return y;
            }
            let line = Rect { y, height: 1, ..area };
            text(buf, line, if at == 0 { name } else { "" }, Role::Muted);
            text(
                buf,
                Rect { x: area.x + 10.min(area.width), width: area.width.saturating_sub(10), ..line },
                part,
                role,
            );
            y += 1;
        }
    }
    y
}

/// What the hook was sent last.
pub(super) fn recent(rows: &[Delivery], clock: &Clock, area: Rect, buf: &mut Buffer) {
    if area.height < 2 {
        return;
    }
    rule(buf, Rect { height: 1, ..area }, "Last deliveries (Enter shows them)");
    for (row, y) in rows.iter().zip(area.y + 1..area.bottom()) {
        let (code, result) = (delivery_rows::code(row), delivery_rows::result(row, clock));
        let at = row.delivered_at.as_deref().unwrap_or(&row.created_at);
        let line = format!("{}  {:<14} {:>4}  {}", clock.time(at), delivery_rows::event(row), code.text, result.text);
        text(buf, Rect { y, height: 1, ..area }, &line, code.role);
    }
}
