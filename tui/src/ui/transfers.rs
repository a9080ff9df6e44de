//! Downloads and archives of this session: work that lives in this program and ends with it.
//!
//! Owns how far each is and how fast; the bytes are the network's business. Part files of artifacts
//! stay when a download is stopped, and the next one goes on with them.

use std::{collections::VecDeque, time::Duration};

use ratatui::{buffer::Buffer, layout::Rect};

use super::{
    net::{Answer, Ask, Problem, ProblemKind},
    view::{Role, rule, text},
    words,
};
use crate::{output::human_bytes, progress};

/// Rates are those of so long.
const WINDOW: Duration = Duration::from_secs(5);
/// Before that nothing can be said about the rest.
const SURE_AFTER: Duration = Duration::from_secs(2);

/// One of them.
#[derive(Clone, Debug)]
struct Transfer {
    ask: Ask,
    name: String,
    have: u64,
    /// Unknown for what is made while it is sent.
    size: Option<u64>,
    began: Duration,
    samples: VecDeque<(Duration, u64)>,
    /// Where it is, or why it is not there.
    ended: Option<Result<String, String>>,
}

/// All of them, the oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transfers(Vec<Transfer>);

/// Something that runs, for a line with a bar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProgressLine {
    pub(crate) what: &'static str,
    pub(crate) name: String,
    /// So much of so much; none where nobody knows.
    pub(crate) share: Option<(i64, i64)>,
    pub(crate) note: String,
}

/// What is to be said of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TransferNotice {
    Saved(String),
    Failed(String),
    /// There is a file of that name, which may be wanted.
    Exists,
}

impl Transfers {
    /// One begins; an earlier failure of the same file is forgotten.
    pub(crate) fn begin(&mut self, ask: &Ask, name: String, now: Duration) {
        self.0.retain(|one| one.name != name || !matches!(one.ended, Some(Err(_))));
        self.0.push(Transfer {
            ask: ask.clone(),
            name,
            have: 0,
            size: None,
            began: now,
            samples: VecDeque::new(),
            ended: None,
        });
    }

    /// Takes an answer. Answers what is to be said of it, if it was for one of them.
    pub(crate) fn take(
        &mut self,
        ask: &Ask,
        result: &Result<Answer, Problem>,
        now: Duration,
    ) -> Option<TransferNotice> {
        let at = self.0.iter().rposition(|one| one.ask == *ask && one.ended.is_none())?;
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
                let checked = if matches!(ask, Ask::Download { .. }) { ", sha256 checked" } else { "" };
                let notice = TransferNotice::Saved(format!("{} saved{checked}: {path}", one.name));
                let done = Transfer { ended: Some(Ok(path)), ..self.0.remove(at) };
                // The same file was saved before: one line is enough.
                self.0.retain(|other| other.ended != done.ended);
                self.0.insert(at.min(self.0.len()), done);
                Some(notice)
            }
            Ok(_) => None,
            // Nothing was done: whatever was said of that file before still holds.
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

    /// What is to be stopped, the youngest first.
    pub(crate) fn stop(&mut self) -> Option<Ask> {
        let one = self.0.iter_mut().rev().find(|one| one.ended.is_none())?;
        one.ended = Some(Err("stopped".to_owned()));
        Some(one.ask.clone())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Rows that they need, with their heading.
    pub(crate) fn rows(&self) -> u16 {
        u16::try_from(self.0.len() + 1).unwrap_or(u16::MAX)
    }

    fn running(&self) -> impl Iterator<Item = &Transfer> {
        self.0.iter().filter(|one| one.ended.is_none())
    }

    /// Those that run, the youngest first: what it is, its file, how far it is, and what is said of it.
    pub(crate) fn progress_lines(&self, now: Duration) -> impl Iterator<Item = ProgressLine> {
        self.0.iter().rev().filter(|one| one.ended.is_none()).map(move |one| ProgressLine {
            what: if matches!(one.ask, Ask::Download { .. }) { "download" } else { "archive" },
            name: one.name.clone(),
            share: one.size.map(|size| (signed(one.have), signed(size))),
            note: match one.seconds_left(now) {
                Some(left) => progress::eta(signed(left)),
                None if one.size.is_none() => human_bytes(signed(one.have)),
                None => String::new(),
            },
        })
    }

    /// What would end with the program.
    pub(crate) fn losses(&self) -> Option<String> {
        match self.running().count() {
            0 => None,
            1 => Some("1 download is running".to_owned()),
            many => Some(format!("{many} downloads are running")),
        }
    }

    /// A word about what runs, for the status line.
    pub(crate) fn word(&self) -> Option<String> {
        let one = self.running().last()?;
        let more = self.running().count() - 1;
        let more = if more > 0 { format!(" +{more}") } else { String::new() };
        Some(format!("{} {}{more}", one.name, one.part()))
    }

    /// Draws them, the youngest first.
    pub(crate) fn draw(&self, now: Duration, area: Rect, buf: &mut Buffer) {
        if area.height == 0 {
            return;
        }
        rule(buf, Rect { height: 1, ..area }, "Downloads");
        let mut y = area.y + 1;
        for one in self.0.iter().rev() {
            for (role, line) in one.lines(now) {
                if y >= area.bottom() {
                    return;
                }
                text(buf, Rect { y, height: 1, ..area }, &line, role);
                y += 1;
            }
        }
    }
}

impl Transfer {
    /// `41 %`, or bytes where nobody knows how many there will be.
    fn part(&self) -> String {
        match self.size {
            Some(size) => format!("{} %", words::percent(signed(self.have), signed(size))),
            None => human_bytes(signed(self.have)),
        }
    }

    /// Bytes a second.
    fn rate(&self) -> Option<u64> {
        let ((first, before), (last, after)) = (self.samples.front()?, self.samples.back()?);
        let millis = u64::try_from(last.saturating_sub(*first).as_millis()).ok().filter(|millis| *millis > 0)?;
        Some(after.saturating_sub(*before).saturating_mul(1_000) / millis)
    }

    /// The rate, once there is one that means something.
    fn sure_rate(&self, now: Duration) -> Option<u64> {
        let sure = now.saturating_sub(self.began) >= SURE_AFTER;
        self.rate().filter(|rate| sure && *rate > 0)
    }

    fn seconds_left(&self, now: Duration) -> Option<u64> {
        let (rate, size) = (self.sure_rate(now)?, self.size?);
        Some(size.saturating_sub(self.have) / rate)
    }

    fn lines(&self, now: Duration) -> Vec<(Role, String)> {
        match &self.ended {
            Some(Ok(path)) => return vec![(Role::Ok, format!("{}  ok  {path}", self.name))],
            Some(Err(why)) => return vec![(Role::Error, format!("{}  FAILED  {why}", self.name))],
            None => {}
        }
        let bar =
            self.size.map_or_else(String::new, |size| format!("{} ", words::bar(signed(self.have), signed(size), 10)));
        let speed = self.sure_rate(now).map_or_else(String::new, |rate| format!("  {}/s", human_bytes(signed(rate))));
        let left = self.seconds_left(now).map_or_else(String::new, |left| format!("  {}", progress::eta(signed(left))));
        vec![(Role::Text, format!("{bar}{}{speed}{left}  {}  X stops", self.part(), self.name))]
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{transfer::copy::Content, ui::net::Existing};

    fn archive() -> Ask {
        let repo = "a/b".parse().unwrap();
        let content = Content::Of { reference: "main".into(), format: "zip" };
        Ask::Archive { repo, content, existing: Existing::default() }
    }

    #[test]
    fn rates_are_those_of_the_last_seconds_and_the_rest_is_guessed_late() {
        let mut all = Transfers::default();
        all.begin(&archive(), "b-main.zip".into(), Duration::ZERO);
        let line = |all: &Transfers, at: u64| all.0[0].lines(Duration::from_secs(at)).remove(0).1;
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
    fn a_file_that_is_there_is_a_question_and_no_failure() {
        let mut all = Transfers::default();
        all.begin(&archive(), "b-main.zip".into(), Duration::ZERO);
        let exists = Problem::new(ProblemKind::Exists, "b-main.zip exists");
        assert_eq!(all.take(&archive(), &Err(exists), Duration::ZERO), Some(TransferNotice::Exists));
        assert!(all.is_empty(), "nothing has failed");
    }

    #[test]
    fn a_file_that_is_there_already_stays_saved() {
        let mut all = Transfers::default();
        let saved = Ok(Answer::Saved("/d/b-main.zip".into()));
        let exists = Err(Problem::new(ProblemKind::Exists, "b-main.zip exists"));
        let shown = |all: &Transfers| -> Vec<String> {
            all.0.iter().map(|one| one.lines(Duration::ZERO)[0].1.clone()).collect()
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
