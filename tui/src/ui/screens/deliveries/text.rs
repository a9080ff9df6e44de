//! Formats a delivery as lines of text.

use std::fmt::Write as _;

use farrier_common::api::DeliveryDetail;

use super::rows as delivery_rows;
use crate::{
    quote,
    ui::{
        delivery::{DeliverySummary, millis},
        screens::text_scroll::Lines,
        times::Clock,
        view::Role,
        words,
    },
};

/// Headers that the `curl` command leaves out: the daemon sets them, or they need the secret.
const OWN_HEADERS: [&str; 5] = ["authorization", "content-length", "host", "connection", "accept-encoding"];

/// Returns the lines about the result of a delivery.
pub(super) fn summary(detail: &DeliveryDetail, clock: &Clock) -> Lines {
    let delivery = &detail.delivery;
    let brief = DeliverySummary::of(delivery);
    let result = delivery_rows::result(&brief, clock);
    let mut lines = vec![
        (result.role, format!("result   {}", result.text)),
        (Role::Text, format!("response {}", delivery_rows::code(&brief).text)),
        (Role::Text, format!("attempts {}   trigger {}", delivery_rows::tries(&brief), delivery.trigger)),
        (Role::Text, format!("target   {}", if detail.url.is_empty() { "-" } else { &detail.url })),
        (Role::Text, format!("created  {}", clock.stamp(&delivery.created_at))),
    ];
    if let Some(at) = &delivery.delivered_at {
        lines.push((Role::Text, format!("last     {}, {} ms", clock.stamp(at), brief.millis())));
    }
    if let Some(next) = &delivery.next_attempt_at {
        lines.push((Role::Warn, format!("next     {}   R redelivers now", clock.stamp(next))));
    }
    if let Some(last) = detail.history.last().filter(|last| !last.error.is_empty()) {
        let role = delivery_rows::state_role(&delivery.state);
        lines.push((role, format!("error    {}: {}", last.error_class, last.error)));
    }
    lines.push((Role::Text, String::new()));
    lines.extend(tries(detail, clock));
    red_once(&mut lines);
    lines
}

/// Keeps the color of the first error only: the lines after it are about the same problem.
fn red_once(lines: &mut Lines) {
    for (role, _) in lines.iter_mut().filter(|(role, _)| *role == Role::Error).skip(1) {
        *role = Role::Text;
    }
}

fn headers(lines: &mut Lines, headers: &std::collections::BTreeMap<String, String>) {
    lines.extend(headers.iter().map(|(name, value)| (Role::Text, format!("{name}: {value}"))));
}

/// Options for showing bodies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body {
    pub(super) as_hex: bool,
    pub(super) wraps: bool,
    /// Width for the lines of a hex dump, in cells.
    pub(super) room: u16,
}

impl Body {
    /// Returns the heading `── body 1 214 bytes, as text, wrap off ──`.
    fn head(self, bytes: &[u8]) -> (Role, String) {
        let size = words::counted(i64::try_from(bytes.len()).unwrap_or(i64::MAX), "byte");
        let wrap = if self.wraps { "on" } else { "off" };
        let form = match (self.as_hex, as_text(bytes)) {
            (true, _) => "as bytes".to_owned(),
            (false, Some(_)) => format!("as text, wrap {wrap}"),
            (false, None) => "as bytes because it is not text".to_owned(),
        };
        (Role::Muted, format!("── body {size}, {form} ──"))
    }
}

/// Returns a body as text, if it is text that a terminal can show.
pub(super) fn as_text(bytes: &[u8]) -> Option<&str> {
    let control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\x1b');
    std::str::from_utf8(bytes).ok().filter(|text| !text.chars().any(control))
}

/// Returns the response body as received.
pub(super) fn response_bytes(detail: &DeliveryDetail) -> Vec<u8> {
    detail.response.body_bytes()
}

/// Returns the request body; `None` if the daemon no longer stores it.
fn request_bytes(detail: &DeliveryDetail) -> Option<Vec<u8>> {
    let payload = &detail.request.payload;
    detail.request.body_bytes().or_else(|| (!payload.is_null()).then(|| payload.to_string().into_bytes()))
}

/// Returns the lines about the request. The daemon masks the secrets.
pub(super) fn request(detail: &DeliveryDetail, form: Body) -> Lines {
    let title = if detail.url.is_empty() { "not sent yet".to_owned() } else { format!("POST {}", detail.url) };
    let mut lines = vec![(Role::Title, title)];
    headers(&mut lines, &detail.request.headers);
    match request_bytes(detail) {
        None => lines.push((Role::Muted, "The payload was removed, or is too large to show.".to_owned())),
        Some(bytes) => {
            lines.push(form.head(&bytes));
            if form.as_hex || detail.request.payload.is_null() {
                shown(&mut lines, &bytes, form);
            } else {
                // The same values, one a line.
                shown(&mut lines, body(detail).as_bytes(), form);
            }
        }
    }
    lines
}

/// Returns the lines about the event payload.
pub(super) fn body(detail: &DeliveryDetail) -> String {
    serde_json::to_string_pretty(&detail.request.payload).unwrap_or_default()
}

/// Returns the lines about the response.
pub(super) fn response(detail: &DeliveryDetail, form: Body) -> Lines {
    if detail.delivery.status_code == 0 {
        let none = if detail.delivery.attempts == 0 { "no request sent yet" } else { "no response received" };
        return vec![(Role::Muted, none.to_owned())];
    }
    let code = delivery_rows::code(&DeliverySummary::of(&detail.delivery));
    let mut lines = vec![(code.role, format!("HTTP {}", code.text))];
    headers(&mut lines, &detail.response.headers);
    let bytes = response_bytes(detail);
    lines.push(form.head(&bytes));
    shown(&mut lines, &bytes, form);
    if detail.response.truncated {
        lines.push((Role::Muted, "… the response was truncated".to_owned()));
    }
    lines
}

/// Returns the lines about every attempt. An outcome equal to the previous one is abbreviated. Of the failed attempts,
/// only the last one has a color: that of the delivery's state.
pub(super) fn tries(detail: &DeliveryDetail, clock: &Clock) -> Lines {
    let mut before = String::new();
    let tries = detail.history.iter().enumerate().map(|(at, one)| {
        let failed =
            if at + 1 == detail.history.len() { delivery_rows::state_role(&detail.delivery.state) } else { Role::Text };
        let (role, outcome) = match (one.status_code, one.error.as_str()) {
            (code @ 200..300, "") => (Role::Ok, code.to_string()),
            (0, error) => (failed, error.to_owned()),
            (code, "") => (failed, code.to_string()),
            (code, error) => (failed, format!("{code} {error}")),
        };
        let time = clock.time(&one.started_at);
        let same = before == outcome && role != Role::Ok;
        let outcome = if same { "same result".to_owned() } else { outcome };
        if !same {
            before.clone_from(&outcome);
        }
        (role, format!("{:>3}  {time}  {:>6} ms  {}  {outcome}", one.number, millis(one.duration), one.trigger))
    });
    let lines: Lines = tries.collect();
    if lines.is_empty() { vec![(Role::Muted, "no attempts yet".to_owned())] } else { lines }
}

/// Formats a body as text if it is text, otherwise as a hex dump.
fn shown(lines: &mut Lines, body: &[u8], form: Body) {
    match as_text(body).filter(|_| !form.as_hex) {
        Some(text) => lines.extend(text.lines().map(|line| (Role::Text, line.replace('\t', "    ")))),
        None => lines.extend(hex_lines(body, form.room).map(|line| (Role::Text, line))),
    }
}

/// Formats as many bytes per line as fit into `room` cells, at most sixteen: offset, hex values, characters.
fn hex_lines(bytes: &[u8], room: u16) -> impl Iterator<Item = String> {
    // The offset, the blanks, and four cells per byte.
    let count = [16, 8].into_iter().find(|count| 11 + 4 * count <= usize::from(room)).unwrap_or(4);
    bytes.chunks(count).enumerate().map(move |(row, chunk)| {
        let hex: Vec<String> = chunk.iter().map(|byte| format!("{byte:02x}")).collect();
        let text: String =
            chunk.iter().map(|byte| if (b' '..=b'~').contains(byte) { char::from(*byte) } else { '.' }).collect();
        format!("{:08x}  {:<2$}  {text}", row * count, hex.join(" "), 3 * count - 1)
    })
}

/// Returns a `curl` command that sends the same request, without the headers that need the secret.
pub(super) fn curl(detail: &DeliveryDetail) -> String {
    let mut command = format!("curl -i -X POST {}", quote::shell(&detail.url));
    for (name, value) in &detail.request.headers {
        let lower = name.to_ascii_lowercase();
        if !OWN_HEADERS.contains(&lower.as_str()) && !lower.contains("signature") {
            let header = quote::shell(&format!("{name}: {value}"));
            let _ = write!(command, " \\\n  -H {header}");
        }
    }
    let body = if detail.request.payload.is_null() { String::new() } else { detail.request.payload.to_string() };
    command + " \\\n  --data-binary " + &quote::shell(&body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curl_command_omits_signatures_and_quotes_shell_characters() {
        let mut detail = DeliveryDetail { url: "https://h/x?a=1&b".into(), ..DeliveryDetail::default() };
        for (name, value) in [
            ("X-Hub-Signature-256", "sha256=00"),
            ("webhook-signature", "v1,00"),
            ("Authorization", "********"),
            ("X-GitHub-Event", "push"),
        ] {
            detail.request.headers.insert(name.into(), value.into());
        }
        detail.request.payload = serde_json::json!({"a": "it's"});
        let command = curl(&detail);
        assert_eq!(
            command,
            "curl -i -X POST 'https://h/x?a=1&b' \\\n  -H 'X-GitHub-Event: push' \\\n  --data-binary '{\"a\":\"it'\\''s\"}'"
        );
    }

    #[test]
    fn the_error_of_a_delivery_is_red_once_in_its_summary() {
        let mut detail = DeliveryDetail::default();
        detail.delivery.state = "failed".into();
        detail.delivery.attempts = 2;
        detail.history = (1..=2)
            .map(|number| farrier_common::api::DeliveryAttempt {
                number,
                error: format!("connection refused {number}"),
                error_class: "connect".into(),
                ..Default::default()
            })
            .collect();
        let clock = Clock::at(jiff::Timestamp::UNIX_EPOCH, crate::ui::times::Times::default());
        let red = |lines: &Lines| lines.iter().filter(|(role, _)| *role == Role::Error).count();
        assert_eq!(red(&summary(&detail, &clock)), 1, "{:?}", summary(&detail, &clock));
        assert_eq!(red(&tries(&detail, &clock)), 1, "only the last attempt is final");
        detail.delivery.state = "pending".into();
        for lines in [summary(&detail, &clock), tries(&detail, &clock)] {
            assert_eq!(red(&lines), 0, "a delivery that is tried again is not red: {lines:?}");
            assert!(lines.iter().any(|(role, _)| *role == Role::Warn), "{lines:?}");
        }
    }

    #[test]
    fn unsent_requests_and_missing_responses_are_labeled() {
        let form = Body { as_hex: false, wraps: true, room: 80 };
        let mut detail = DeliveryDetail::default();
        let first = |lines: Lines| lines[0].1.clone();
        assert_eq!(first(request(&detail, form)), "not sent yet");
        assert_eq!(first(response(&detail, form)), "no request sent yet");
        detail.delivery.attempts = 1;
        detail.url = "http://h/".into();
        assert_eq!(first(request(&detail, form)), "POST http://h/");
        assert_eq!(first(response(&detail, form)), "no response received");
    }

    #[test]
    fn bodies_that_are_not_printable_text_are_shown_as_bytes() {
        assert_eq!(as_text("größe\t1\r\n".as_bytes()), Some("größe\t1\r\n"));
        for binary in [&[0xff, 0xfe][..], b"a\0b", &[0xc3, 0x28], &[7]] {
            assert_eq!(as_text(binary), None, "{binary:?}");
        }
        let form = Body { as_hex: false, wraps: true, room: 80 };
        let mut lines = Lines::new();
        shown(&mut lines, &[0xff; 17], form);
        assert_eq!(lines.len(), 2);
        assert!(lines[0].1.starts_with("00000000  ff ff") && lines[1].1.starts_with("00000010  ff "), "{lines:?}");
        assert_eq!(form.head(&[0xff; 2_048]).1, "── body 2 048 bytes, as bytes because it is not text ──");
        assert_eq!(form.head(b"ok").1, "── body 2 bytes, as text, wrap on ──");
    }

    #[test]
    fn a_line_has_as_many_bytes_as_fit() {
        let lines: Vec<String> = hex_lines(b"0123456789abcdef\n", 75).collect();
        assert_eq!(lines[0], "00000000  30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  0123456789abcdef");
        assert_eq!(lines[1], format!("00000010  {:<47}  .", "0a"));
        let narrow: Vec<String> = hex_lines(b"0123456789abcdef\n", 74).collect();
        assert_eq!(narrow[1], "00000008  38 39 61 62 63 64 65 66  89abcdef");
        assert_eq!(hex_lines(b"01234567", 27).collect::<Vec<_>>()[1], "00000004  34 35 36 37  4567");
    }
}
