//! The deliveries screen: the list, reading and searching one delivery, redelivery.

use super::prelude::*;

#[test]
fn a_delivery_is_shown_in_tabs_and_redelivered_only_after_confirmation() {
    let mut screen = TestScreen::loaded(80, 24);
    open_hooks(&mut screen);
    screen.keys("j\n");
    assert_eq!(screen.app.current, ScreenId::Deliveries);
    screen.answer(
        |request| {
            *request
                == Request::Deliveries {
                    status: "",
                    hook: Some(12),
                    event: String::new(),
                    reason: String::new(),
                    host: String::new(),
                    since: String::new(),
                    rows: 500,
                }
        },
        Ok(deliveries()),
    );
    screen.keys("\n");
    screen.answer(|request| matches!(request, Request::Delivery(_)), Ok(detail(delivery(14, "pending", 0))));
    assert!(screen.text().contains("connection refused"), "{}", screen.text());
    screen.keys("]");
    assert!(screen.text().contains("refs/heads/main"), "{}", screen.text());
    screen.take_requests();
    screen.keys("R");
    screen.advance(Duration::from_millis(300));
    screen.keys("\n");
    screen.keys("R");
    screen.advance(Duration::from_millis(300));
    screen.keys("y");
    let requests = screen.take_requests();
    assert!(
        matches!(requests.as_slice(), [Request::Redeliver(ids)] if ids.len() == 1 && ids[0].ends_with("14")),
        "{requests:?}"
    );
    screen.keys("q");
    assert!(screen.text().contains("hook: 12"), "{}", screen.text());
    screen.keys("q");
    assert_eq!(
        screen.take_requests().last(),
        Some(&Request::Deliveries {
            status: "",
            hook: None,
            event: String::new(),
            reason: String::new(),
            host: String::new(),
            since: String::new(),
            rows: 500
        })
    );
}

#[test]
fn only_one_delivery_is_requested_at_a_time_while_the_cursor_moves() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("4");
    screen.answer(|request| matches!(request, Request::Deliveries { .. }), Ok(deliveries()));
    screen.take_requests();
    screen.keys("jj");
    assert_eq!(screen.take_requests(), []);
    screen.effects.push(Effect::Send(screen.app.tickets, Request::Delivery(String::new())));
    screen.answer(|request| matches!(request, Request::Delivery(_)), Ok(detail(delivery(14, "pending", 0))));
    let passed = screen.take_requests();
    assert!(!passed.iter().any(|request| matches!(request, Request::Delivery(id) if id.ends_with("12"))), "{passed:?}");
    screen.rest_cursor();
    let requests = screen.take_requests();
    assert!(matches!(requests.last(), Some(Request::Delivery(id)) if id.ends_with("12")), "{requests:?}");
}

#[test]
fn choosing_an_event_requests_only_its_deliveries() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("4");
    screen.answer(|request| matches!(request, Request::Deliveries { .. }), Ok(deliveries()));
    screen.take_requests();
    screen.keys("E");
    screen.press(Key::Down);
    screen.keys("\n");
    assert_eq!(
        screen.take_requests(),
        [Request::Deliveries {
            status: "",
            hook: None,
            event: "push".into(),
            reason: String::new(),
            host: String::new(),
            since: String::new(),
            rows: 500
        }]
    );
    assert!(screen.text().contains("event: push"), "{}", screen.text());
    screen.keys("q");
    assert_eq!(
        screen.take_requests(),
        [Request::Deliveries {
            status: "",
            hook: None,
            event: String::new(),
            reason: String::new(),
            host: String::new(),
            since: String::new(),
            rows: 500
        }]
    );
}

#[test]
fn a_delivery_can_be_searched_shown_as_bytes_and_copied_as_curl() {
    let mut screen = TestScreen::loaded(80, 24);
    open_delivery(&mut screen);
    screen.keys("/refused\n");
    assert!(screen.text().contains("1 of 2 with refused"), "{}", screen.text());
    screen.keys("nn");
    assert!(screen.text().contains("1 of 2"), "the search wraps around: {}", screen.text());
    screen.keys("N");
    assert!(screen.text().contains("2 of 2"), "{}", screen.text());
    let underlined = |screen: &TestScreen| screen.styles().matches('U').count();
    assert_eq!(underlined(&screen), 2 * "refused".len());
    screen.press(Key::Esc);
    assert_eq!((underlined(&screen), screen.text().contains("[Summary]")), (0, true), "Esc clears the search first");
    screen.keys("]b");
    assert!(screen.text().contains("00000000  7b 22 72 65 66 22 3a 22"), "{}", screen.text());
    screen.keys("yc");
    let copied = screen.effects.iter().find_map(|e| if let Effect::Copy(text) = e { Some(text.clone()) } else { None });
    assert!(copied.unwrap().starts_with("curl -i -X POST 'https://ci.example.net/hook'"));
}

#[test]
fn a_body_is_shown_in_the_pager_and_pager_errors_are_reported() {
    let mut screen = TestScreen::loaded(80, 24);
    open_delivery(&mut screen);
    let text = screen.text();
    assert!(text.contains("retry at 12:04:07 - R now") && text.contains("FAIL in 38 ms  attempt 4"), "{text}");
    let paged = |screen: &mut TestScreen| {
        screen.take_requests();
        screen.keys("o");
        screen.effects.iter().find_map(|e| if let Effect::Page(text) = e { Some(text.clone()) } else { None }).unwrap()
    };
    assert!(paged(&mut screen).contains("connection refused"), "a tab without a body sends its lines");
    screen.keys("]");
    assert!(screen.text().contains("── body 25 bytes, as text, wrap on ──"), "{}", screen.text());
    assert_eq!(paged(&mut screen), "{\n  \"ref\": \"refs/heads/main\"\n}\n");
    screen.keys("bw");
    assert!(screen.text().contains("── body 25 bytes, as bytes ──"), "{}", screen.text());
    assert!(paged(&mut screen).contains("00000000  7b 22"));
    screen.send(Msg::Paged(Err("less not found; set PAGER to another program".into())));
    assert!(screen.text().contains("less not found; set PAGER to another program"), "{}", screen.text());
    let Answer::Delivery(mut steering) = detail(delivery(13, "success", 200)) else { unreachable!() };
    steering.response.payload = "a\x1b[2Jb\tc\n".into();
    let mut screen = TestScreen::loaded(80, 24);
    open_delivery(&mut screen);
    screen.keys("qj\n");
    screen.answer(|request| matches!(request, Request::Delivery(_)), Ok(Answer::Delivery(steering)));
    screen.keys("]]");
    assert_eq!(paged(&mut screen), "a\u{fffd}[2Jb    c\n", "control characters are replaced");
}

fn of_deliveries(status: &'static str, hook: Option<u64>, since: &str, rows: usize) -> Request {
    Request::Deliveries {
        status,
        hook,
        event: String::new(),
        reason: String::new(),
        host: String::new(),
        since: since.into(),
        rows,
    }
}

#[test]
fn delivery_filters_are_sent_to_the_daemon() {
    let mut screen = TestScreen::loaded(120, 24);
    open_deliveries(&mut screen);
    for (text, requests) in [
        ("state:failed", of_deliveries("failure", None, "", 500)),
        ("hook:12 code:500", of_deliveries("", Some(12), "", 500)),
        ("age:<2h", of_deliveries("", None, "2026-11-21T10:00:00Z", 500)),
    ] {
        screen.keys("/");
        screen.press(Key::Ctrl('u'));
        screen.take_requests();
        screen.send(Msg::Paste(text.into()));
        assert_eq!(screen.take_requests().last(), Some(&requests), "{text}");
        screen.keys("\n");
    }
    screen.press(Key::Esc);
    assert!(screen.take_requests().contains(&of_deliveries("", None, "", 500)));
}

#[test]
fn a_partly_loaded_delivery_list_shows_the_total_and_loads_more() {
    let mut screen = TestScreen::loaded(120, 24);
    screen.keys("4");
    let many = |count: i64| {
        let items = (0..count).map(|id| farrier_common::api::Delivery {
            guid: format!("{id:08}-44b0-4a51-8a53-0d7a1b6f0c00"),
            ..delivery(10 + id % 40, "success", 200)
        });
        listed_deliveries(&items.collect::<Vec<_>>(), Some(12_340))
    };
    screen.answer(|request| matches!(request, Request::Deliveries { .. }), Ok(many(500)));
    assert!(screen.text().contains("500 of 12 340 loaded"), "{}", screen.text());
    screen.take_requests();
    screen.keys("G");
    assert!(screen.take_requests().contains(&of_deliveries("", None, "", 1_000)));
    screen.answer_last_of(|request| matches!(request, Request::Deliveries { .. }), Ok(many(1_000)));
    assert!(screen.text().contains("1 000 of 12 340 loaded"), "{}", screen.text());
    screen.take_requests();
    screen.keys("/nothing");
    assert!(
        screen.take_requests().contains(&of_deliveries("", None, "", 2_000)),
        "a filter with few matches loads more"
    );
}

#[test]
fn the_hook_menu_lists_all_hooks_with_their_urls() {
    let mut screen = TestScreen::loaded(120, 40);
    open_deliveries(&mut screen);
    screen.keys("H");
    screen.answer(|request| *request == Request::Hooks(HookOwner::Any), Ok(hooks()));
    let text = screen.text();
    assert!(text.contains("All hooks") && text.contains("hook 21    https://lint.lan/r"), "{text}");
}

#[test]
fn a_hook_menu_that_is_requested_again_lists_each_hook_once() {
    let is_list = |request: &Request| *request == Request::Hooks(HookOwner::Any);
    let mut screen = TestScreen::loaded(120, 40);
    open_deliveries(&mut screen);
    screen.keys("H");
    let Answer::Hooks(all) = hooks() else { unreachable!() };
    let part = Answer::Hooks(crate::ui::net::Page { last: false, ..all });
    screen.answer_last_of(is_list, Ok(part));
    screen.keys("H");
    assert_eq!(screen.app.pending.values().filter(|one| is_list(&one.request)).count(), 1);
    screen.answer_last_of(is_list, Ok(hooks()));
    assert_eq!(screen.text().matches("https://lint.lan/r").count(), 1, "{}", screen.text());
}

#[test]
fn a_host_of_the_hooks_is_chosen_from_a_menu_and_sent_to_the_daemon() {
    let mut screen = TestScreen::loaded(120, 24);
    open_deliveries(&mut screen);
    screen.keys("O");
    let of = |id: i64, url: &str| farrier_common::api::Hook { id, url: url.into(), ..Default::default() };
    let hooks = vec![
        of(12, "https://ci.example.net/hook"),
        of(15, "https://CI.example.net/other"),
        of(3, "http://audit.lan:8080/in"),
        of(4, "not a URL"),
    ];
    screen.answer(|request| matches!(request, Request::Hooks(_)), Ok(listed_hooks(hooks)));
    let text = screen.text();
    for part in ["All hosts", "audit.lan:8080   1 hook", "ci.example.net   2 hooks"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    screen.advance(Duration::from_secs(1));
    screen.take_requests();
    screen.keys("jj\n");
    let is_of_host =
        |request: &Request| matches!(request, Request::Deliveries { host, .. } if host == "ci.example.net");
    assert!(screen.take_requests().iter().any(is_of_host));
    assert!(screen.text().contains("host: ci.example.net"), "{}", screen.text());
    screen.keys(":delivery list --host audit.lan:8080 --failed\n");
    let is_failed_of = |request: &Request, to: &str| {
        let Request::Deliveries { host, status, .. } = request else { return false };
        host == to && *status == "failure"
    };
    assert!(screen.take_requests().iter().any(|one| is_failed_of(one, "audit.lan:8080")), "{}", screen.text());
}

#[test]
fn hosts_that_cannot_be_listed_show_the_reason() {
    let mut screen = TestScreen::loaded(120, 24);
    open_deliveries(&mut screen);
    screen.keys("O");
    let why = Problem::new(crate::ui::net::ProblemKind::Forbidden, "listing hooks: only for administrators (403)");
    screen.answer(|request| matches!(request, Request::Hooks(_)), Err(why));
    assert!(screen.app.layers.is_empty());
    assert!(screen.text().contains("only for administrators"), "{}", screen.text());
}

#[test]
fn a_refresh_in_parts_replaces_the_deliveries_when_the_last_part_has_arrived() {
    let is_list = |request: &Request| matches!(request, Request::Deliveries { .. });
    let part = |which: std::ops::Range<usize>, last: bool| {
        let Answer::Deliveries(all) = deliveries() else { unreachable!() };
        Answer::Deliveries(crate::ui::net::Page { items: all.items[which].to_vec(), total: Some(2), last })
    };
    let mut screen = TestScreen::loaded(120, 24);
    open_deliveries(&mut screen);
    assert!(screen.text().contains("1/3"), "{}", screen.text());
    screen.keys("r");
    screen.answer_last_of(is_list, Ok(part(0..1, false)));
    assert!(screen.text().contains("1/3"), "{}", screen.text());
    screen.answer_last_of(is_list, Ok(part(1..2, true)));
    assert!(screen.text().contains("1/2"), "{}", screen.text());
}
