//! Writes results to standard output and messages to standard error.
//!
//! Results have one of four formats. If standard output is closed, the program ends without an error. Control
//! characters in text from the daemon are never written to a terminal.

mod clean;
mod live_page;
mod style;
mod table;

use std::{
    fmt::{Display, Write as _},
    io::{self, IsTerminal as _, Write as _},
    sync::{Mutex, PoisonError},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

pub(crate) use self::{
    clean::{line as clean_line, lines as clean_lines},
    live_page::LivePage,
    style::{moment, time},
    table::Table,
};
use crate::{
    args::{Format, Global},
    exit::Failure,
    ui::ColorMode,
};

/// The schema number of JSON documents. Increased when a field is removed or changes its meaning.
const SCHEMA: u8 = 1;

/// Largest captured output, bytes.
const CAPTURED_MAX_BYTES: usize = 512 << 10;

/// Writes results and messages.
#[derive(Debug)]
pub(crate) struct Output {
    format: Format,
    stdout_is_terminal: bool,
    stderr_is_terminal: bool,
    /// The results and messages so far, if they are not written to the standard streams.
    captured: Option<Mutex<String>>,
}

#[derive(Serialize)]
struct Document<'a, T> {
    schema: u8,
    #[serde(flatten)]
    body: &'a T,
}

impl Output {
    pub(crate) fn new(global: &Global, color: Option<ColorMode>) -> Self {
        style::decide(global.format.time, color);
        Self {
            format: global.format,
            stdout_is_terminal: io::stdout().is_terminal(),
            stderr_is_terminal: io::stderr().is_terminal(),
            captured: None,
        }
    }

    /// Returns an output that keeps results and messages as plain text. A result that is longer than
    /// [`CAPTURED_MAX_BYTES`] is cut, and the command that writes it gets [`Failure::Closed`].
    pub(crate) fn captured(format: Format) -> Self {
        // As on a terminal, for people: control characters are removed, and JSON has lines.
        Self { format, stdout_is_terminal: true, stderr_is_terminal: false, captured: Some(Mutex::default()) }
    }

    /// Returns the captured text, and removes it here.
    pub(crate) fn take_captured(&self) -> String {
        let text = self.captured.as_ref().map(|text| text.lock().unwrap_or_else(PoisonError::into_inner));
        text.map(|mut text| std::mem::take(&mut *text)).unwrap_or_default()
    }

    /// Writes to standard output, or captures the text.
    fn write(&self, text: &str) -> Result<(), Failure> {
        if self.captured.is_some() { self.capture(text) } else { write(text) }
    }

    fn capture(&self, text: &str) -> Result<(), Failure> {
        let Some(captured) = &self.captured else { return Ok(()) };
        let mut captured = captured.lock().unwrap_or_else(PoisonError::into_inner);
        if captured.len() > CAPTURED_MAX_BYTES {
            return Err(Failure::Closed);
        }
        let text = style::plain(text);
        let room = CAPTURED_MAX_BYTES.saturating_sub(captured.len());
        let end = text.floor_char_boundary(room);
        captured.push_str(&text[..end]);
        if end < text.len() {
            captured.push_str("\n... The rest is left out; --limit N shows fewer rows.\n");
            return Err(Failure::Closed);
        }
        if !text.is_empty() && !text.ends_with('\n') {
            captured.push('\n');
        }
        Ok(())
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// Writes an object: as JSON, as its id, or as `text` for people.
    pub(crate) fn object<T: Serialize>(
        &self,
        object: &T,
        id: &str,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        self.formatted(object, id).unwrap_or_else(|| self.text(&text()))
    }

    /// Writes an object like [`Self::object`]; `text` consists of tables, [`fields`] and cleaned text, and has colors.
    pub(crate) fn page<T: Serialize>(
        &self,
        object: &T,
        id: &str,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        self.formatted(object, id).unwrap_or_else(|| self.table(&text()))
    }

    /// Writes an object in the formats for programs; returns `None` if the output is for people.
    fn formatted<T: Serialize>(&self, object: &T, id: &str) -> Option<Result<(), Failure>> {
        if self.format.json || self.format.jsonl {
            return Some(self.json(&Document { schema: SCHEMA, body: object }));
        }
        self.format.quiet.then(|| self.text(id))
    }

    /// Writes `value` as a JSON document without a schema number.
    pub(crate) fn exact(&self, value: &impl Serialize) -> Result<(), Failure> {
        self.json(value)
    }

    fn json(&self, value: &impl Serialize) -> Result<(), Failure> {
        let pretty = self.stdout_is_terminal && !self.format.jsonl;
        let serialized = if pretty { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
        let text = serialized.map_err(|error| Failure::Other(format!("the result has no JSON form: {error}")))?;
        // JSON escapes all other control characters.
        self.write(&clean::json(&text))
    }

    /// Writes a rendered table or page, which may have colors.
    pub(crate) fn table(&self, text: &str) -> Result<(), Failure> {
        if self.stdout_is_terminal { self.write(&clean::styled(text)) } else { self.write(text) }
    }

    /// Writes text for people. It may contain text from the daemon.
    pub(crate) fn text(&self, text: &str) -> Result<(), Failure> {
        if self.stdout_is_terminal { self.write(&clean::lines(text)) } else { self.write(text) }
    }

    /// Writes bytes unchanged; to a terminal, as text without control characters.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        if self.stdout_is_terminal {
            return self.write(&clean::lines(&String::from_utf8_lossy(bytes)));
        }
        let mut stdout = io::stdout().lock();
        written(stdout.write_all(bytes).and_then(|()| stdout.flush()))
    }

    /// Returns a page that is updated in place; `None` without a terminal, and in the formats for programs.
    pub(crate) fn live_page(&self) -> Option<LivePage> {
        let for_people = !(self.format.json || self.format.jsonl || self.format.quiet);
        (self.stdout_is_terminal && self.captured.is_none() && for_people).then(LivePage::default)
    }

    /// Writes a message to standard error.
    pub(crate) fn note(&self, text: &str) -> io::Result<()> {
        if self.captured.is_some() {
            let _ = self.capture(&clean::lines(text)); // a message beyond the limit is lost
            return Ok(());
        }
        let text = if self.stderr_is_terminal { clean::lines(text) } else { text.into() };
        writeln!(io::stderr(), "{}", text.trim_end())
    }

    /// Writes an error to standard error.
    pub(crate) fn error(&self, failure: &Failure) -> io::Result<()> {
        self.note(&format!("farrier: {}", failure.report()))
    }

    /// Returns a progress bar on standard error that counts bytes; hidden without a terminal.
    pub(crate) fn progress(&self, what: &str, total: Option<u64>) -> ProgressBar {
        if !self.stderr_is_terminal || self.format.quiet {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
        let template = "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.with_message(clean_line(what).into_owned())
    }
}

fn write(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let done =
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.write_all(end.as_bytes())).and_then(|()| stdout.flush());
    written(done)
}

/// Converts the result of writing a result. A closed standard output is not reported as an error.
fn written(done: io::Result<()>) -> Result<(), Failure> {
    done.map_err(|source| match source.kind() {
        io::ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::io("writing the result", source),
    })
}

/// Fields with a state, which is colored.
const STATE_FIELDS: [&str; 2] = ["health", "state"];

/// Formats named values, one per line. Empty values are omitted.
pub(crate) fn fields(fields: &[(&str, String)]) -> String {
    let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let present = fields.iter().filter(|(_, value)| !value.is_empty());
    present.fold(String::new(), |mut text, (name, value)| {
        let value = clean_line(value);
        let value = if STATE_FIELDS.contains(name) { style::state(&value) } else { value.into_owned() };
        let _ = writeln!(text, "{name:width$}  {value}");
        text
    })
}

/// Returns `1 hook` or `7 hooks`. `noun`: in the singular.
pub(crate) fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    if count == N::from(1) { format!("1 {noun}") } else { format!("{count} {}", plural(noun)) }
}

/// Returns `hooks` for `hook`, and `deliveries` for `delivery`.
pub(crate) fn plural(noun: &str) -> String {
    let has_vowel = |stem: &str| stem.ends_with(['a', 'e', 'o', 'u']);
    match noun.strip_suffix('y') {
        Some(stem) if !has_vowel(stem) => format!("{stem}ies"),
        _ if ["ch", "sh", "s", "x"].iter().any(|end| noun.ends_with(end)) => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

/// Formats the difference of a clock: `+12 ms`, `-3.4 s`, `+10 min`.
pub(crate) fn clock_offset(ms: i64) -> String {
    let sign = if ms < 0 { '-' } else { '+' };
    match ms.unsigned_abs() {
        ms @ ..1_000 => format!("{sign}{ms} ms"),
        ms @ 1_000..60_000 => format!("{sign}{}.{} s", ms / 1_000, ms / 100 % 10),
        ms => format!("{sign}{} min", ms / 60_000),
    }
}

/// `1.5 MiB`
pub(crate) fn human_bytes(bytes: i64) -> String {
    let bytes = u64::try_from(bytes).unwrap_or_default();
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let power = (bytes.ilog2() / 10) as usize;
    let tenths = (u128::from(bytes) * 10) >> (10 * power);
    format!("{}.{} {}", tenths / 10, tenths % 10, units[power - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_formatted_with_binary_units() {
        let cases = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (8 << 20, "8.0 MiB"),
            (i64::MAX, "7.9 EiB"),
            (-1, "0 B"),
        ];
        for (bytes, text) in cases {
            assert_eq!(human_bytes(bytes), text);
        }
    }

    #[test]
    fn nouns_are_in_the_plural_unless_the_count_is_one() {
        assert_eq!((counted(1_i64, "delivery"), counted(1_usize, "branch")), ("1 delivery".into(), "1 branch".into()));
        let many =
            [("delivery", "deliveries"), ("deploy key", "deploy keys"), ("branch", "branches"), ("hook", "hooks")];
        for (one, expected) in many {
            assert_eq!(counted(0_i64, one), format!("0 {expected}"));
        }
    }

    #[test]
    fn the_difference_of_a_clock_has_a_sign_and_one_unit() {
        let cases = [(0, "+0 ms"), (-12, "-12 ms"), (3_450, "+3.4 s"), (-59_999, "-59.9 s"), (600_000, "+10 min")];
        for (ms, text) in cases {
            assert_eq!(clock_offset(ms), text);
        }
    }

    #[test]
    fn captured_output_has_no_control_characters_and_is_limited() {
        let output = Output::captured(Format::default());
        output.table(&style::painted("failed", "failed")).unwrap();
        output.text("a\u{1b}[2Jb").unwrap();
        output.note("a note").unwrap();
        assert_eq!(output.take_captured(), "failed\na\u{fffd}[2Jb\na note\n");
        let long = "\u{65e5}".repeat(CAPTURED_MAX_BYTES / 3 + 1);
        assert!(matches!(output.text(&long), Err(Failure::Closed)));
        let text = output.take_captured();
        assert!(text.len() < CAPTURED_MAX_BYTES + 100 && text.contains("The rest is left out"));
        assert_eq!(output.take_captured(), "", "the text was taken");
    }

    #[test]
    fn the_schema_is_the_first_field_of_a_json_document() {
        let body = serde_json::json!({"id": 7});
        let text = serde_json::to_string(&Document { schema: SCHEMA, body: &body }).unwrap();
        assert_eq!(text, r#"{"schema":1,"id":7}"#);
    }
}
