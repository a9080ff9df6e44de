//! Hooks: made, changed, switched, deleted, and what they were sent last.

use super::prelude::*;

#[test]
fn a_hook_is_made_with_what_was_chosen_and_a_secret_that_nobody_typed() {
    let mut story = Story::settled(80, 24);
    on_hooks(&mut story);
    story.asked();
    story.keys("n\t\t");
    story.tell(Msg::Paste("https//ci.example.net/hook".into()));
    story.press(Key::Ctrl('s'));
    assert_eq!(story.asked(), []);
    let text = story.text();
    assert!(text.contains("did you mean") && text.contains("https://ci.example.net/hook ?"), "{text}");
    story.press(Key::Ctrl('u'));
    story.tell(Msg::Paste("https://ci.example.net/hook".into()));
    story.keys("\t\t  ");
    story.press(Key::Ctrl('s'));
    let asked = story.asked();
    let [.., Ask::CreateHook(new)] = asked.as_slice() else { panic!("{asked:?}") };
    let wanted = &new.wanted;
    assert!(!new.test && new.unless_above.is_none());
    let config = wanted.config.as_ref().unwrap();
    assert_eq!((wanted.events_exact.as_slice(), wanted.active), (["push".to_owned()].as_slice(), true));
    assert_eq!((config["url"].as_str(), config["is_system_webhook"].as_str()), ("https://ci.example.net/hook", "true"));
    assert!(config["secret"].starts_with("whsec_"));
    assert!(!story.text().contains("whsec_"));
}

#[test]
fn editing_a_hook_sends_no_secret_that_was_not_typed() {
    let mut story = Story::settled(120, 40);
    on_hooks(&mut story);
    story.asked();
    story.keys("je");
    story.press(Key::Ctrl('s'));
    let asked = story.asked();
    let [Ask::EditHook(_, 12, wanted)] = asked.as_slice() else { panic!("{asked:?}") };
    assert!(!wanted.config.as_ref().unwrap().contains_key("secret"));
    assert_eq!((wanted.authorization_header.as_ref(), wanted.clear.len()), (None, 0));
    assert_eq!(wanted.events_exact.as_ref().unwrap().len(), 2);
}

#[test]
fn a_hook_is_switched_with_one_key_and_deleted_only_by_its_number() {
    let mut story = Story::settled(120, 40);
    on_hooks(&mut story);
    story.asked();
    story.keys("jt");
    let asked = story.asked();
    let [Ask::EditHook(_, 12, wanted)] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!((wanted.active, &wanted.config), (Some(false), &None));
    story.keys("D");
    story.pass(Duration::from_millis(300));
    story.asked();
    story.keys("y\n");
    assert_eq!(story.asked(), [], "deliveries were made, so its number is wanted");
    story.press(Key::Ctrl('u'));
    story.keys("12\t\n");
    assert_eq!(story.asked(), [Ask::DeleteHook(HookPlace::Admin, 12)]);
    story.keys("jjT");
    assert!(story.text().contains("default hooks receive no events themselves"), "{}", story.text());
    story.keys("w");
    assert_eq!(story.app.current, ScreenId::Hooks, "no action here, and said so");
}

#[test]
fn a_switch_is_taken_back_for_half_a_minute_and_marks_for_longer() {
    let mut story = Story::settled(120, 40);
    on_hooks(&mut story);
    story.keys("j");
    let switched = |story: &mut Story| {
        let asked = story.asked();
        let [Ask::EditHook(_, 12, wanted)] = asked.as_slice() else { panic!("{asked:?}") };
        wanted.active
    };
    story.asked();
    story.keys("t");
    assert_eq!(switched(&mut story), Some(false));
    story.tell(Msg::Answer(story.app.tickets, Ok(Answer::Done)));
    assert!(story.text().contains("turned off - z undoes"), "{}", story.text());
    story.asked();
    story.keys("z");
    assert_eq!(switched(&mut story), Some(true));
    story.tell(Msg::Answer(story.app.tickets, Ok(Answer::Done)));
    story.pass(Duration::from_secs(31));
    story.asked();
    story.keys("z");
    assert!(!story.asked().iter().any(|ask| matches!(ask, Ask::EditHook(..))), "too late");
    story.keys("2  ");
    story.press(Key::Esc);
    assert!(!story.text().contains("marked"));
    story.keys("z");
    assert!(story.text().contains("marked 2"), "{}", story.text());
}

#[test]
fn beside_a_hook_stands_what_it_was_sent_last() {
    let mut story = Story::settled(120, 40);
    on_hooks(&mut story);
    let last = |ask: &Ask| matches!(ask, Ask::LastDeliveries(_));
    story.keys("jj");
    let asked = story.effects.iter().filter(|e| matches!(e, Effect::Ask(_, ask) if last(ask))).count();
    assert_eq!(asked, 1, "one question at a time, however fast the cursor moves");
    story.answer(last, Ok(Answer::LastDeliveries(vec![delivery(13, "success", 200)])));
    let passed = story.effects.iter().any(|e| matches!(e, Effect::Ask(_, Ask::LastDeliveries(15))));
    assert!(!passed, "nor about one that the cursor may only pass");
    story.rest();
    story.answer(|ask| *ask == Ask::LastDeliveries(15), Ok(Answer::LastDeliveries(vec![delivery(12, "failed", 500)])));
    let text = story.text();
    assert!(text.contains("Last deliveries") && text.contains("11:58:12  push"), "{text}");
}
