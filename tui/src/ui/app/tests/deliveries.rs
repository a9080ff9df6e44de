//! Deliveries: listed, read, searched, sent again.

use super::prelude::*;

#[test]
fn a_delivery_is_read_in_parts_and_sent_again_only_after_a_question() {
    let mut story = Story::settled(80, 24);
    on_hooks(&mut story);
    story.keys("j\n");
    assert_eq!(story.app.current, ScreenId::Deliveries);
    story.answer(|ask| *ask == Ask::Deliveries { status: "", hook: Some(12), event: String::new() }, Ok(deliveries()));
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
    assert_eq!(story.asked().last(), Some(&Ask::Deliveries { status: "", hook: None, event: String::new() }));
}

#[test]
fn only_one_delivery_is_asked_for_at_a_time_however_fast_the_cursor_moves() {
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
fn deliveries_of_one_event_are_asked_for() {
    let mut story = Story::settled(80, 24);
    story.keys("4");
    story.answer(|ask| matches!(ask, Ask::Deliveries { .. }), Ok(deliveries()));
    story.asked();
    story.keys("E");
    story.press(Key::Down);
    story.keys("\n");
    assert_eq!(story.asked(), [Ask::Deliveries { status: "", hook: None, event: "push".into() }]);
    assert!(story.text().contains("event: push"), "{}", story.text());
    story.keys("q");
    assert_eq!(story.asked(), [Ask::Deliveries { status: "", hook: None, event: String::new() }]);
}

#[test]
fn a_text_is_searched_and_shown_as_bytes() {
    let mut story = Story::settled(80, 24);
    reading(&mut story);
    story.keys("/refused\n");
    assert!(story.text().contains("1 of 3 with refused"), "{}", story.text());
    story.keys("nnn");
    assert!(story.text().contains("1 of 3"), "it begins again: {}", story.text());
    story.keys("N");
    assert!(story.text().contains("3 of 3"), "{}", story.text());
    let underlined = |story: &Story| story.styles().matches('U').count();
    assert_eq!(underlined(&story), 3 * "refused".len());
    story.press(Key::Esc);
    assert_eq!((underlined(&story), story.text().contains("[Summary]")), (0, true), "the search went first");
    story.keys("]b");
    assert!(story.text().contains("00000000  7b 0a 20 20 22 72 65 66"), "{}", story.text());
    story.keys("yc");
    let copied = story.effects.iter().find_map(|e| if let Effect::Copy(text) = e { Some(text.clone()) } else { None });
    assert!(copied.unwrap().starts_with("curl -i -X POST 'https://ci.example.net/hook'"));
}

#[test]
fn a_body_goes_to_the_pager_and_what_is_wrong_with_that_is_said() {
    let mut story = Story::settled(80, 24);
    reading(&mut story);
    let text = story.text();
    assert!(text.contains("next try 12:04:07 - R now") && text.contains("FAIL in 38 ms  try 4"), "{text}");
    let paged = |story: &mut Story| {
        story.asked();
        story.keys("o");
        story.effects.iter().find_map(|e| if let Effect::Page(text) = e { Some(text.clone()) } else { None }).unwrap()
    };
    assert!(paged(&mut story).contains("connection refused"), "the lines of a part that has no body");
    story.keys("]");
    assert!(story.text().contains("── body 25 bytes, as text, wrap on ──"), "{}", story.text());
    assert_eq!(paged(&mut story), "{\n  \"ref\": \"refs/heads/main\"\n}\n");
    story.keys("bw");
    assert!(story.text().contains("── body 25 bytes, as bytes, wrap off ──"), "{}", story.text());
    assert!(paged(&mut story).contains("00000000  7b 0a"));
    story.tell(Msg::Paged(Err("there is no less; PAGER says what is used".into())));
    assert!(story.text().contains("there is no less; PAGER says what is used"), "{}", story.text());
    let Answer::Delivery(mut steering) = detail(delivery(13, "success", 200)) else { unreachable!() };
    steering.response.payload = "a\x1b[2Jb\tc\n".into();
    let mut story = Story::settled(80, 24);
    reading(&mut story);
    story.keys("qj\n");
    story.answer(|ask| matches!(ask, Ask::Delivery(_)), Ok(Answer::Delivery(steering)));
    story.keys("]]");
    assert_eq!(paged(&mut story), "a\u{fffd}[2Jb    c\n", "nothing steers a terminal");
}
