//! One delivery: what was sent, what came back, every try.

use farrier_common::api::DeliveryDetail;
use ratatui::{buffer::Buffer, layout::Rect};

use super::delivery_rows;
use crate::ui::{
    keymap::Action,
    view::{Role, rule, text, wrapped},
    words,
};

/// What of it is shown.
const PARTS: [&str; 4] = ["Summary", "Request", "Response", "Tries"];

/// A delivery being read.
#[derive(Debug, Default)]
pub(super) struct Inspector {
    pub(super) detail: Option<DeliveryDetail>,
    part: usize,
    top: usize,
    no_wrap: bool,
}

impl Inspector {
    /// Shows another delivery from its beginning.
    pub(super) fn show(&mut self, detail: DeliveryDetail) {
        let same = self.detail.as_ref().is_some_and(|old| old.delivery.guid == detail.delivery.guid);
        if !same {
            self.top = 0;
        }
        self.detail = Some(detail);
    }

    /// Carries out what a reader can do. Says whether it could.
    pub(super) fn act(&mut self, action: Action) -> bool {
        match action {
            Action::Down => self.top += 1,
            Action::Up => self.top = self.top.saturating_sub(1),
            Action::PageDown | Action::HalfDown => self.top += 10,
            Action::PageUp | Action::HalfUp => self.top = self.top.saturating_sub(10),
            Action::First => self.top = 0,
            Action::Last => self.top = usize::MAX / 2,
            Action::Wrap => self.no_wrap = !self.no_wrap,
            Action::NextPart | Action::PreviousPart => {
                let by = if action == Action::NextPart { 1 } else { PARTS.len() - 1 };
                (self.part, self.top) = ((self.part + by) % PARTS.len(), 0);
            }
            _ => return false,
        }
        self.top = self.top.min(self.lines(200).len().saturating_sub(1));
        true
    }

    fn lines(&self, room: u16) -> Vec<(Role, String)> {
        let Some(detail) = &self.detail else { return Vec::new() };
        let lines = match self.part {
            0 => summary(detail),
            1 => request(detail),
            2 => response(detail),
            _ => tries(detail),
        };
        if self.no_wrap {
            return lines;
        }
        let broken = lines.into_iter().flat_map(|(role, line)| {
            let parts = if line.is_empty() { vec![line] } else { wrapped(&line, room) };
            parts.into_iter().map(move |part| (role, part))
        });
        broken.collect()
    }

    pub(super) fn draw(&self, focused: bool, area: Rect, buf: &mut Buffer) {
        if area.height < 4 {
            return;
        }
        let row = |y: u16| Rect { y: area.y + y, height: 1, ..area };
        let Some(detail) = &self.detail else {
            text(buf, row(0), "no delivery is read", Role::Muted);
            return;
        };
        let delivery = &detail.delivery;
        let title = format!("{}   hook {}   {}", delivery.guid, delivery.hook_id, delivery_rows::event(delivery));
        text(buf, row(0), &title, Role::Title);
        let mut at = row(1);
        for (place, part) in PARTS.iter().enumerate() {
            let active = place == self.part;
            let label = if active { format!("[{part}]") } else { format!(" {part} ") };
            let used = text(buf, at, &label, if active && focused { Role::Selected } else { Role::Text }) + 1;
            at = Rect { x: at.x + used.min(at.width), width: at.width.saturating_sub(used), ..at };
        }
        rule(buf, row(2), "");
        let lines = self.lines(area.width);
        let below = Rect { y: area.y + 3, height: area.height - 3, ..area };
        let top = self.top.min(lines.len().saturating_sub(usize::from(below.height)));
        for ((role, line), y) in lines.iter().skip(top).zip(below.y..below.bottom()) {
            text(buf, Rect { y, height: 1, ..below }, line, *role);
        }
    }
}

type Lines = Vec<(Role, String)>;

fn summary(detail: &DeliveryDetail) -> Lines {
    let delivery = &detail.delivery;
    let result = delivery_rows::result(delivery);
    let mut lines = vec![
        (result.role, format!("result   {}", result.text)),
        (Role::Text, format!("answer   {}", delivery_rows::code(delivery).text)),
        (Role::Text, format!("tries    {}   began by {}", delivery.attempts, delivery.trigger)),
        (Role::Text, format!("target   {}", detail.url)),
        (Role::Text, format!("made     {}", words::stamp(&delivery.created_at))),
    ];
    if let Some(at) = &delivery.delivered_at {
        lines.push((
            Role::Text,
            format!("last     {}, {} ms", words::stamp(at), delivery_rows::millis(delivery.duration)),
        ));
    }
    if let Some(next) = &delivery.next_attempt_at {
        lines.push((Role::Warn, format!("next     {}   R tries now", words::stamp(next))));
    }
    if let Some(last) = detail.history.last().filter(|last| !last.error.is_empty()) {
        lines.push((Role::Error, format!("why      {}: {}", last.error_class, last.error)));
    }
    lines.push((Role::Text, String::new()));
    lines.extend(tries(detail));
    lines
}

fn headers(lines: &mut Lines, headers: &std::collections::BTreeMap<String, String>) {
    lines.extend(headers.iter().map(|(name, value)| (Role::Text, format!("{name}: {value}"))));
}

/// What the daemon shows of a request; its secrets are masked by it.
fn request(detail: &DeliveryDetail) -> Lines {
    let mut lines = vec![(Role::Title, format!("POST {}", detail.url))];
    headers(&mut lines, &detail.request.headers);
    lines.push((Role::Text, String::new()));
    if detail.request.payload.is_null() {
        lines.push((Role::Muted, "the payload is forgotten, or too large to be shown".to_owned()));
    } else {
        let body = body(detail);
        lines.extend(body.lines().map(|line| (Role::Text, line.to_owned())));
    }
    lines
}

/// The event as it was sent.
pub(super) fn body(detail: &DeliveryDetail) -> String {
    serde_json::to_string_pretty(&detail.request.payload).unwrap_or_default()
}

fn response(detail: &DeliveryDetail) -> Lines {
    if detail.delivery.status_code == 0 {
        return vec![(Role::Muted, "no answer came".to_owned())];
    }
    let code = delivery_rows::code(&detail.delivery);
    let mut lines = vec![(code.role, format!("HTTP {}", code.text))];
    headers(&mut lines, &detail.response.headers);
    lines.push((Role::Text, String::new()));
    lines.extend(detail.response.payload.lines().map(|line| (Role::Text, line.replace('\t', "    "))));
    if detail.response.truncated {
        lines.push((Role::Muted, "… the answer was longer".to_owned()));
    }
    lines
}

fn tries(detail: &DeliveryDetail) -> Lines {
    let tries = detail.history.iter().map(|one| {
        let (role, outcome) = match (one.status_code, one.error.as_str()) {
            (code @ 200..300, "") => (Role::Ok, code.to_string()),
            (0, error) => (Role::Error, error.to_owned()),
            (code, "") => (Role::Error, code.to_string()),
            (code, error) => (Role::Error, format!("{code} {error}")),
        };
        let time = words::clock(&one.started_at);
        (
            role,
            format!(
                "{:>3}  {time}  {:>6} ms  {}  {outcome}",
                one.number,
                delivery_rows::millis(one.duration),
                one.trigger
            ),
        )
    });
    let lines: Lines = tries.collect();
    if lines.is_empty() { vec![(Role::Muted, "not tried yet".to_owned())] } else { lines }
}
