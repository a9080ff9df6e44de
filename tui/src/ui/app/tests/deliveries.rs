//! The deliveries screen: the list, reading and searching one delivery, redelivery.

use super::prelude::*;

#[test]
fn a_delivery_is_shown_in_tabs_and_redelivered_only_after_confirmation() {
    let mut story = Story::settled(80, 24);
    on_hooks(&mut story);
    story.keys("j\n");
    assert_eq!(story.app.current, ScreenId::Deliveries);
    story.answer(
        |ask| {
            *ask == Ask::Deliveries {
                status: "",
                hook: Some(12),
                event: String::new(),
                since: String::new(),
                rows: 500,
            }
        },
        Ok(deliveries()),
    );
    story.keys("\n");
    story.answer(|ask| matches!(ask, Ask::Delivery(_)), Ok(detail(delivery(14, "pending", 0))));
    assert!(story.text().contains("connection refused"), "{}", story.text());
    story.keys("]");
    assert!(story.text().contains("refs/heads/main"), "{}", story.text());
    story.asked();
    story.keys("R");
    story.pass(Duration::from_millis(300));
    story.keys("\n");
    story.keys("R");
    story.pass(Duration::from_millis(300));
    story.keys("y");
    let asked = story.asked();
    assert!(matches!(asked.as_slice(), [Ask::Redeliver(ids)] if ids.len() == 1 && ids[0].ends_with("14")), "{asked:?}");
    story.keys("q");
    assert!(story.text().contains("hook: 12"), "{}", story.text());
    story.keys("q");
    assert_eq!(
        story.asked().last(),
        Some(&Ask::Deliveries { status: "", hook: None, event: String::new(), since: String::new(), rows: 500 })
    );
}

#[test]
fn only_one_delivery_is_requested_at_a_time_while_the_cursor_moves() {
    let mut story = Story::settled(120, 40);
    story.keys("4");
    story.answer(|ask| matches!(ask, Ask::Deliveries { .. }), Ok(deliveries()));
    story.asked();
    story.keys("jj");
    assert_eq!(story.asked(), []);
    story.effects.push(Effect::Ask(story.app.tickets, Ask::Delivery(String::new())));
    story.answer(|ask| matches!(ask, Ask::Delivery(_)), Ok(detail(delivery(14, "pending", 0))));
    let passed = story.asked();
    assert!(!passed.iter().any(|ask| matches!(ask, Ask::Delivery(id) if id.ends_with("12"))), "{passed:?}");
    story.rest();
    let asked = story.asked();
    assert!(matches!(asked.last(), Some(Ask::Delivery(id)) if id.ends_with("12")), "{asked:?}");
}

#[test]
fn choosing_an_event_requests_only_its_deliveries() {
    let mut story = Story::settled(80, 24);
    story.keys("4");
    story.answer(|ask| matches!(ask, Ask::Deliveries { .. }), Ok(deliveries()));
    story.asked();
    story.keys("E");
    story.press(Key::Down);
    story.keys("\n");
    assert_eq!(
        story.asked(),
        [Ask::Deliveries { status: "", hook: None, event: "push".into(), since: String::new(), rows: 500 }]
    );
    assert!(story.text().contains("event: push"), "{}", story.text());
    story.keys("q");
    assert_eq!(
        story.asked(),
        [Ask::Deliveries { status: "", hook: None, event: String::new(), since: String::new(), rows: 500 }]
    );
}

#[test]
fn a_delivery_can_be_searched_shown_as_bytes_and_copied_as_curl() {
    let mut story = Story::settled(80, 24);
    reading(&mut story);
    story.keys("/refused\n");
    assert!(story.text().contains("1 of 2 with refused"), "{}", story.text());
    story.keys("nn");
    assert!(story.text().contains("1 of 2"), "the search wraps around: {}", story.text());
    story.keys("N");
    assert!(story.text().contains("2 of 2"), "{}", story.text());
    let underlined = |story: &Story| story.styles().matches('U').count();
    assert_eq!(underlined(&story), 2 * "refused".len());
    story.press(Key::Esc);
    assert_eq!((underlined(&story), story.text().contains("[Summary]")), (0, true), "Esc clears the search first");
    story.keys("]b");
    assert!(story.text().contains("00000000  7b 22 72 65 66 22 3a 22"), "{}", story.text());
    story.keys("yc");
    let copied = story.effects.iter().find_map(|e| if let Effect::Copy(text) = e { Some(text.clone()) } else { None });
    assert!(copied.unwrap().starts_with("curl -i -X POST 'https://ci.example.net/hook'"));
}

#[test]
fn a_body_is_shown_in_the_pager_and_pager_errors_are_reported() {
    let mut story = Story::settled(80, 24);
    reading(&mut story);
    let text = story.text();
    assert!(text.contains("retry at 12:04:07 - R now") && text.contains("FAIL in 38 ms  attempt 4"), "{text}");
    let paged = |story: &mut Story| {
        story.asked();
        story.keys("o");
        story.effects.iter().find_map(|e| if let Effect::Page(text) = e { Some(text.clone()) } else { None }).unwrap()
    };
    assert!(paged(&mut story).contains("connection refused"), "a tab without a body sends its lines");
    story.keys("]");
    assert!(story.text().contains("── body 25 bytes, as text, wrap on ──"), "{}", story.text());
    assert_eq!(paged(&mut story), "{\n  \"ref\": \"refs/heads/main\"\n}\n");
    story.keys("bw");
    assert!(story.text().contains("── body 25 bytes, as bytes ──"), "{}", story.text());
    assert!(paged(&mut story).contains("00000000  7b 22"));
    story.tell(Msg::Paged(Err("less not found; set PAGER to another program".into())));
    assert!(story.text().contains("less not found; set PAGER to another program"), "{}", story.text());
    let Answer::Delivery(mut steering) = detail(delivery(13, "success", 200)) else { unreachable!() };
    steering.response.payload = "a\x1b[2Jb\tc\n".into();
    let mut story = Story::settled(80, 24);
    reading(&mut story);
    story.keys("qj\n");
    story.answer(|ask| matches!(ask, Ask::Delivery(_)), Ok(Answer::Delivery(steering)));
    story.keys("]]");
    assert_eq!(paged(&mut story), "a\u{fffd}[2Jb    c\n", "control characters are replaced");
}

fn of_deliveries(status: &'static str, hook: Option<u64>, since: &str, rows: usize) -> Ask {
    Ask::Deliveries { status, hook, event: String::new(), since: since.into(), rows }
}

#[test]
fn delivery_filters_are_sent_to_the_daemon() {
    let mut story = Story::settled(120, 24);
    on_deliveries(&mut story);
    for (text, asked) in [
        ("state:failed", of_deliveries("failure", None, "", 500)),
        ("hook:12 code:500", of_deliveries("", Some(12), "", 500)),
        ("age:<2h", of_deliveries("", None, "2026-11-21T10:00:00Z", 500)),
    ] {
        story.keys("/");
        story.press(Key::Ctrl('u'));
        story.asked();
        story.tell(Msg::Paste(text.into()));
        assert_eq!(story.asked().last(), Some(&asked), "{text}");
        story.keys("\n");
    }
    story.press(Key::Esc);
    assert!(story.asked().contains(&of_deliveries("", None, "", 500)));
}

#[test]
fn a_partly_loaded_delivery_list_shows_the_total_and_loads_more() {
    let mut story = Story::settled(120, 24);
    story.keys("4");
    let many = |count: i64| {
        let items = (0..count).map(|id| farrier_common::api::Delivery {
            guid: format!("{id:08}-44b0-4a51-8a53-0d7a1b6f0c00"),
            ..delivery(10 + id % 40, "success", 200)
        });
        Answer::Deliveries(crate::ui::net::Page { items: items.collect(), total: Some(12_340), last: true })
    };
    story.answer(|ask| matches!(ask, Ask::Deliveries { .. }), Ok(many(500)));
    assert!(story.text().contains("500 of 12 340 loaded"), "{}", story.text());
    story.asked();
    story.keys("G");
    assert!(story.asked().contains(&of_deliveries("", None, "", 1_000)));
    story.answer_last_of(|ask| matches!(ask, Ask::Deliveries { .. }), Ok(many(1_000)));
    assert!(story.text().contains("1 000 of 12 340 loaded"), "{}", story.text());
    story.asked();
    story.keys("/nothing");
    assert!(story.asked().contains(&of_deliveries("", None, "", 2_000)), "a filter with few matches loads more");
}

#[test]
fn the_hook_menu_lists_all_hooks_with_their_urls() {
    let mut story = Story::settled(120, 40);
    on_deliveries(&mut story);
    story.keys("H");
    story.answer(|ask| *ask == Ask::Hooks(HookOwner::Any), Ok(hooks()));
    let text = story.text();
    assert!(text.contains("All hooks") && text.contains("hook 21    https://lint.lan/r"), "{text}");
}
