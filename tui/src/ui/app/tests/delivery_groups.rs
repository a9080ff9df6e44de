//! Groups of deliveries: by hook and reason, results over time, redelivery of a group.

use super::prelude::*;
use crate::ui::net::{Page, ProblemKind, ResultsSpan};

/// Returns the request for the deliveries of a group.
fn of_group(status: &'static str, hook: Option<u64>, reason: &str) -> Request {
    let (event, host, since) = (String::new(), String::new(), String::new());
    Request::Deliveries { status, hook, event, reason: reason.into(), host, since, rows: 500 }
}

/// Returns the request for the deliveries of a host.
fn of_host(status: &'static str, host: &str) -> Request {
    let (event, reason, since) = (String::new(), String::new(), String::new());
    Request::Deliveries { status, hook: None, event, reason, host: host.into(), since, rows: 500 }
}

fn by_reason(screen: &mut TestScreen) {
    open_delivery_groups(screen);
    screen.keys("]");
    screen.answer(|request| *request == Request::DeliveryGroups("reason"), Ok(groups_by_reason()));
    screen.answer_last_of(|request| matches!(request, Request::DeliveryResults(None, _)), Ok(delivery_results()));
}

#[test]
fn groups_show_counts_and_the_results_of_the_hook_under_the_cursor() {
    let mut screen = TestScreen::loaded(120, 40);
    open_delivery_groups(&mut screen);
    assert_eq!(screen.app.current, ScreenId::DeliveryGroups);
    let text = screen.text();
    for part in
        ["[4 Deliv]", "[by hook]", "hook 12   ci.example.net", "1 204", "hook 7   deleted", "hook 12   last day"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.contains("20 000 deliveries, older ones are left out"), "{text}");
    assert!(text.contains("p95 9 000 ms   longest 10 000 ms"), "{text}");
    screen.take_requests();
    screen.keys("jj");
    screen.rest_cursor();
    // The first key sends a request at once, and one request is sent at a time.
    let passed = Request::DeliveryResults(Some(7), ResultsSpan::Day);
    assert_eq!(screen.take_requests(), std::slice::from_ref(&passed));
    let none = Answer::DeliveryResults(Box::default());
    screen.answer_last_of(|request| *request == passed, Ok(none));
    assert_eq!(screen.take_requests(), [Request::DeliveryResults(Some(3), ResultsSpan::Day)]);
    assert!(!screen.text().contains("longest"), "results of another hook are not shown: {}", screen.text());
    let none = Answer::DeliveryResults(Box::default());
    screen.answer_last_of(|request| matches!(request, Request::DeliveryResults(..)), Ok(none));
    assert!(screen.text().contains("no attempts"), "{}", screen.text());
    screen.keys("t");
    assert_eq!(screen.take_requests(), [Request::DeliveryResults(Some(3), ResultsSpan::Week)]);
    screen.keys("t");
    let failed = Problem::new(ProblemKind::Other, "loading results of deliveries: internal error (500)");
    screen.answer_last_of(|request| *request == Request::DeliveryResults(Some(3), ResultsSpan::Hour), Err(failed));
    assert!(screen.text().contains("internal error (500)"), "{}", screen.text());
    screen.take_requests();
    screen.press(Key::Esc);
    assert_eq!(screen.app.current, ScreenId::Deliveries);
}

#[test]
fn results_that_arrive_late_are_requested_for_the_current_hook() {
    let mut screen = TestScreen::loaded(120, 40);
    open_deliveries(&mut screen);
    screen.keys("o");
    screen.answer(|request| matches!(request, Request::DeliveryGroups(_)), Ok(groups_by_hook()));
    screen.keys("j");
    screen.rest_cursor();
    screen.take_requests();
    screen.answer_last_of(|request| matches!(request, Request::DeliveryResults(Some(12), _)), Ok(delivery_results()));
    assert_eq!(screen.take_requests(), [Request::DeliveryResults(Some(7), ResultsSpan::Day)]);
    assert!(screen.text().contains("loading …"), "{}", screen.text());
}

#[test]
fn enter_shows_the_deliveries_of_a_hook_or_of_a_reason() {
    let mut screen = TestScreen::loaded(120, 40);
    open_delivery_groups(&mut screen);
    screen.take_requests();
    screen.keys("\n");
    assert_eq!(screen.app.current, ScreenId::Deliveries);
    assert!(screen.take_requests().contains(&of_group("", Some(12), "")));

    let mut screen = TestScreen::loaded(120, 40);
    by_reason(&mut screen);
    screen.take_requests();
    screen.keys("j\n");
    assert!(screen.take_requests().contains(&of_group("", None, "timeout")));
    screen.answer_last_of(|request| *request == of_group("", None, "timeout"), Ok(deliveries()));
    assert!(screen.text().contains("reason: timeout"), "{}", screen.text());
    screen.take_requests();
    screen.press(Key::Esc);
    assert!(screen.take_requests().contains(&of_group("", None, "")), "Esc removes the reason");
    assert!(!screen.text().contains("reason:"), "{}", screen.text());
}

/// Opens the groups of hosts.
fn by_host(screen: &mut TestScreen) {
    open_delivery_groups(screen);
    screen.keys("[");
    screen.answer(|request| *request == Request::DeliveryGroups("host"), Ok(groups_by_host()));
    screen.rest_cursor();
    screen.take_requests();
}

#[test]
fn the_groups_of_hosts_show_the_deliveries_of_their_hooks() {
    let mut screen = TestScreen::loaded(120, 40);
    by_host(&mut screen);
    let text = screen.text();
    assert!(text.contains("[by host]") && text.contains("deleted hooks"), "{text}");
    screen.keys("\n");
    assert_eq!(screen.app.current, ScreenId::Deliveries);
    assert!(screen.take_requests().contains(&of_host("", "ci.example.net")));
    screen.answer_last_of(|request| *request == of_host("", "ci.example.net"), Ok(deliveries()));
    assert!(screen.text().contains("host: ci.example.net"), "{}", screen.text());
    screen.take_requests();
    screen.press(Key::Esc);
    assert!(screen.take_requests().contains(&of_host("", "")), "Esc removes the host");

    // Deleted hooks have no host.
    let mut screen = TestScreen::loaded(120, 40);
    by_host(&mut screen);
    screen.keys("G\n");
    assert!(screen.take_requests().contains(&of_group("", Some(7), "")));

    let mut screen = TestScreen::loaded(120, 40);
    by_host(&mut screen);
    screen.keys("j\n");
    assert!(screen.take_requests().contains(&of_group("", Some(3), "")), "a host with one hook needs no menu");
}

#[test]
fn the_hooks_of_a_host_are_recovered_after_one_confirmation() {
    let mut screen = TestScreen::loaded(120, 40);
    by_host(&mut screen);
    screen.keys("R");
    assert!(screen.take_requests().contains(&Request::Recoverable(vec![12, 15])), "{}", screen.text());
    screen.answer_last_of(|request| matches!(request, Request::Recoverable(_)), Ok(recoverable(4, 3)));
    let text = screen.text();
    for part in ["Redeliver failed deliveries of 2 hooks", "4 failed deliveries", "3 waiting deliveries are retried"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    screen.advance(Duration::from_secs(1));
    screen.keys("y");
    assert!(screen.take_requests().contains(&Request::Recover(vec![12, 15])), "{}", screen.text());
}

#[test]
fn hooks_whose_deliveries_only_wait_are_recovered_as_a_group() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("4o");
    let Answer::DeliveryGroups(mut groups) = groups_by_hook() else { unreachable!() };
    (groups.groups[0].failed, groups.groups[0].pending) = (0, 21);
    screen.answer(|request| matches!(request, Request::DeliveryGroups(_)), Ok(Answer::DeliveryGroups(groups)));
    screen.keys("gR");
    assert!(screen.take_requests().contains(&Request::Recoverable(vec![12])), "{}", screen.text());
}

#[test]
fn the_deliveries_of_deleted_hooks_are_not_redelivered_by_host() {
    let mut screen = TestScreen::loaded(120, 40);
    by_host(&mut screen);
    let is_list = |request: &Request| matches!(request, Request::Deliveries { .. });
    screen.keys("GR");
    assert!(screen.text().contains("the hooks were deleted"), "{}", screen.text());
    assert!(!screen.take_requests().iter().any(is_list));
    screen.keys("kR");
    assert!(screen.take_requests().contains(&Request::Recoverable(vec![3])), "a host with one hook");
}

#[test]
fn the_failed_deliveries_of_a_group_are_redelivered_after_confirmation() {
    let mut screen = TestScreen::loaded(120, 40);
    by_reason(&mut screen);
    screen.take_requests();
    screen.keys("R");
    assert_eq!(screen.take_requests(), [of_group("failure,pending", None, "http 503")]);
    let failed = [12, 16].map(|id| delivery(id, "failed", 503));
    let ids: Vec<String> = failed.iter().map(|one| one.guid.clone()).collect();
    let listed = listed_deliveries(&failed, None);
    screen.answer_last_of(|request| *request == of_group("failure,pending", None, "http 503"), Ok(listed));
    let text = screen.text();
    for part in ["Redeliver 2 deliveries", "hook 12", "group: http 503"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    screen.advance(Duration::from_millis(300));
    screen.take_requests();
    screen.keys("y");
    assert_eq!(screen.take_requests(), [Request::Redeliver(ids.clone())]);
    let each = vec![(ids[0].clone(), None), (ids[1].clone(), Some("hook 12 is switched off".to_owned()))];
    screen.answer_last_of(|request| matches!(request, Request::Redeliver(_)), Ok(Answer::EachOf(each)));
    let text = screen.text();
    assert!(text.contains("1 failed, 1 queued for redelivery") && text.contains("hook 12 is switched off"), "{text}");
}

#[test]
fn a_large_group_is_redelivered_in_parts() {
    let mut screen = TestScreen::loaded(120, 40);
    by_reason(&mut screen);
    screen.keys("R");
    let one = |id: i64| farrier_common::api::Delivery { guid: format!("{id:08}"), ..delivery(12, "failed", 503) };
    let listed = listed_deliveries(&(0..520).map(one).collect::<Vec<_>>(), None);
    screen.answer_last_of(|request| *request == of_group("failure,pending", None, "http 503"), Ok(listed));
    let text = screen.text();
    assert!(text.contains("Redeliver 500 deliveries") && text.contains("at most 500 at once"), "{text}");
}

#[test]
fn a_group_without_failures_is_not_redelivered() {
    let mut screen = TestScreen::loaded(120, 40);
    open_delivery_groups(&mut screen);
    screen.take_requests();
    screen.keys("GR");
    assert!(screen.text().contains("this group has no failed or waiting deliveries"), "{}", screen.text());
    screen.keys("g  R");
    assert!(screen.text().contains("needs one row, but 2 are marked"), "{}", screen.text());
    let is_list = |request: &Request| matches!(request, Request::Deliveries { .. });
    assert!(!screen.take_requests().iter().any(is_list));
}

#[test]
fn the_notice_about_a_reason_names_it_after_the_cursor_moved() {
    let mut screen = TestScreen::loaded(200, 60);
    by_reason(&mut screen);
    screen.keys("Rj");
    let none = Page { items: Vec::new(), total: None, last: true };
    let request = of_group("failure,pending", None, "http 503");
    screen.answer_last_of(|sent| *sent == request, Ok(Answer::Deliveries(none)));
    let text = screen.text();
    assert!(text.contains("the group http 503 has no failed or waiting deliveries any more"), "{text}");
    assert!(screen.app.layers.is_empty());
}

#[test]
fn a_marked_group_is_redelivered_instead_of_the_one_under_the_cursor() {
    let mut screen = TestScreen::loaded(120, 40);
    open_delivery_groups(&mut screen);
    screen.take_requests();
    screen.keys("g G");
    screen.take_requests();
    screen.keys("R");
    assert!(screen.take_requests().contains(&Request::Recoverable(vec![12])));
}

#[test]
fn the_deliveries_of_a_deleted_hook_are_not_redelivered() {
    let mut screen = TestScreen::loaded(120, 40);
    open_delivery_groups(&mut screen);
    screen.keys("gj");
    screen.take_requests();
    screen.keys("R");
    assert!(screen.text().contains("the hook was deleted"), "{}", screen.text());
    assert!(!screen.take_requests().iter().any(|request| matches!(request, Request::Deliveries { .. })));
}

#[test]
fn groups_that_cannot_be_loaded_show_the_error_and_empty_ones_a_hint() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("4o");
    let refused = Problem::new(ProblemKind::Forbidden, "grouping deliveries by hook: you may not (403)");
    screen.answer(|request| matches!(request, Request::DeliveryGroups(_)), Err(refused));
    assert!(screen.text().contains("you may not (403)"), "{}", screen.text());
    screen.keys("]");
    let none = Answer::DeliveryGroups(Box::default());
    screen.answer(|request| *request == Request::DeliveryGroups("reason"), Ok(none));
    assert!(screen.text().contains("No deliveries."), "{}", screen.text());
}

#[test]
fn the_command_shows_the_groups_by_hook_reason_or_host() {
    for (line, by) in
        [("delivery groups", "hook"), ("delivery groups --by reason", "reason"), ("delivery groups --by host", "host")]
    {
        let mut screen = TestScreen::loaded(120, 40);
        screen.keys(&format!(":{line}\n"));
        assert_eq!(screen.app.current, ScreenId::DeliveryGroups);
        assert!(screen.take_requests().contains(&Request::DeliveryGroups(by)), "{line}");
    }
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys(":delivery groups --hook 3\n");
    // The screen has no filter for a hook.
    let is_shell = |request: &Request| matches!(request, Request::Shell(command) if command.name == "delivery groups");
    assert!(screen.take_requests().iter().any(is_shell), "{}", screen.text());
}
