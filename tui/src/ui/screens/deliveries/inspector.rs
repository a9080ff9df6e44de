//! State of the delivery inspector: the shown tab and how it is shown.

use farrier_common::api::DeliveryDetail;
use ratatui::{buffer::Buffer, layout::Rect};

use super::{changes, rows as delivery_rows, text::Body};
use crate::ui::screens::{
    ThirdPane, panes,
    text_scroll::{Lines, TextScroll},
};
use crate::{
    output::clean_line,
    ui::{
        delivery::{DeliveryId, DeliverySummary},
        keymap::Action,
        net::Request,
        place::ScreenPlace,
        times::Clock,
        view::{Role, fit_left, rule, text, width, wrapped},
        words,
        world::World,
    },
};

/// Names of the tabs.
const PARTS: [&str; 5] = ["Summary", "Request", "Response", "Changes", "Attempts"];
/// Indexes of the tabs. The changes compare the delivery with the previous one.
const REQUEST: usize = 1;
const RESPONSE: usize = 2;
const CHANGES: usize = 3;
const ATTEMPTS: usize = 4;

/// A delivery in the inspector.
#[derive(Debug, Default)]
pub(crate) struct Inspector {
    pub(super) detail: Option<DeliveryDetail>,
    /// The ID of a delivery, and the lines that compare it with the previous one.
    compared: Option<(i64, Lines)>,
    part: usize,
    no_wrap: bool,
    as_hex: bool,
    scroll: TextScroll,
    /// The row of a place, and the first line of its text, until the delivery is loaded.
    returning_to: Option<(String, usize)>,
}

impl Inspector {
    /// Shows another delivery from its beginning.
    pub(super) fn show(&mut self, detail: DeliveryDetail) {
        let same = self.detail.as_ref().is_some_and(|old| old.delivery.guid == detail.delivery.guid);
        if !same {
            self.scroll.restart();
            let row = format!("{:?}", DeliveryId::of(&detail.delivery.guid));
            if let Some((_, top)) = self.returning_to.take().filter(|(of, _)| *of == row) {
                self.scroll.scroll_to(top);
            }
        }
        self.detail = Some(detail);
    }

    /// Adds the shown tab and line to a place.
    pub(super) fn place(&self, place: ScreenPlace) -> ScreenPlace {
        let flag = |is_set: bool| if is_set { "yes" } else { "" };
        let part = if self.part == 0 { String::new() } else { self.part.to_string() };
        let place = ScreenPlace { top: self.scroll.first_line(), ..place };
        place.limited("part", part).limited("unwrapped", flag(self.no_wrap)).limited("bytes", flag(self.as_hex))
    }

    /// Returns to the tab and the line of a place, now or as soon as the delivery is loaded.
    pub(super) fn restore(&mut self, place: &ScreenPlace) {
        self.part = place.limit("part").parse().unwrap_or(0_usize).min(PARTS.len() - 1);
        (self.no_wrap, self.as_hex) = (!place.limit("unwrapped").is_empty(), !place.limit("bytes").is_empty());
        self.scroll.scroll_to(place.top);
        self.returning_to = place.list.row.clone().map(|row| (row, place.top));
    }

    /// Returns whether it shows the delivery with this GUID.
    pub(super) fn shows(&self, guid: &str) -> bool {
        self.detail.as_ref().is_some_and(|detail| detail.delivery.guid == guid)
    }

    /// Returns the request for the previous delivery, if the shown tab needs it.
    pub(super) fn wanted(&self) -> Option<Request> {
        let delivery = &self.detail.as_ref().filter(|_| self.part == CHANGES)?.delivery;
        let is_known = self.compared.as_ref().is_some_and(|(id, _)| *id == delivery.id);
        let hook = u64::try_from(delivery.hook_id).ok()?;
        let (event, repository, id) = (delivery.event.clone(), delivery.repository_id, delivery.id);
        (!is_known).then_some(Request::PreviousDelivery { hook, event, repository, id })
    }

    /// Compares the delivery `id` with the previous one, if it is still shown.
    pub(super) fn compare(&mut self, id: i64, previous: Result<Option<&DeliveryDetail>, &str>, clock: &Clock) {
        if let Some(detail) = self.detail.as_ref().filter(|detail| detail.delivery.id == id) {
            let lines = match previous {
                Ok(previous) => changes::compared(detail, previous, clock),
                Err(why) => vec![(Role::Error, why.to_owned())],
            };
            self.compared = Some((id, lines));
        }
    }

    /// Describes when the daemon tries the delivery again.
    pub(super) fn next_try(&self, clock: &Clock) -> Option<String> {
        let next = self.detail.as_ref()?.delivery.next_attempt_at.as_ref()?;
        Some(format!("retry at {} - R now", clock.time(next)))
    }

    /// Searches in the shown tab.
    pub(super) fn search(&mut self, text: &str, clock: &Clock) {
        let lines = self.lines(self.scroll.cells(), clock);
        self.scroll.search(text, &lines);
    }

    pub(super) fn searched(&self) -> &str {
        self.scroll.searched()
    }

    /// Removes the search. Returns whether there was one.
    pub(super) fn forget_search(&mut self) -> bool {
        self.scroll.forget_search()
    }

    /// Carries out an action. Returns whether the action belongs to the inspector.
    pub(super) fn act(&mut self, action: Action, clock: &Clock) -> bool {
        match action {
            Action::Wrap => self.no_wrap = !self.no_wrap,
            Action::Hex => self.as_hex = !self.as_hex,
            Action::NextPart | Action::PreviousPart | Action::Part(_) => {
                let part = match action {
                    Action::Part(at) => at,
                    Action::NextPart => self.part + 1,
                    _ => self.part + PARTS.len() - 1,
                };
                self.part = part % PARTS.len();
                self.scroll.restart();
            }
            action => {
                let lines = self.lines(self.scroll.cells(), clock);
                return self.scroll.act(action, &lines);
            }
        }
        let lines = self.lines(self.scroll.cells(), clock);
        self.scroll.clamp(&lines);
        true
    }

    fn lines(&self, room: u16, clock: &Clock) -> Lines {
        let Some(detail) = &self.detail else { return Vec::new() };
        let lines = self.part(detail, room, clock);
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
            REQUEST => Some(super::text::body(detail)),
            RESPONSE => super::text::as_text(&super::text::response_bytes(detail)).map(str::to_owned),
            _ => None,
        };
        let lines: Vec<String> = match body.filter(|body| !body.is_empty() && !self.as_hex) {
            Some(body) => body.lines().map(str::to_owned).collect(),
            None => self.part(detail, u16::MAX, clock).into_iter().map(|(_, line)| line).collect(),
        };
        // Control characters are removed: the sender must not control the terminal, even if the pager passes them.
        Some(lines.iter().map(|line| clean_line(&line.replace('\t', "    ")).into_owned() + "\n").collect())
    }

    /// Returns the lines of the shown tab, not wrapped.
    fn part(&self, detail: &DeliveryDetail, room: u16, clock: &Clock) -> Lines {
        match self.part {
            0 => super::text::summary(detail, clock),
            REQUEST => super::text::request(detail, self.body(room)),
            RESPONSE => super::text::response(detail, self.body(room)),
            CHANGES => match &self.compared {
                Some((id, lines)) if *id == detail.delivery.id => lines.clone(),
                _ => vec![(Role::Muted, "loading …".to_owned())],
            },
            _ => super::text::tries(detail, clock),
        }
    }

    /// Returns the third pane: the part of the delivery that is most useful beside the shown tab. The headings are the
    /// names of the tabs.
    pub(super) fn third_pane(&self, is_loaded: bool, room: u16, clock: &Clock) -> ThirdPane {
        let beside = match self.part {
            RESPONSE => REQUEST,
            CHANGES => ATTEMPTS,
            _ => RESPONSE,
        };
        let Some(detail) = self.detail.as_ref().filter(|_| is_loaded) else {
            return ThirdPane::loading(PARTS[beside]);
        };
        let lines = match beside {
            REQUEST => super::text::request(detail, self.body(room)),
            RESPONSE => super::text::response(detail, self.body(room)),
            _ => super::text::tries(detail, clock),
        };
        // The list and the second pane show the failure in red.
        let quiet = |(role, line): (Role, String)| (if role == Role::Error { Role::Text } else { role }, line);
        let broken = lines
            .into_iter()
            .map(quiet)
            .flat_map(|(role, line)| wrap_aligned(&line, room).into_iter().map(move |part| (role, part)));
        ThirdPane::text(PARTS[beside], broken.collect(), room)
    }

    fn body(&self, room: u16) -> Body {
        Body { as_hex: self.as_hex, wraps: !self.no_wrap, room }
    }

    /// Returns the position, for example `line 5/41   2 of 7 with error`.
    pub(super) fn status(&self, clock: &Clock) -> String {
        self.scroll.status(&self.lines(self.scroll.cells(), clock))
    }

    pub(super) fn draw(&self, focused: bool, world: &World, area: Rect, buf: &mut Buffer) {
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
        let brief = DeliverySummary::of(delivery);
        let title = |guid: &str| format!("{guid}   hook {}   {}   {about}", brief.hook, delivery_rows::event(&brief));
        let full = title(&delivery.guid);
        let short = || title(delivery.guid.split('-').next().unwrap_or_default());
        text(buf, row(0), &if width(&full) <= area.width { full } else { short() }, Role::Title);
        let left = panes::tabs(PARTS, self.part, focused, &world.tabs, row(1), buf);
        let (answer, role) = outcome(&brief);
        let lines = self.lines(area.width, &world.clock);
        // A tab that shows the error in red has no other red text about it.
        let is_red_below = lines.iter().any(|(role, _)| *role == Role::Error);
        if left.width > width(&answer) {
            fit_left(buf, row(1), &answer, if is_red_below { Role::Text } else { role });
        }
        rule(buf, row(2), "");
        let below = Rect { y: area.y + 3, height: area.height - 3, ..area };
        self.scroll.draw(&lines, below, buf);
    }
}

/// Formats the result as `500 in 612 ms  try 2`.
fn outcome(delivery: &DeliverySummary) -> (String, Role) {
    let code = delivery_rows::code(delivery);
    if delivery.delivered().is_none() {
        return ("no attempts yet".to_owned(), Role::Muted);
    }
    let millis = words::count(delivery.millis());
    (
        format!("{} in {millis} ms  attempt {}", code.text, delivery.attempts),
        delivery_rows::state_role(delivery.state()),
    )
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
