//! Downloads and archives of this session, which end with the program.
//!
//! Owns the progress and rate of each; the network module transfers the bytes. Part files of artifacts stay when a
//! download is stopped, and the next download resumes them.

use std::{collections::VecDeque, time::Duration};

use ratatui::{buffer::Buffer, layout::Rect};

use super::{
    net::{Answer, Problem, ProblemKind, Request},
    view::{LinePart, Role, parts, rule},
    words,
};
use crate::{output::human_bytes, progress};

/// The time over which rates are averaged.
const WINDOW: Duration = Duration::from_secs(5);
/// Width of a progress bar, in cells.
const BAR: u16 = 10;
/// Before this time no estimate is shown.
const SURE_AFTER: Duration = Duration::from_secs(2);

/// One download or archive.
#[derive(Clone, Debug)]
struct Transfer {
    request: Request,
    name: String,
    have: u64,
    /// `None` for content that is generated while it is sent.
    size: Option<u64>,
    began: Duration,
    samples: VecDeque<(Duration, u64)>,
    /// The path of the saved file, or the error.
    ended: Option<Result<String, String>>,
}

/// All transfers, the oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transfers(Vec<Transfer>);

/// A running task for a line with a progress bar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProgressLine {
    pub(crate) what: &'static str,
    pub(crate) name: String,
    /// Done and total; `None` if the total is unknown.
    pub(crate) share: Option<(i64, i64)>,
    pub(crate) note: String,
}

/// A notice about a response.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TransferNotice {
    Saved(String),
    Failed(String),
    /// A file of that name exists and must not be overwritten.
    Exists,
}

impl Transfers {
    /// Starts a transfer. An earlier failure of the same file is removed.
    pub(crate) fn begin(&mut self, request: &Request, name: String, now: Duration) {
        self.0.retain(|one| one.name != name || !matches!(one.ended, Some(Err(_))));
        self.0.push(Transfer {
            request: request.clone(),
            name,
            have: 0,
            size: None,
            began: now,
            samples: VecDeque::new(),
            ended: None,
        });
    }

    /// Handles a response. Returns a notice if the response belongs to a transfer.
    pub(crate) fn take(
        &mut self,
        request: &Request,
        result: &Result<Answer, Problem>,
        now: Duration,
    ) -> Option<TransferNotice> {
        let at = self.0.iter().rposition(|one| one.request == *request && one.ended.is_none())?;
        let one = &mut self.0[at];
        match result {
            Ok(Answer::Progress { have, size }) => {
                (one.have, one.size) = (*have, *size);
                one.samples.push_back((now, *have));
                one.samples.retain(|(at, _)| now.saturating_sub(*at) <= WINDOW);
                None
            }
            Ok(Answer::Saved(path)) => {
                let path = path.display().to_string();
                let checked = if matches!(request, Request::Download { .. }) { ", sha256 checked" } else { "" };
                let notice = TransferNotice::Saved(format!("{} saved{checked}: {path}", one.name));
                let done = Transfer { ended: Some(Ok(path)), ..self.0.remove(at) };
                // The same file was saved before: keep one line.
                self.0.retain(|other| other.ended != done.ended);
                self.0.insert(at.min(self.0.len()), done);
                Some(notice)
            }
            Ok(_) => None,
            // Nothing was saved: an earlier notice about that file is still true.
            Err(problem) if problem.kind == ProblemKind::Exists => {
                self.0.remove(at);
                Some(TransferNotice::Exists)
            }
            Err(problem) => {
                one.ended = Some(Err(problem.line().to_owned()));
                Some(TransferNotice::Failed(problem.line().to_owned()))
            }
        }
    }

    /// Returns the request to cancel: the newest transfer.
    pub(crate) fn stop(&mut self) -> Option<Request> {
        let one = self.0.iter_mut().rev().find(|one| one.ended.is_none())?;
        one.ended = Some(Err("stopped".to_owned()));
        Some(one.request.clone())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of rows to draw, with the heading.
    pub(crate) fn rows(&self) -> u16 {
        u16::try_from(self.0.len() + 1).unwrap_or(u16::MAX)
    }

    fn running(&self) -> impl Iterator<Item = &Transfer> {
        self.0.iter().filter(|one| one.ended.is_none())
    }

    /// Returns the progress lines of running transfers, the newest first.
    pub(crate) fn progress_lines(&self, now: Duration) -> impl Iterator<Item = ProgressLine> {
        self.0.iter().rev().filter(|one| one.ended.is_none()).map(move |one| ProgressLine {
            what: if matches!(one.request, Request::Download { .. }) { "download" } else { "archive" },
            name: one.name.clone(),
            share: one.size.map(|size| (signed(one.have), signed(size))),
            note: match one.seconds_left(now) {
                Some(left) => progress::eta(signed(left)),
                None if one.size.is_none() => human_bytes(signed(one.have)),
                None => String::new(),
            },
        })
    }

    /// Describes the transfers that would be lost if the program ended.
    pub(crate) fn losses(&self) -> Option<String> {
        match self.running().count() {
            0 => None,
            1 => Some("1 download is running".to_owned()),
            many => Some(format!("{many} downloads are running")),
        }
    }

    /// Returns a short text about running transfers for the status line.
    pub(crate) fn word(&self) -> Option<String> {
        let one = self.running().last()?;
        let more = self.running().count() - 1;
        let more = if more > 0 { format!(" +{more}") } else { String::new() };
        Some(format!("{} {}{more}", one.name, one.part()))
    }

    /// Draws the transfers, the newest first.
    pub(crate) fn draw(&self, now: Duration, area: Rect, buf: &mut Buffer) {
        if area.height == 0 {
            return;
        }
        rule(buf, Rect { height: 1, ..area }, "Downloads");
        for (one, y) in self.0.iter().rev().zip(area.y + 1..area.bottom()) {
            parts(buf, Rect { y, height: 1, ..area }, &one.parts(now));
        }
    }
}

impl Transfer {
    /// Formats `41 %`, or bytes if the total is unknown.
    fn part(&self) -> String {
        match self.size {
            Some(size) => format!("{} %", words::percent(signed(self.have), signed(size))),
            None => human_bytes(signed(self.have)),
        }
    }

    /// Returns the rate in bytes per second.
    fn rate(&self) -> Option<u64> {
        let ((first, before), (last, after)) = (self.samples.front()?, self.samples.back()?);
        let millis = u64::try_from(last.saturating_sub(*first).as_millis()).ok().filter(|millis| *millis > 0)?;
        Some(after.saturating_sub(*before).saturating_mul(1_000) / millis)
    }

    /// Returns the rate as soon as it is meaningful.
    fn sure_rate(&self, now: Duration) -> Option<u64> {
        let sure = now.saturating_sub(self.began) >= SURE_AFTER;
        self.rate().filter(|rate| sure && *rate > 0)
    }

    fn seconds_left(&self, now: Duration) -> Option<u64> {
        let (rate, size) = (self.sure_rate(now)?, self.size?);
        Some(size.saturating_sub(self.have) / rate)
    }

    /// Returns its line.
    fn parts(&self, now: Duration) -> Vec<LinePart> {
        match &self.ended {
            Some(Ok(path)) => return vec![LinePart::Text(Role::Ok, format!("{}  ok  {path}", self.name))],
            Some(Err(why)) => return vec![LinePart::Text(Role::Error, format!("{}  FAILED  {why}", self.name))],
            None => {}
        }
        let share = self.size.map(|size| (signed(self.have), signed(size)));
        let bar = share.map(|share| [LinePart::Bar { role: Role::Text, share, cells: BAR }, LinePart::plain(" ")]);
        let speed = self.sure_rate(now).map_or_else(String::new, |rate| format!("  {}/s", human_bytes(signed(rate))));
        let left = self.seconds_left(now).map_or_else(String::new, |left| format!("  {}", progress::eta(signed(left))));
        let rest = format!("{}{speed}{left}  {}  X stops", self.part(), self.name);
        bar.into_iter().flatten().chain([LinePart::plain(rest)]).collect()
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        transfer::copy::Content,
        ui::{net::Existing, view::text_of},
    };

    fn archive() -> Request {
        let repo = "a/b".parse().unwrap();
        let content = Content::Reference { reference: "main".into(), format: "zip" };
        Request::Archive { repo, content, existing: Existing::default() }
    }

    #[test]
    fn rates_cover_the_last_seconds_and_early_estimates_are_hidden() {
        let mut all = Transfers::default();
        all.begin(&archive(), "b-main.zip".into(), Duration::ZERO);
        let line = |all: &Transfers, at: u64| text_of(&all.0[0].parts(Duration::from_secs(at)), 120);
        for second in 0..=8 {
            let have = if second < 3 { 0 } else { (second - 3) * (1 << 20) };
            let part = Answer::Progress { have, size: Some(10 << 20) };
            assert_eq!(all.take(&archive(), &Ok(part), Duration::from_secs(second)), None);
        }
        assert!(line(&all, 1).ends_with("50 %  b-main.zip  X stops"), "{}", line(&all, 1));
        assert!(line(&all, 8).contains("50 %  1.0 MiB/s  ETA 00:05"), "{}", line(&all, 8));
        assert_eq!(all.word().as_deref(), Some("b-main.zip 50 %"));
        assert_eq!(all.stop(), Some(archive()));
        assert_eq!((all.stop(), all.losses(), all.word()), (None, None, None));
    }

    #[test]
    fn an_existing_file_gives_a_notice_and_removes_the_transfer() {
        let mut all = Transfers::default();
        all.begin(&archive(), "b-main.zip".into(), Duration::ZERO);
        let exists = Problem::new(ProblemKind::Exists, "b-main.zip exists");
        assert_eq!(all.take(&archive(), &Err(exists), Duration::ZERO), Some(TransferNotice::Exists));
        assert!(all.is_empty(), "the transfer was removed");
    }

    #[test]
    fn a_saved_file_keeps_one_line_when_it_is_downloaded_again() {
        let mut all = Transfers::default();
        let saved = Ok(Answer::Saved("/d/b-main.zip".into()));
        let exists = Err(Problem::new(ProblemKind::Exists, "b-main.zip exists"));
        let shown = |all: &Transfers| -> Vec<String> {
            all.0.iter().map(|one| text_of(&one.parts(Duration::ZERO), 120)).collect()
        };
        all.begin(&archive(), "b-main.zip".into(), Duration::ZERO);
        all.take(&archive(), &saved, Duration::ZERO);
        all.begin(&archive(), "b-main.zip".into(), Duration::ZERO);
        all.take(&archive(), &exists, Duration::ZERO);
        assert_eq!(shown(&all), ["b-main.zip  ok  /d/b-main.zip"]);
        all.begin(&archive(), "b-main.zip".into(), Duration::ZERO);
        all.take(&archive(), &saved, Duration::ZERO);
        assert_eq!(shown(&all), ["b-main.zip  ok  /d/b-main.zip"]);
    }
}
