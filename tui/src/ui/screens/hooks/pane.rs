//! Draws the details of one hook.

use ratatui::{buffer::Buffer, layout::Rect};

use super::rows as hook_rows;
use crate::ui::screens::{ThirdPane, deliveries::rows as delivery_rows};
use crate::ui::{
    delivery::DeliverySummary,
    hook::HookSummary,
    times::Clock,
    view::{LinePart, Role, pad, parts, rule, text, wrapped},
    words,
    world::World,
};

/// Returns the details of a hook.
fn facts(hook: &HookSummary, rows: &[DeliverySummary], world: &World) -> Vec<(Role, &'static str, String)> {
    let set = |is: bool| if is { "set" } else { "none" };
    let branches = if hook.branch_filter().is_empty() { "all" } else { hook.branch_filter() };
    let mut facts = vec![
        (Role::Text, "url", hook.url().to_owned()),
        (Role::Text, "type", format!("{}   content {}   branches {branches}", hook.hook_type(), hook.content_type())),
        (Role::Text, "events", hook_rows::events(hook)),
        (
            Role::Text,
            "secret",
            format!("{}   auth header {}", set(hook.has_secret()), set(hook.has_authorization_header())),
        ),
    ];
    if let Some(at) = hook.last_attempt() {
        let status = if hook.last_status() == 0 { "no response".to_owned() } else { hook.last_status().to_string() };
        let is_retried = rows.first().is_some_and(|row| row.state() == "pending");
        let role = match hook.last_status() {
            200..300 => Role::Ok,
            _ if is_retried => Role::Warn,
            _ => Role::Error,
        };
        facts.push((
            role,
            "last",
            format!("{status}, {} ago, {} failed in a row", world.clock.since(at), hook.failures()),
        ));
    }
    facts.extend(health(rows).map(|(role, text)| (role, "health", text)));
    if let Some(next) = rows.iter().filter_map(DeliverySummary::next_attempt).min() {
        facts.push((Role::Warn, "next", format!("{}   R redelivers failed ones now", world.clock.time_of(next))));
    }
    if let Some(from) = hook.copied_from() {
        facts.push((Role::Text, "from", format!("a copy of default hook {from}")));
    }
    if !hook.disabled_reason().is_empty() {
        facts.push((Role::Error, "off", hook.disabled_reason().to_owned()));
    }
    if let Some(warning) = hook.warning() {
        facts.push((Role::Warn, "warning", warning.to_owned()));
    }
    facts.push((
        Role::Muted,
        "changed",
        format!("{} ago   created {}", world.clock.age_from(hook.updated()), world.clock.stamp_of(hook.created())),
    ));
    facts
}

/// Summarises the recent attempts: `22 of the last 50 failed   p50 41 ms   p99 380 ms`.
fn health(rows: &[DeliverySummary]) -> Option<(Role, String)> {
    let tried: Vec<&DeliverySummary> = rows.iter().filter(|row| row.attempts > 0).collect();
    let failed = tried.iter().filter(|row| row.state() != "success").count();
    let mut millis: Vec<i64> = tried.iter().filter(|row| row.status_code > 0).map(|row| row.millis()).collect();
    millis.sort_unstable();
    let many = tried.len();
    let word = match failed {
        _ if many == 0 => return None,
        0 => format!("the last {many} arrived"),
        failed => format!("{failed} of the last {many} failed"),
    };
    let at = |percent: usize| millis.get((millis.len() * percent / 100).min(millis.len().saturating_sub(1)));
    let times = at(50).zip(at(99)).map_or_else(String::new, |(half, most)| {
        format!("   p50 {} ms   p99 {} ms", words::count(*half), words::count(*most))
    });
    // The last delivery and the list below are highlighted already.
    Some((if failed == 0 { Role::Ok } else { Role::Text }, word + &times))
}

/// Draws a hook in detail. Returns the row below.
pub(super) fn draw(hook: &HookSummary, rows: &[DeliverySummary], world: &World, area: Rect, buf: &mut Buffer) -> u16 {
    let on = if hook.is_active() { "on" } else { "off" };
    let owner = Some(hook.owner()).filter(|owner| *owner != "-").unwrap_or_default();
    let id = format!("hook {}", hook.id);
    let names = [id.as_str(), hook_rows::kind(hook), owner, on, hook.name()];
    let title: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
    text(buf, Rect { height: 1, ..area }, &title.join("   "), Role::Title);
    let mut y = area.y + 1;
    for (role, name, value) in facts(hook, rows, world) {
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

/// Heading of the most recent deliveries.
const RECENT: &str = "Last deliveries (Enter shows them)";

/// Draws the most recent deliveries of the hook.
pub(super) fn recent(rows: &[DeliverySummary], clock: &Clock, area: Rect, buf: &mut Buffer) {
    if area.height < 2 {
        return;
    }
    rule(buf, Rect { height: 1, ..area }, RECENT);
    for (line, y) in recent_lines(rows, clock).iter().zip(area.y + 1..area.bottom()) {
        parts(buf, Rect { y, height: 1, ..area }, line);
    }
}

/// Returns the third pane: the most recent deliveries. `None`: they are not loaded yet.
pub(super) fn third_pane(rows: Option<&[DeliverySummary]>, clock: &Clock) -> ThirdPane {
    match rows {
        None => ThirdPane::loading(RECENT),
        Some([]) => ThirdPane::note(RECENT, "No deliveries yet."),
        Some(rows) => ThirdPane::of(RECENT, recent_lines(rows, clock)),
    }
}

fn recent_lines(rows: &[DeliverySummary], clock: &Clock) -> Vec<Vec<LinePart>> {
    let mut before = String::new();
    let mut lines = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        let (code, result) = (delivery_rows::code(row), delivery_rows::result(row, clock));
        let time = row.delivered().unwrap_or(row.created());
        let event = pad(&delivery_rows::event(row), 14);
        let what = format!("{}  {event} {:>4}  ", clock.time_of(time), code.text);
        // Only the newest of several equal failures is red, and the details show that of the last delivery.
        let is_shown = at == 0 || before == result.text;
        let role = if result.role == Role::Error && is_shown { Role::Text } else { result.role };
        lines.push(vec![LinePart::Text(Role::Text, what), LinePart::Text(role, result.text.clone())]);
        before = result.text;
    }
    lines
}
