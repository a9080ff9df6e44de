//! Confirmation of changes that are large or cannot be undone.
//!
//! Enter alone never confirms: the focus is on Cancel, and for irreversible changes the name or the number of objects
//! must be typed before Enter. Keys that are pressed before the user can read the question are dropped.

use std::{cell::Cell, time::Duration};

use farrier_common::api::RecoveredDeliveries;
use ratatui::{
    buffer::Buffer,
    layout::{Position, Rect},
};

use super::Step;
use crate::{
    config::TYPED_ABOVE,
    ui::{
        key::Key,
        line::Line,
        net::{Answer, Problem, Request},
        times::Clock,
        view::{NARROW, Role, boxed, text, width, wrapped},
        world::{Cmd, World},
    },
};

/// Keys are dropped for this long after the question opened.
const DEAF: Duration = Duration::from_millis(250);

/// A confirmation dialog.
#[derive(Clone, Debug)]
pub(crate) struct Confirm {
    title: String,
    lines: Vec<String>,
    verb: &'static str,
    /// The label of the button that changes nothing.
    no: &'static str,
    /// The text that must be typed, and the input.
    typed: Option<(String, Line)>,
    on_verb: bool,
    opened: Duration,
    request: Request,
    /// Whether the request needs a connection to the daemon.
    remote: bool,
    /// A copy that can be saved before a deletion.
    copy: Option<Box<SafetyCopy>>,
    counting: Option<Box<Counting>>,
    /// Why it cannot be confirmed.
    off: Option<String>,
    /// Index of the first visible line of the text.
    top: Cell<usize>,
    /// Number of lines that were visible when it was last drawn: `PgUp` and `PgDn` scroll by this number.
    page: Cell<usize>,
    /// Whether the text has more lines than were visible when it was last drawn.
    is_cut: Cell<bool>,
}

/// A copy that can be saved first.
#[derive(Clone, Debug)]
struct SafetyCopy {
    request: Request,
    chosen: bool,
    focused: bool,
}

/// A count that is loaded while the question is open.
#[derive(Clone, Debug)]
struct Counting {
    request: Request,
    /// The line that shows the result.
    line: usize,
    /// Whether the question cannot be confirmed before the result is known.
    needed: bool,
}

impl Confirm {
    /// Returns a question that `y` confirms.
    pub(crate) fn simple(
        title: String,
        lines: Vec<String>,
        verb: &'static str,
        request: Request,
        world: &World,
    ) -> Self {
        Self {
            title,
            lines,
            verb,
            no: "Cancel",
            typed: None,
            on_verb: false,
            opened: world.now,
            request,
            remote: true,
            copy: None,
            counting: None,
            off: None,
            top: Cell::new(0),
            page: Cell::new(1),
            is_cut: Cell::new(false),
        }
    }

    /// Returns a question that `y` confirms, for a local action.
    pub(crate) fn local(
        title: String,
        lines: Vec<String>,
        verb: &'static str,
        request: Request,
        world: &World,
    ) -> Self {
        Self { remote: false, ..Self::simple(title, lines, verb, request, world) }
    }

    /// Returns a question that is confirmed by typing `word`.
    pub(crate) fn typed(
        title: String,
        lines: Vec<String>,
        verb: &'static str,
        word: String,
        request: Request,
        world: &World,
    ) -> Self {
        Self { typed: Some((word, Line::default())), ..Self::simple(title, lines, verb, request, world) }
    }

    /// Names the button that changes nothing, for a question about cancelling something: "Cancel" would have two
    /// meanings.
    #[must_use]
    pub(crate) fn or(self, no: &'static str) -> Self {
        Self { no, ..self }
    }

    /// Offers to save a copy first; the request is sent only after the copy is saved.
    #[must_use]
    pub(crate) fn with_copy(mut self, request: Request) -> Self {
        self.copy = Some(Box::new(SafetyCopy { request, chosen: false, focused: false }));
        self
    }

    /// Adds a line for the result of `request`.
    #[must_use]
    pub(crate) fn counting(self, request: Request) -> Self {
        self.count(request, false)
    }

    /// Adds a line for the result of `request`, which must be known before the question can be confirmed.
    #[must_use]
    pub(crate) fn after_counting(self, request: Request) -> Self {
        self.count(request, true)
    }

    fn count(mut self, request: Request, needed: bool) -> Self {
        let line = 1.min(self.lines.len());
        self.lines.insert(line, "Counting …".to_owned());
        self.counting = Some(Box::new(Counting { request, line, needed }));
        self
    }

    /// Returns the request for the count.
    pub(super) fn count_request(&self) -> Option<Request> {
        self.counting.as_ref().map(|counting| counting.request.clone())
    }

    /// Shows the result of a count.
    pub(crate) fn learn(&mut self, request: &Request, result: &Result<Answer, Problem>, clock: &Clock) {
        let Some(counting) = self.counting.take_if(|counting| counting.request == *request) else { return };
        let line = counting.line;
        let texts = match result {
            Ok(Answer::RepositoryCounts(facts)) => vec![facts.counts(), facts.last(clock)],
            Ok(Answer::Recoverable(found)) => self.set_counts(found),
            Ok(_) => return,
            Err(problem) => {
                if counting.needed {
                    self.off = Some("not counted".to_owned());
                }
                vec![problem.line().to_owned()]
            }
        };
        self.lines.splice(line..=line, texts.into_iter().filter(|line| !line.is_empty()));
    }

    /// Requires a large number to be typed; disables the question if there is nothing to send.
    fn set_counts(&mut self, found: &RecoveredDeliveries) -> Vec<String> {
        let count = found.count.saturating_add(found.retried);
        if count == 0 {
            self.off = Some("nothing to do".to_owned());
            return vec!["No delivery has failed or waits for a retry.".to_owned()];
        }
        if usize::try_from(count).is_ok_and(|count| count > TYPED_ABOVE) {
            self.typed = Some((count.to_string(), Line::default()));
            self.on_verb = false;
        }
        let line = |count: i64, one: &str, many: &str| match count {
            0 => String::new(),
            1 => format!("1 {one}"),
            _ => format!("{count} {many}"),
        };
        vec![
            line(found.count, "failed delivery is redelivered.", "failed deliveries are redelivered."),
            line(found.retried, "waiting delivery is retried now.", "waiting deliveries are retried now."),
        ]
    }

    /// Returns the request that is sent after confirmation.
    pub(crate) fn request(&self) -> &Request {
        &self.request
    }

    /// Returns the typed text, if printable keys are text.
    pub(super) fn typed_text(&self) -> Option<&str> {
        let on_copy = self.copy.as_ref().is_some_and(|copy| copy.focused);
        self.typed.as_ref().filter(|_| !on_copy).map(|(_, line)| line.text())
    }

    fn ready(&self) -> bool {
        self.typed.as_ref().is_none_or(|(word, line)| line.text() == word)
            && !self.counting.as_ref().is_some_and(|counting| counting.needed)
    }

    pub(super) fn key(&mut self, key: Key, world: &World) -> Step {
        if world.now.saturating_sub(self.opened) < DEAF {
            return Step::Stay;
        }
        // The next drawing limits the position.
        match key {
            Key::PageDown => {
                self.top.set(self.top.get().saturating_add(self.page.get()));
                return Step::Stay;
            }
            Key::PageUp => {
                self.top.set(self.top.get().saturating_sub(self.page.get()));
                return Step::Stay;
            }
            _ => {}
        }
        if let Some(copy) = &mut self.copy {
            match key {
                Key::Up | Key::Down => {
                    copy.focused = !copy.focused;
                    return Step::Stay;
                }
                Key::Char(' ') if copy.focused => {
                    copy.chosen = !copy.chosen;
                    return Step::Stay;
                }
                Key::Esc => {}
                // Leaves the line of the copy; only the next Enter confirms.
                Key::Enter if copy.focused => {
                    copy.focused = false;
                    return Step::Stay;
                }
                _ => copy.focused = false,
            }
        }
        match key {
            Key::Esc => return Step::Close,
            Key::Tab | Key::BackTab | Key::Up | Key::Down => self.on_verb = !self.on_verb,
            Key::Enter if !self.on_verb && self.typed.is_none() => return Step::Close,
            Key::Enter if self.enter_confirms() => return self.done(world),
            Key::Enter => {}
            Key::Char('y') if self.typed.is_none() => return self.done(world),
            Key::Char('n' | 'q') if self.typed.is_none() => return Step::Close,
            Key::Left | Key::Right if self.typed.is_none() => self.on_verb = !self.on_verb,
            key => {
                if let Some((_, line)) = &mut self.typed {
                    line.key(key);
                }
            }
        }
        Step::Stay
    }

    /// Returns whether Enter confirms now: the button has the focus, or the required text is complete.
    fn enter_confirms(&self) -> bool {
        self.on_verb || (self.typed.is_some() && self.ready())
    }

    fn off(&self, world: &World) -> Option<String> {
        self.off.clone().or_else(|| world.no_changes().filter(|_| self.remote))
    }

    fn done(&self, world: &World) -> Step {
        if self.ready() && self.off(world).is_none() {
            let first = self.copy.as_ref().filter(|copy| copy.chosen).map(|copy| copy.request.clone());
            Step::Then(vec![match first {
                Some(first) => Cmd::After(Box::new((first, self.request.clone()))),
                None => Cmd::Send(self.request.clone()),
            }])
        } else {
            Step::Stay
        }
    }

    pub(super) fn hints(&self) -> &'static [(&'static str, &'static str)] {
        match (&self.copy, &self.typed, self.is_cut.get()) {
            (Some(copy), ..) if copy.focused => &[("Space", "save a copy first"), ("Up", "back"), ("Esc", "cancel")],
            (Some(_), _, true) => {
                &[("Enter", "confirm"), ("PgDn", "more"), ("Down", "save a copy first"), ("Esc", "cancel")]
            }
            (Some(_), _, false) => &[("Enter", "confirm"), ("Down", "save a copy first"), ("Esc", "cancel")],
            (None, Some(_), true) => &[("Enter", "confirm"), ("PgDn", "more"), ("Esc", "cancel")],
            (None, Some(_), false) => &[("Enter", "confirm"), ("Esc", "cancel")],
            (None, None, true) => &[("y", "yes"), ("n", "no"), ("PgDn", "more"), ("Tab", "button"), ("Esc", "close")],
            (None, None, false) => &[("y", "yes"), ("n", "no"), ("Tab", "button"), ("Esc", "close")],
        }
    }

    pub(super) fn draw(&self, world: &World, body: Rect, buf: &mut Buffer) -> Option<Position> {
        let room = 60.min(body.width).saturating_sub(4);
        let mut lines: Vec<String> = self.lines.iter().flat_map(|line| wrapped(line, room)).collect();
        // Keep the word to type, its field and the buttons visible; scroll the text above them.
        let copied = u16::from(self.copy.is_some());
        let mut extra: u16 = if self.typed.is_some() { 6 + copied } else { 4 };
        // Without room for the whole text, it gets the blank row above the buttons and, if the field fits beside its
        // label, the row of the field.
        let is_cut = lines.len() > usize::from(body.height.saturating_sub(extra));
        let blank = u16::from(!is_cut);
        extra = extra.saturating_sub(1 - blank);
        let label = self.typed.as_ref().map(|(word, _)| format!("Type {word} to confirm:")).unwrap_or_default();
        let field = self.typed.as_ref().map_or(0, |(word, _)| width(word) + 4);
        let is_beside = is_cut && self.typed.is_some() && width(&label) + 1 + field <= room;
        extra -= u16::from(is_beside);
        let rows = usize::from(body.height.saturating_sub(extra)).max(1);
        self.page.set(rows);
        self.is_cut.set(lines.len() > rows);
        self.top.set(self.top.get().min(lines.len().saturating_sub(rows)));
        let below = lines.len() > self.top.get() + rows;
        lines = lines.into_iter().skip(self.top.get()).take(rows).collect();
        // Without room for the sign, the hint in the last row remains.
        if let Some(last) = lines.last_mut().filter(|last| below && width(last) + 2 <= room) {
            last.push_str(" …");
        }
        let extra = extra - u16::from(self.typed.is_some()) - copied;
        if let Some(copy) = &self.copy {
            let sign = if copy.chosen { "[x]" } else { "[ ]" };
            let cursor = if copy.focused { ">" } else { " " };
            lines.push(format!("{cursor}{sign} Save {} first", copy.request.file().unwrap_or_default()));
        }
        if self.typed.is_some() {
            lines.push(label.clone());
        }
        let high = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(extra);
        let inner = boxed(buf, body, 60, high, &self.title);
        let mut y = inner.y;
        let row = |y: u16| Rect { y, height: 1, ..inner };
        for line in &lines {
            text(buf, row(y), line, Role::Text);
            y += 1;
        }
        let mut cursor = None;
        if let Some((word, line)) = &self.typed {
            let (before, most) = if is_beside {
                y -= 1;
                (width(&label) + 1, inner.width.saturating_sub(width(&label) + 1))
            } else {
                (0, inner.width)
            };
            let wide = (width(word) + 4).clamp(20, most.max(20)).min(most);
            let (shown, at) = line.window(wide.saturating_sub(3));
            let area = Rect { x: inner.x + before, width: most, ..row(y) };
            text(buf, area, &format!("[{shown:<0$}]", usize::from(wide.saturating_sub(2))), Role::Key);
            let elsewhere = self.on_verb || self.copy.as_ref().is_some_and(|copy| copy.focused);
            cursor = (!elsewhere).then_some(Position { x: area.x + 1 + at, y });
            y += 1;
        }
        y += blank;
        self.buttons(world, row(y), buf);
        cursor
    }

    fn buttons(&self, world: &World, row: Rect, buf: &mut Buffer) {
        // The mark is on the button that Enter presses.
        let confirms = self.enter_confirms();
        let cancel = if confirms { format!("[ {} ]", self.no) } else { format!("[>{}<]", self.no) };
        let verb = if confirms { format!("[>{}<]", self.verb) } else { format!("[ {} ]", self.verb) };
        let (indent, gap) = if row.width < NARROW { ("", "  ") } else { ("      ", "    ") };
        let used = text(buf, row, &format!("{indent}{cancel}"), if confirms { Role::Text } else { Role::Key });
        let rest = Rect { x: row.x + used, width: row.width.saturating_sub(used), ..row };
        let note = match (self.off(world), self.ready(), &self.typed) {
            (Some(why), ..) => format!("  ({why})"),
            (None, false, _) => "  (not yet)".to_owned(),
            (None, true, Some(_)) => String::new(),
            (None, true, None) => "   y / n".to_owned(),
        };
        // A cut label is worse than a missing note, except for the reason why it cannot be confirmed.
        let fits = width(gap) + width(&verb) + width(&note) <= rest.width;
        let note = if fits || self.off(world).is_some() { &note } else { "" };
        let role = if self.ready() { Role::Error } else { Role::Muted };
        text(buf, rest, &format!("{gap}{verb}{note}"), role);
    }
}
