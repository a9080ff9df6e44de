//! The daemon at a glance: what is wrong, what happens, who may see it.

use super::prelude::*;
use crate::ui::net::Kind;

#[test]
fn what_is_wrong_is_opened_from_the_dashboard() {
    let mut story = Story::settled(80, 24);
    story.keys("1");
    story.answer(|ask| *ask == Ask::Status, Ok(status()));
    story.answer(|ask| *ask == Ask::Series, Ok(series()));
    story.answer(|ask| *ask == Ask::FailingHooks, Ok(hooks()));
    let text = story.text();
    assert!(text.contains("hook 12 failed 22 times in a row") && text.contains("p50 2 ms"), "{text}");
    story.keys("\n");
    assert!(story.text().contains("this is about the whole daemon"), "{}", story.text());
    story.keys("jj\n");
    assert_eq!(story.app.current, ScreenId::Deliveries);
    assert!(story.asked().iter().any(|ask| matches!(ask, Ask::Deliveries { hook: Some(12), .. })));
}

#[test]
fn who_may_not_see_figures_sees_the_rest() {
    let mut story = Story::settled(80, 24);
    story.keys("1");
    story.answer(|ask| *ask == Ask::Status, Ok(status()));
    let forbidden = Problem::new(Kind::Forbidden, "asking: user should be the site admin (403)");
    story.answer(|ask| *ask == Ask::Series, Err(forbidden));
    let text = story.text();
    assert!(text.contains("memory 14.0 MiB") && !text.contains("requests"), "{text}");
    assert_eq!(story.app.notice(), None);
    assert!(text.contains("? figures not checked: asking: user should be the site admin (403)"), "{text}");
    assert!(text.contains("live  2 problems"), "{text}");
    story.pass(Duration::from_secs(2));
    story.answer(|ask| *ask == Ask::Series, Ok(series()));
    assert!(!story.text().contains("not checked"), "{}", story.text());
}

#[test]
fn events_are_followed_and_taken_up_where_they_ended() {
    let mut story = Story::settled(120, 40);
    story.keys("1");
    story.answer(|ask| *ask == Ask::Status, Ok(status()));
    let event = farrier_common::api::Event {
        id: 7,
        kind: "push".into(),
        at: "2026-11-21T12:00:00Z".into(),
        repository: "infra/gateway".into(),
        r#ref: "refs/heads/main".into(),
        ..Default::default()
    };
    let following = |ask: &Ask| matches!(ask, Ask::Events { .. });
    story.answer(following, Ok(Answer::Event(Box::new(event))));
    let text = story.text();
    assert!(text.contains("12:00:00  push") && text.contains("infra/gateway  main"), "{text}");
    story.answer(following, Ok(Answer::Done));
    story.asked();
    story.pass(Duration::from_secs(2));
    assert!(story.asked().contains(&Ask::Events { after: Some(7) }));
    // What stands still follows nothing, and goes on where it was.
    let ticket = story.app.tickets;
    story.keys("p");
    assert!(story.effects.iter().any(|effect| matches!(effect, Effect::Cancel(_))), "{ticket}");
    story.asked();
    story.pass(Duration::from_secs(9));
    assert_eq!(story.asked(), []);
    story.keys("p");
    story.pass(Duration::from_secs(9));
    assert!(story.asked().contains(&Ask::Events { after: Some(7) }));
}
