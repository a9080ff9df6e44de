//! Forms: what they find out, what they ask for, what they never do twice.

use farrier_common::api::CheckBranchFilter;

use super::prelude::*;

fn hook_form(width: u16, height: u16) -> Story {
    let mut story = Story::settled(width, height);
    on_hooks(&mut story);
    story.asked();
    story.keys("n\t\t");
    story.tell(Msg::Paste("https://ci.example.net/hook".into()));
    story
}

fn tabs(story: &mut Story, many: usize) {
    for _ in 0..many {
        story.press(Key::Tab);
    }
}

/// To the button that is `back` places before the last one.
fn button(story: &mut Story, back: usize) {
    story.press(Key::Ctrl('a'));
    while !story.text().contains(">Cancel<") {
        story.press(Key::Tab);
    }
    tabs(story, 2 - back);
}

#[test]
fn a_hook_that_is_made_and_tested_is_seen_being_tested() {
    let mut story = hook_form(80, 24);
    button(&mut story, 1);
    assert!(story.text().contains("[>Create + test<]"), "{}", story.text());
    story.asked();
    story.keys("\n");
    let asked = story.asked();
    let [Ask::CreateHook(new)] = asked.as_slice() else { panic!("{asked:?}") };
    assert!(new.test);
    let made = Answer::Tested { hook: 22, delivery: Ok(delivery(14, "pending", 0).guid) };
    story.tell(Msg::Answer(story.app.tickets, Ok(made)));
    assert!(story.app.layers.is_empty());
    assert_eq!(story.app.current, ScreenId::Deliveries);
    story.answer(
        |ask| {
            *ask == Ask::Deliveries {
                status: "",
                hook: Some(22),
                event: String::new(),
                since: String::new(),
                rows: 500,
            }
        },
        Ok(deliveries()),
    );
    story.answer(|ask| matches!(ask, Ask::Delivery(id) if id.ends_with("14")), Ok(detail(delivery(14, "pending", 0))));
    assert!(story.text().contains("connection refused"), "{}", story.text());
}

#[test]
fn a_hook_that_could_not_be_tested_is_there_all_the_same() {
    let mut story = hook_form(80, 24);
    button(&mut story, 1);
    story.keys("\n");
    let made = Answer::Tested { hook: 22, delivery: Err("it is switched off".into()) };
    story.tell(Msg::Answer(story.app.tickets, Ok(made)));
    assert!(story.text().contains("Hook 22 created, but not tested: it is switched off"), "{}", story.text());
    assert_eq!(story.app.current, ScreenId::Hooks);
}

#[test]
fn a_hook_whose_answer_was_lost_is_not_made_twice() {
    let mut story = hook_form(80, 24);
    story.press(Key::Ctrl('s'));
    story.tell(Msg::Answer(story.app.tickets, Err(unreachable())));
    assert_eq!(story.app.layers.len(), 1, "nothing that was typed is lost");
    story.pass(Duration::from_secs(1));
    story.answer(|ask| *ask == Ask::Status, Ok(status()));
    story.asked();
    story.press(Key::Ctrl('s'));
    let asked = story.asked();
    let [Ask::CreateHook(new)] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!(new.unless_above, Some(21), "hooks above that are looked at first");
}

#[test]
fn a_branch_filter_is_tried_when_it_is_left_and_not_while_it_is_typed() {
    let mut story = hook_form(120, 40);
    tabs(&mut story, 4);
    story.keys("main");
    assert_eq!(story.asked(), []);
    story.press(Key::Tab);
    let filter = CheckBranchFilter { branch_filter: "main".into(), repository: String::new() };
    assert_eq!(story.asked(), [Ask::CheckBranchFilter(Box::new(filter))]);
    let said = Answer::Verdict(true, "matches 2 of the last 5 pushed branches".into());
    story.tell(Msg::Answer(story.app.tickets, Ok(said)));
    assert!(story.text().contains("ok: matches 2 of the last 5"), "{}", story.text());
    story.press(Key::BackTab);
    story.press(Key::Tab);
    assert_eq!(story.asked(), [], "the same is not asked twice");
    story.press(Key::BackTab);
    story.keys("{");
    story.press(Key::Tab);
    let refused = refusal("checking the branch filter: [branch_filter]: a { has no } (422)");
    story.tell(Msg::Answer(story.app.tickets, Err(refused)));
    assert!(story.text().contains("a { has no }"), "{}", story.text());
    assert_eq!(story.app.notice(), None, "it is said where it belongs");
}

#[test]
fn a_generated_secret_is_shown_on_request_and_is_what_is_sent() {
    let mut story = hook_form(120, 40);
    tabs(&mut story, 2);
    story.keys("  ");
    assert!(story.text().contains("********") && !story.text().contains("whsec_"), "{}", story.text());
    tabs(&mut story, 2);
    story.keys(" ");
    let text = story.text();
    let shown = text.split('[').find(|part| part.starts_with("whsec_")).unwrap().split(']').next().unwrap().trim();
    story.press(Key::Ctrl('s'));
    let asked = story.asked();
    let [.., Ask::CreateHook(new)] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!(new.wanted.config.as_ref().unwrap()["secret"], shown);
}

#[test]
fn what_is_odd_about_an_address_or_a_secret_is_said_and_stops_nothing() {
    let mut story = hook_form(120, 40);
    story.press(Key::Ctrl('u'));
    story.tell(Msg::Paste("http://ci.example.net/hook".into()));
    story.press(Key::Tab);
    assert!(story.text().contains("warning: HTTP is not encrypted"), "{}", story.text());
    tabs(&mut story, 1);
    story.keys(" \tshort\t");
    assert!(story.text().contains("shorter than 16 characters"), "{}", story.text());
    story.press(Key::Ctrl('s'));
    assert!(matches!(story.asked().as_slice(), [.., Ask::CreateHook(_)]));
}

#[test]
fn a_migration_is_checked_before_anything_is_made() {
    let mut story = Story::settled(80, 24);
    story.asked();
    story.keys("M");
    story.tell(Msg::Paste("https://h/a.git".into()));
    story.keys("\t\t");
    story.press(Key::Ctrl('u'));
    story.keys("lake2\t");
    assert_eq!(story.asked(), [Ask::CheckName("admin/lake2".parse().unwrap())]);
    story.tell(Msg::Answer(story.app.tickets, Ok(Answer::Verdict(true, "admin/lake2 is free".into()))));
    assert!(story.text().contains("ok: admin/lake2 is free"), "{}", story.text());
    button(&mut story, 1);
    assert!(story.text().contains("[>Check<]"), "{}", story.text());
    story.keys("\n");
    assert!(matches!(story.asked().as_slice(), [Ask::CheckMigration(wanted)] if wanted.repo_name == "lake2"));
    assert!(story.text().contains(".."), "{}", story.text());
    let said = Answer::Verdict(true, "the source responds: 12 branches".into());
    story.tell(Msg::Answer(story.app.tickets, Ok(said)));
    assert!(story.text().contains("the source responds: 12 branches") && story.app.layers.len() == 1);
    story.keys("\n");
    let refused = refusal("checking https://h/a.git: [CloneAddr]: authentication failed at the source (422)");
    story.tell(Msg::Answer(story.app.tickets, Err(refused)));
    assert!(story.text().contains("! checking https://h/a.git"), "{}", story.text());
    story.press(Key::Ctrl('s'));
    assert!(matches!(story.asked().as_slice(), [.., Ask::MigrateRepository(wanted)] if wanted.repo_name == "lake2"));
}

#[test]
fn a_form_keeps_what_was_typed_when_the_daemon_refuses() {
    let mut story = Story::settled(80, 24);
    story.asked();
    story.keys("n\t\n");
    story.press(Key::Ctrl('s'));
    assert_eq!(story.asked(), []);
    assert!(story.text().contains("! required"), "{}", story.text());
    story.keys("tool");
    story.press(Key::Ctrl('s'));
    let asked = story.asked();
    let [Ask::CreateRepository { owner, wanted }] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!(
        (owner.as_str(), wanted.name.as_str(), wanted.private),
        ("admin", "tool", farrier_common::defaults::REPOSITORY_PRIVATE)
    );
    story.press(Key::Ctrl('s'));
    assert_eq!(story.asked(), [], "once is enough");
    let ticket = story.app.layers[0].layer.ticket().unwrap();
    story.tell(Msg::Answer(ticket, Err(refusal("creating admin/tool: [Name]: it is taken (409)"))));
    let text = story.text();
    assert!(text.contains("[tool") && text.contains("it is taken"), "{text}");
    story.press(Key::Esc);
    assert!(story.text().contains("discard changes?"));
    story.keys("ny");
    assert_eq!(story.app.layers.len(), 1);
    story.press(Key::Esc);
    story.keys("y");
    assert!(story.app.layers.is_empty());
}

#[test]
fn secrets_of_a_migration_are_never_drawn() {
    let mut story = Story::settled(80, 24);
    story.keys("M");
    story.tell(Msg::Paste("https://h/a.git\n".into()));
    story.keys("\t\t\t\t\t  \t");
    story.press(Key::Up);
    story.press(Key::Left);
    story.press(Key::Tab);
    story.keys("s3cret");
    let text = story.text();
    assert!(!text.contains("s3cret") && text.contains("********"), "{text}");
    assert!(!format!("{:?}", story.effects).contains("s3cret"));
}

#[test]
fn the_owner_is_chosen_from_the_organizations_of_the_caller() {
    for (open, owner) in [("n", "Owner"), ("M\t", "Owner")] {
        let mut story = Story::settled(80, 24);
        story.keys(open);
        let own = Answer::Organizations(vec!["data".into(), "infra".into()]);
        story.answer(|ask| *ask == Ask::OwnOrganizations, Ok(own));
        assert!(story.text().contains("C-n chooses: admin, data, infra"), "{open}: {}", story.text());
        story.press(Key::Ctrl('n'));
        story.press(Key::Ctrl('n'));
        let text = story.text();
        let line = text.lines().find(|line| line.contains(&format!("> {owner}"))).unwrap();
        assert!(line.contains("[infra "), "{open}: {line}");
        story.press(Key::Ctrl('n'));
        story.keys("x");
        assert!(story.text().contains("[adminx "), "others can be typed: {}", story.text());
    }
}

#[test]
fn a_new_repository_is_as_visible_as_on_the_command_line() {
    for open in ["n", "M"] {
        let mut story = Story::settled(80, 24);
        story.keys(open);
        let text = story.text();
        let line = text.lines().find(|line| line.contains("Visibility")).unwrap();
        let is_private = line.contains("(o) private");
        assert_eq!(is_private, farrier_common::defaults::REPOSITORY_PRIVATE, "{open}: {line}");
    }
}

#[test]
fn chats_of_all_types_are_offered_with_their_own_settings() {
    let mut story = Story::settled(120, 40);
    on_hooks(&mut story);
    story.keys("n\t");
    for _ in 0..7 {
        story.press(Key::Right);
    }
    let text = story.text();
    assert!(text.contains("telegram") && text.contains("Chat ID") && !text.contains("URL *"), "{text}");
    story.press(Key::Right);
    let text = story.text();
    assert!(text.contains("Homeserver") && !text.contains("Chat ID"), "{text}");
    story.keys("\thttps://matrix.example.net\t!ops:example.net\tsecret-token");
    assert!(!story.text().contains("secret-token"), "{}", story.text());
    story.asked();
    story.press(Key::Ctrl('s'));
    let asked = story.asked();
    let [Ask::CreateHook(new)] = asked.as_slice() else { panic!("{asked:?} {}", story.text()) };
    let config = new.wanted.config.clone().unwrap();
    assert_eq!(new.wanted.r#type, "matrix");
    assert_eq!((config["room_id"].as_str(), config["access_token"].as_str()), ("!ops:example.net", "secret-token"));
    assert!(!config.contains_key("url") && !config.contains_key("chat_id"), "{config:?}");
}
