//! State of the delivery inspector: shown tab, scroll position and search.

use std::cell::Cell;

use farrier_common::api::{Delivery, DeliveryDetail};
use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::{Modifier, Style},
};

use super::{
    rows as delivery_rows,
    text::{Body, Lines},
};
use crate::ui::screens::panes;
use crate::{
    output::clean_line,
    ui::{
        keymap::Action,
        times::Clock,
        view::{self, Role, fit_left, rule, text, width, wrapped},
        words,
    },
};

/// Names of the tabs.
const PARTS: [&str; 4] = ["Summary", "Request", "Response", "Attempts"];

/// A delivery in the inspector.
#[derive(Debug, Default)]
pub(crate) struct Inspector {
    pub(super) detail: Option<DeliveryDetail>,
    part: usize,
    top: usize,
    no_wrap: bool,
    as_hex: bool,
    search: String,
    /// Index of the current match.
    found: usize,
    /// Width and height of the last drawing.
    room: Cell<(u16, u16)>,
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

    /// Returns whether it shows the delivery with this GUID.
    pub(super) fn shows(&self, guid: &str) -> bool {
        self.detail.as_ref().is_some_and(|detail| detail.delivery.guid == guid)
    }

    /// Describes when the daemon tries the delivery again.
    pub(super) fn next_try(&self, clock: &Clock) -> Option<String> {
        let next = self.detail.as_ref()?.delivery.next_attempt_at.as_ref()?;
        Some(format!("retry at {} - R now", clock.time(next)))
    }

    /// Searches in the shown tab.
    pub(super) fn search(&mut self, text: &str, clock: &Clock) {
        text.clone_into(&mut self.search);
        let lines = self.matching_lines(clock);
        self.found = lines.iter().position(|at| *at >= self.top).unwrap_or(0);
        self.go_to_found(clock);
    }

    pub(super) fn searched(&self) -> &str {
        &self.search
    }

    /// Removes the search. Returns whether there was one.
    pub(super) fn forget_search(&mut self) -> bool {
        !std::mem::take(&mut self.search).is_empty()
    }

    /// Carries out an action. Returns whether the action belongs to the inspector.
    pub(super) fn act(&mut self, action: Action, clock: &Clock) -> bool {
        let page = usize::from(self.room.get().1.max(2)) - 1;
        match action {
            Action::Down => self.top += 1,
            Action::Up => self.top = self.top.saturating_sub(1),
            Action::PageDown => self.top += page,
            Action::PageUp => self.top = self.top.saturating_sub(page),
            Action::HalfDown => self.top += page.div_ceil(2),
            Action::HalfUp => self.top = self.top.saturating_sub(page.div_ceil(2)),
            Action::First => self.top = 0,
            Action::Last => self.top = usize::MAX / 2,
            Action::Wrap => self.no_wrap = !self.no_wrap,
            Action::Hex => self.as_hex = !self.as_hex,
            Action::NextMatch | Action::PreviousMatch => self.next_match(action == Action::NextMatch, clock),
            Action::NextPart | Action::PreviousPart => {
                let by = if action == Action::NextPart { 1 } else { PARTS.len() - 1 };
                (self.part, self.top) = ((self.part + by) % PARTS.len(), 0);
            }
            _ => return false,
        }
        let (cells, rows) = self.room.get();
        let rows = usize::from(rows.max(1));
        self.top = self.top.min(self.lines(cells.max(20), clock).len().saturating_sub(rows));
        true
    }

    fn next_match(&mut self, forward: bool, clock: &Clock) {
        let many = self.matching_lines(clock).len();
        if many > 0 {
            self.found = (self.found + if forward { 1 } else { many - 1 }) % many;
            self.go_to_found(clock);
        }
    }

    fn go_to_found(&mut self, clock: &Clock) {
        let rows = usize::from(self.room.get().1.max(1));
        if let Some(at) = self.matching_lines(clock).get(self.found)
            && !(self.top..self.top + rows).contains(at)
        {
            self.top = at.saturating_sub(rows / 2);
        }
    }

    /// Returns the indexes of the lines that match the search.
    fn matching_lines(&self, clock: &Clock) -> Vec<usize> {
        if self.search.is_empty() {
            return Vec::new();
        }
        let search = self.search.to_lowercase();
        let lines = self.lines(self.room.get().0.max(20), clock);
        (0..lines.len()).filter(|at| lines[*at].1.to_lowercase().contains(&search)).collect()
    }

    fn lines(&self, room: u16, clock: &Clock) -> Lines {
        let Some(detail) = &self.detail else { return Vec::new() };
        let lines = self.part(detail, clock);
        if self.no_wrap {
            return lines;
        }
        let broken = lines
            .into_iter()
            .flat_map(|(role, line)| wrap_aligned(&line, room).into_iter().map(move |part| (role, part)));
        broken.collect()
    }

    /// Returns the text for the pager: the body of the shown tab if it has one, otherwise its lines.
    pub(super) fn paged(&self, clock: &Clock) -> Option<String> {
        let detail = self.detail.as_ref()?;
        let body = match self.part {
            1 => Some(super::text::body(detail)),
            2 => super::text::as_text(&super::text::response_bytes(detail)).map(str::to_owned),
            _ => None,
        };
        let lines: Vec<String> = match body.filter(|body| !body.is_empty() && !self.as_hex) {
            Some(body) => body.lines().map(str::to_owned).collect(),
            None => self.part(detail, clock).into_iter().map(|(_, line)| line).collect(),
        };
        // Control characters are removed: the sender must not control the terminal, even if the pager passes them.
        Some(lines.iter().map(|line| clean_line(&line.replace('\t', "    ")).into_owned() + "\n").collect())
    }

    /// Returns the lines of the shown tab, not wrapped.
    fn part(&self, detail: &DeliveryDetail, clock: &Clock) -> Lines {
        match self.part {
            0 => super::text::summary(detail, clock),
            1 => super::text::request(detail, self.body()),
            2 => super::text::response(detail, self.body()),
            _ => super::text::tries(detail, clock),
        }
    }

    fn body(&self) -> Body {
        Body { as_hex: self.as_hex, wraps: !self.no_wrap }
    }

    /// Returns the position, for example `line 5/41   2 of 7 with error`.
    pub(super) fn status(&self, clock: &Clock) -> String {
        let lines = self.lines(self.room.get().0.max(20), clock).len();
        let position = format!("line {}/{lines}", (self.top + 1).min(lines));
        if self.search.is_empty() {
            return position;
        }
        match self.matching_lines(clock).len() {
            0 => format!("{position}  no line has {}", self.search),
            many => format!("{position}  {} of {many} with {}", self.found.min(many - 1) + 1, self.search),
        }
    }

    pub(super) fn draw(&self, focused: bool, clock: &Clock, area: Rect, buf: &mut Buffer) {
        if area.height < 4 {
            return;
        }
        let row = |y: u16| Rect { y: area.y + y, height: 1, ..area };
        let Some(detail) = &self.detail else {
            text(buf, row(0), "no delivery is open", Role::Muted);
            return;
        };
        let delivery = &detail.delivery;
        let about = delivery.repository.as_deref().unwrap_or_default();
        let title =
            |guid: &str| format!("{guid}   hook {}   {}   {about}", delivery.hook_id, delivery_rows::event(delivery));
        let full = title(&delivery.guid);
        let short = || title(delivery.guid.split('-').next().unwrap_or_default());
        text(buf, row(0), &if width(&full) <= area.width { full } else { short() }, Role::Title);
        let left = panes::tabs(PARTS, self.part, focused, row(1), buf);
        let (answer, role) = outcome(delivery);
        if left.width > width(&answer) {
            fit_left(buf, row(1), &answer, role);
        }
        rule(buf, row(2), "");
        let below = Rect { y: area.y + 3, height: area.height - 3, ..area };
        self.room.set((below.width, below.height));
        let lines = self.lines(area.width, clock);
        let top = self.top.min(lines.len().saturating_sub(usize::from(below.height)));
        view::lines(buf, below, lines.iter().skip(top).take(usize::from(below.height)).cloned());
        for ((_, line), y) in lines.iter().skip(top).zip(below.y..below.bottom()) {
            self.underline(line, Rect { y, height: 1, ..below }, buf);
        }
    }

    /// Highlights the matches in a line.
    fn underline(&self, line: &str, area: Rect, buf: &mut Buffer) {
        let (lowercase, search) = (line.to_lowercase(), self.search.to_lowercase());
        if self.search.is_empty() || lowercase.len() != line.len() {
            // If lowercase letters take more bytes than capitals, positions in the two texts differ.
            return;
        }
        for (at, found) in lowercase.match_indices(&search) {
            let begin = width(&line[..at]);
            let matched = Rect { x: area.x.saturating_add(begin), width: width(found), ..area }.intersection(area);
            buf.set_style(matched, Style::new().add_modifier(Modifier::UNDERLINED | Modifier::BOLD));
        }
    }
}

/// Formats the result as `500 in 612 ms  try 2`.
fn outcome(delivery: &Delivery) -> (String, Role) {
    let code = delivery_rows::code(delivery);
    if delivery.delivered_at.is_none() {
        return ("no attempts yet".to_owned(), code.role);
    }
    let millis = words::count(delivery_rows::millis(delivery.duration));
    (format!("{} in {millis} ms  attempt {}", code.text, delivery.attempts), code.role)
}

/// Splits a line into parts of at most `room` cells. Continuation parts are aligned with the value.
fn wrap_aligned(line: &str, room: u16) -> Vec<String> {
    if width(line) <= room {
        return vec![line.to_owned()];
    }
    // Values begin behind two blanks or more.
    let begins = line.match_indices("  ").map(|(at, _)| at + 2).filter(|at| *at <= usize::from(room) / 2).last();
    let begin = begins.map_or(0, |at| at + line[at..].len() - line[at..].trim_start_matches(' ').len());
    let (name, value) = line.split_at(begin);
    let hang = width(name);
    let parts = wrapped(value, room.saturating_sub(hang).max(1));
    let below = " ".repeat(usize::from(hang));
    parts.iter().enumerate().map(|(at, part)| format!("{}{part}", if at == 0 { name } else { &below })).collect()
}

#[cfg(test)]
mod tests {
    use super::wrap_aligned;

    #[test]
    fn long_lines_wrap_with_continuations_aligned_to_the_value() {
        let line = "why      connect: connection refused";
        assert_eq!(wrap_aligned(line, 40), [line]);
        assert_eq!(wrap_aligned(line, 28), ["why      connect: connection", "         refused"]);
        assert_eq!(wrap_aligned("    \"key\": \"a b\"", 12), ["    \"key\":", "    \"a b\""]);
        assert_eq!(wrap_aligned("x-name: 12345", 8), ["x-name:", "12345"]);
        for room in 1..40 {
            let full: String = wrap_aligned(line, room).concat().split_whitespace().collect();
            assert_eq!(full, "whyconnect:connectionrefused", "{room}");
        }
    }
}
