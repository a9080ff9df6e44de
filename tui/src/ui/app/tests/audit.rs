//! The audit log: what the daemon filters, and the progress of a search.

use farrier_common::{api::AuditEntry, client::AuditFilter};

use super::prelude::*;
use crate::ui::{
    audit::AuditSummary,
    net::{Page, SearchProgress},
};

fn is_audit(request: &Request) -> bool {
    matches!(request, Request::Audit { .. })
}

/// The request for the first rows that pass `filter`.
fn request(filter: AuditFilter) -> Request {
    Request::Audit { filter: Box::new(filter), entry: None, rows: 500 }
}

fn with_text(text: &str) -> Request {
    request(AuditFilter { text: text.to_owned(), ..AuditFilter::default() })
}

fn entries() -> Vec<AuditEntry> {
    let Answer::Audit(page, _) = audit() else { unreachable!() };
    page.items.iter().map(AuditSummary::entry).collect()
}

/// Opens the audit log of which only the newest entries are loaded.
fn open_long_log(width: u16, height: u16) -> TestScreen {
    let mut screen = TestScreen::loaded(width, height);
    screen.keys("6");
    let Answer::Audit(page, _) = audit() else { unreachable!() };
    let page = Page { total: Some(100_000), ..page };
    let more = SearchProgress { examined: None, more: true };
    // A list that is not full loads older entries until it has the maximum.
    for _ in 0..6 {
        screen.answer_last_of(is_audit, Ok(Answer::Audit(page.clone(), more)));
    }
    assert!(!screen.app.pending.values().any(|one| is_audit(&one.request)), "{}", screen.text());
    screen.take_requests();
    screen
}

#[test]
fn a_filter_of_a_long_audit_log_is_sent_to_the_daemon_at_each_key() {
    let mut screen = open_long_log(120, 24);
    assert!(screen.text().contains("5 of 100 000 loaded"), "{}", screen.text());
    screen.keys("/la");
    assert!(screen.text().contains("data/lake") && !screen.text().contains("expired"), "loaded rows match at once");
    assert_eq!(screen.take_requests(), [with_text("l"), with_text("la")]);
    screen.keys(" actor:=ops-a\n");
    let both = AuditFilter { text: "la".into(), actor: "ops-a".into(), ..AuditFilter::default() };
    assert_eq!(screen.take_requests().last(), Some(&request(both.clone())));

    let found = || vec![AuditEntry { id: 17, ..entries()[1].clone() }];
    screen.answer_last_of(|one| *one == request(both.clone()), Ok(audit_search(found(), 8_192, false)));
    let text = screen.text();
    assert!(text.contains("1/1") && text.contains("searched all entries"), "{text}");
    screen.press(Key::Esc);
    assert_eq!(screen.take_requests(), [request(AuditFilter::default())], "Esc shows the log without the filter");
}

#[test]
fn a_search_shows_how_far_it_is() {
    let mut screen = open_long_log(120, 24);
    screen.keys("/nothinglikeit\n");
    assert!(screen.text().contains("searching on the daemon"), "{}", screen.text());
    let Answer::Audit(page, searched) = audit_search(Vec::new(), 12_288, true) else { unreachable!() };
    let part = Answer::Audit(Page { last: false, ..page.clone() }, searched);
    screen.answer_last_of(is_audit, Ok(part));
    assert!(screen.text().contains("searching: 12 288 of 100 000 entries"), "{}", screen.text());
    for _ in 0..5 {
        screen.answer_last_of(is_audit, Ok(Answer::Audit(page.clone(), searched)));
    }
    screen.answer_last_of(is_audit, Ok(audit_search(Vec::new(), 100_000, true)));
    assert!(screen.text().contains("searched 100 000 of 100 000 entries"), "{}", screen.text());
}

#[test]
fn a_completely_loaded_audit_log_is_filtered_without_requests() {
    let mut screen = TestScreen::loaded(120, 24);
    screen.keys("6");
    screen.answer(is_audit, Ok(audit()));
    screen.take_requests();
    screen.keys("/lake\n");
    assert!(screen.take_requests().is_empty());
    assert!(!screen.text().contains("searched"), "{}", screen.text());
}

#[test]
fn an_entry_is_requested_by_its_id_even_if_it_is_too_old_to_be_loaded() {
    let mut screen = open_long_log(120, 24);
    screen.keys(":audit show 17\n");
    let one = Request::Audit { filter: Box::default(), entry: Some(17), rows: 500 };
    assert_eq!(screen.take_requests().last(), Some(&one));
    let found = vec![AuditEntry { id: 17, ..entries()[1].clone() }];
    screen.answer_last_of(|request| *request == one, Ok(audit_of(found)));
    assert!(screen.text().contains("entry    17"), "{}", screen.text());
}

#[test]
fn filters_of_the_command_line_are_sent_to_the_daemon() {
    let mut screen = TestScreen::loaded(120, 24);
    screen.keys(":audit list --repo infra/auth --result refused --text wrong\n");
    let filter = AuditFilter {
        repository: "infra/auth".into(),
        result: "refused".into(),
        text: "wrong".into(),
        ..AuditFilter::default()
    };
    assert_eq!(screen.take_requests().last(), Some(&request(filter)));
}

#[test]
fn a_text_with_characters_of_filters_is_searched_by_the_shell() {
    for line in ["audit list --text '!done'", "audit list --text error:x", "run list --text '^main'", "user list 'a:b'"]
    {
        let mut screen = TestScreen::loaded(120, 24);
        screen.take_requests();
        screen.keys(&format!(":{line}\n"));
        let requests = screen.take_requests();
        assert!(requests.iter().any(|one| matches!(one, Request::Shell(_))), "{line}: {requests:?}");
    }
    let mut screen = TestScreen::loaded(120, 24);
    screen.keys(":audit list --text Wrong\n");
    assert_eq!(screen.take_requests().last(), Some(&with_text("wrong")), "in any case, as in the shell");
}
