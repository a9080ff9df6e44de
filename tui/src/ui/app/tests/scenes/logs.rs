//! Scenes of the audit log and of the log of the daemon.

use super::{super::prelude::*, Scene, on};
use crate::ui::net::{Page, ProblemKind, SearchProgress};

pub(super) const AUDIT: &[Scene] = &[
    on("audit", |screen| {
        on_audit(screen);
        screen.keys("j");
    }),
    on("audit-entry", |screen| {
        on_audit(screen);
        screen.keys("jj\n");
    }),
    on("no-audit", |screen| {
        screen.keys("6");
        let none = Page { items: Vec::new(), total: Some(0), last: true };
        let answer = Answer::Audit(none, SearchProgress::default());
        screen.answer(|request| matches!(request, Request::Audit { .. }), Ok(answer));
    }),
];

fn on_audit(screen: &mut TestScreen) {
    screen.keys("6");
    screen.answer(|request| matches!(request, Request::Audit { .. }), Ok(audit()));
}

pub(super) const LOGS: &[Scene] = &[
    on("logs", |screen| {
        on_logs(screen, Ok(logs()));
        screen.keys("jj");
    }),
    on("logs-record", |screen| {
        on_logs(screen, Ok(logs()));
        screen.keys("jjj\n");
    }),
    on("no-logs", |screen| on_logs(screen, Ok(log_page(Vec::new(), 0)))),
    on("logs-refused", |screen| {
        let refused = "listing log records: administrators only (403)";
        on_logs(screen, Err(Problem::new(ProblemKind::Forbidden, refused)));
    }),
];

fn on_logs(screen: &mut TestScreen, result: Result<Answer, Problem>) {
    screen.keys("0");
    screen.answer(|request| matches!(request, Request::Logs(..)), result);
}
