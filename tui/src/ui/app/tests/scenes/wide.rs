//! Scenes that show what wide terminals add: the third pane with the focus, and how problems of the dashboard wrap.

use farrier_common::api::Delivery;

use super::{
    super::{dashboard::status_with, prelude::*},
    Scene, on,
};
use crate::ui::net::ProblemKind;

pub(super) const WIDE: &[Scene] = &[
    // On narrow terminals, the keys move the cursor of the list.
    on("third-pane", |screen| {
        open_hooks(screen);
        let is_last = |request: &Request| matches!(request, Request::LastDeliveries(_));
        if screen.app.pending.values().any(|one| is_last(&one.request)) {
            let sent = |id: i64| Delivery { event: format!("push{id}"), ..delivery(12, "failed", 500) };
            let all: Vec<Delivery> = (1..=80).map(sent).collect();
            screen.answer_last_of(is_last, Ok(last_deliveries(&all)));
        }
        screen.keys("\tjj");
    }),
];

pub(super) const PROBLEMS: &[Scene] = &[
    on("dashboard-problems", |screen| {
        screen.keys("1");
        let problems = [
            "the disk is 97 % full: 3.1 GiB of 100 GiB are free; pushes and uploads fail below 1 GiB",
            "the store answers slowly: 99 % of the transactions of the last minute took 812 ms",
            "the backup of 2026-11-18 failed: the target s3://backup/forge refused the credentials",
            "node b of the cluster does not answer since 11:41",
            "the certificate of https://forge01.lan expires in 3 days",
        ];
        screen.answer(|request| *request == Request::Status, Ok(status_with(&problems)));
        screen.answer(|request| matches!(request, Request::Series(_)), Ok(series()));
        screen.answer(|request| *request == Request::FailingHooks, Ok(hooks()));
        screen.keys("jjj");
    }),
    on("dashboard-unchecked", |screen| {
        screen.keys("1");
        screen.answer(|request| *request == Request::Status, Ok(status_with(&[])));
        let forbidden = Problem::new(ProblemKind::Forbidden, "token needs the scope read:admin (403)");
        screen.answer(|request| matches!(request, Request::Series(_)), Err(forbidden.clone()));
        screen.answer(|request| *request == Request::FailingHooks, Err(forbidden));
    }),
];
