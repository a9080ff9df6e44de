//! Forms: checks while typing, the requests they send, and protection against sending twice.

use farrier_common::api::CheckBranchFilter;

use super::prelude::*;

fn hook_form(width: u16, height: u16) -> TestScreen {
    let mut screen = TestScreen::loaded(width, height);
    open_hooks(&mut screen);
    screen.take_requests();
    screen.keys("n\t\t");
    screen.send(Msg::Paste("https://ci.example.net/hook".into()));
    screen
}

fn tabs(screen: &mut TestScreen, many: usize) {
    for _ in 0..many {
        screen.press(Key::Tab);
    }
}

/// Moves to the button that is `back` buttons before the last one.
fn button(screen: &mut TestScreen, back: usize) {
    screen.press(Key::Ctrl('a'));
    while !screen.text().contains(">Cancel<") {
        screen.press(Key::Tab);
    }
    tabs(screen, 2 - back);
}

#[test]
fn create_and_test_opens_the_test_delivery_of_the_new_hook() {
    let mut screen = hook_form(80, 24);
    button(&mut screen, 1);
    assert!(screen.text().contains("[>Create + test<]"), "{}", screen.text());
    screen.take_requests();
    screen.keys("\n");
    let requests = screen.take_requests();
    let [Request::CreateHook(new)] = requests.as_slice() else { panic!("{requests:?}") };
    assert!(new.test);
    let tested = Answer::Tested { hook: 22, delivery: Ok(delivery(14, "pending", 0).guid) };
    screen.send(Msg::Answer(screen.app.tickets, Ok(tested)));
    assert!(screen.text().contains("Secret of hook 22"), "{}", screen.text());
    screen.press(Key::Esc);
    assert!(screen.app.layers.is_empty());
    assert_eq!(screen.app.current, ScreenId::Deliveries);
    screen.answer(
        |request| {
            *request
                == Request::Deliveries {
                    status: "",
                    hook: Some(22),
                    event: String::new(),
                    reason: String::new(),
                    host: String::new(),
                    since: String::new(),
                    rows: 500,
                }
        },
        Ok(deliveries()),
    );
    screen.answer(
        |request| matches!(request, Request::Delivery(id) if id.ends_with("14")),
        Ok(detail(delivery(14, "pending", 0))),
    );
    assert!(screen.text().contains("connection refused"), "{}", screen.text());
}

#[test]
fn a_hook_is_created_even_if_its_test_fails() {
    let mut screen = hook_form(80, 24);
    button(&mut screen, 1);
    screen.keys("\n");
    let tested = Answer::Tested { hook: 22, delivery: Err("it is switched off".into()) };
    screen.send(Msg::Answer(screen.app.tickets, Ok(tested)));
    assert!(screen.text().contains("Hook 22 created, but not tested: it is switched off"), "{}", screen.text());
    assert_eq!(screen.app.current, ScreenId::Hooks);
}

#[test]
fn creating_a_hook_again_after_a_lost_response_checks_for_a_duplicate() {
    let mut screen = hook_form(80, 24);
    screen.press(Key::Ctrl('s'));
    screen.send(Msg::Answer(screen.app.tickets, Err(unreachable())));
    assert_eq!(screen.app.layers.len(), 1, "the form stays open");
    screen.advance(Duration::from_secs(1));
    screen.answer(|request| *request == Request::Status, Ok(status()));
    screen.take_requests();
    screen.press(Key::Ctrl('s'));
    let requests = screen.take_requests();
    let [Request::CreateHook(new)] = requests.as_slice() else { panic!("{requests:?}") };
    assert_eq!(new.unless_above, Some(21), "the retry first looks for a hook with a higher number");
}

#[test]
fn a_branch_filter_is_checked_when_its_field_loses_focus() {
    let mut screen = hook_form(120, 40);
    tabs(&mut screen, 6);
    screen.keys("main");
    assert_eq!(screen.take_requests(), []);
    screen.press(Key::Tab);
    let filter = CheckBranchFilter { branch_filter: "main".into(), repository: String::new() };
    assert_eq!(screen.take_requests(), [Request::CheckBranchFilter(Box::new(filter))]);
    let verdict = Answer::Verdict(true, "matches 2 of the last 5 pushed branches".into());
    screen.send(Msg::Answer(screen.app.tickets, Ok(verdict)));
    assert!(screen.text().contains("ok: matches 2 of the last 5"), "{}", screen.text());
    screen.press(Key::BackTab);
    screen.press(Key::Tab);
    assert_eq!(screen.take_requests(), [], "an unchanged filter is not checked again");
    screen.press(Key::BackTab);
    screen.keys("{");
    screen.press(Key::Tab);
    let refused = refusal("checking the branch filter: [branch_filter]: a { has no } (422)");
    screen.send(Msg::Answer(screen.app.tickets, Err(refused)));
    assert!(screen.text().contains("a { has no }"), "{}", screen.text());
    assert_eq!(screen.app.notice(), None, "the error is shown at its field and not as a notice");
}

#[test]
fn a_generated_secret_can_be_revealed_and_is_sent_with_the_form() {
    let mut screen = hook_form(120, 40);
    assert!(screen.text().contains("(o) generated"), "{}", screen.text());
    tabs(&mut screen, 2);
    assert!(screen.text().contains("********") && !screen.text().contains("whsec_"), "{}", screen.text());
    tabs(&mut screen, 2);
    screen.keys(" ");
    let text = screen.text();
    let shown = text.split('[').find(|part| part.starts_with("whsec_")).unwrap().split(']').next().unwrap().trim();
    screen.press(Key::Ctrl('s'));
    let requests = screen.take_requests();
    let [.., Request::CreateHook(new)] = requests.as_slice() else { panic!("{requests:?}") };
    assert_eq!(new.request.config.as_ref().unwrap()["secret"], shown);
}

#[test]
fn an_insecure_url_or_short_secret_shows_a_warning_but_can_be_saved() {
    let mut screen = hook_form(120, 40);
    screen.press(Key::Ctrl('u'));
    screen.send(Msg::Paste("http://ci.example.net/hook".into()));
    screen.press(Key::Tab);
    assert!(screen.text().contains("warning: HTTP is not encrypted"), "{}", screen.text());
    tabs(&mut screen, 1);
    screen.keys("  \tshort\t");
    assert!(screen.text().contains("shorter than 16 characters"), "{}", screen.text());
    screen.press(Key::Ctrl('s'));
    assert!(matches!(screen.take_requests().as_slice(), [.., Request::CreateHook(_)]));
}

#[test]
fn the_check_button_checks_a_migration_without_starting_it() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.take_requests();
    screen.keys("M");
    screen.send(Msg::Paste("https://h/a.git".into()));
    screen.keys("\t\t");
    screen.press(Key::Ctrl('u'));
    screen.keys("lake2\t");
    assert_eq!(screen.take_requests(), [Request::CheckName("admin/lake2".parse().unwrap())]);
    screen.send(Msg::Answer(screen.app.tickets, Ok(Answer::Verdict(true, "admin/lake2 is free".into()))));
    assert!(screen.text().contains("ok: admin/lake2 is free"), "{}", screen.text());
    button(&mut screen, 1);
    assert!(screen.text().contains("[>Check<]"), "{}", screen.text());
    screen.keys("\n");
    assert!(
        matches!(screen.take_requests().as_slice(), [Request::CheckMigration(request)] if request.repo_name == "lake2")
    );
    assert!(screen.text().contains("checking …"), "{}", screen.text());
    let verdict = Answer::Verdict(true, "the source responds: 12 branches".into());
    screen.send(Msg::Answer(screen.app.tickets, Ok(verdict)));
    assert!(screen.text().contains("the source responds: 12 branches") && screen.app.layers.len() == 1);
    screen.keys("\n");
    let refused = refusal("checking https://h/a.git: [CloneAddr]: authentication failed at the source (422)");
    screen.send(Msg::Answer(screen.app.tickets, Err(refused)));
    assert!(screen.text().contains("! checking https://h/a.git"), "{}", screen.text());
    screen.press(Key::Ctrl('s'));
    assert!(
        matches!(screen.take_requests().as_slice(), [.., Request::MigrateRepository(request)] if request.repo_name == "lake2")
    );
}

#[test]
fn a_form_keeps_its_input_when_the_daemon_rejects_the_request() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.take_requests();
    screen.keys("n\t\n");
    screen.press(Key::Ctrl('s'));
    assert_eq!(screen.take_requests(), []);
    assert!(screen.text().contains("! required"), "{}", screen.text());
    screen.keys("tool");
    screen.press(Key::Ctrl('s'));
    let requests = screen.take_requests();
    let [Request::CreateRepository { owner, request }] = requests.as_slice() else { panic!("{requests:?}") };
    assert_eq!((owner.as_str(), request.name.as_str(), request.private), ("admin", "tool", None));
    screen.press(Key::Ctrl('s'));
    assert_eq!(screen.take_requests(), [], "the form is not submitted twice");
    let ticket = screen.app.layers[0].layer.ticket().unwrap();
    screen.send(Msg::Answer(ticket, Err(refusal("creating admin/tool: [Name]: it is taken (409)"))));
    let text = screen.text();
    assert!(text.contains("[tool") && text.contains("it is taken"), "{text}");
    screen.press(Key::Esc);
    assert!(screen.text().contains("discard changes?"));
    screen.keys("ny");
    assert_eq!(screen.app.layers.len(), 1);
    screen.press(Key::Esc);
    screen.keys("y");
    assert!(screen.app.layers.is_empty());
}

#[test]
fn migration_secrets_are_masked_on_screen_and_in_debug_output() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("M");
    screen.send(Msg::Paste("https://h/a.git\n".into()));
    screen.keys("\t\t\t\t\t  \t");
    screen.press(Key::Up);
    screen.press(Key::Left);
    screen.press(Key::Tab);
    screen.keys("s3cret");
    let text = screen.text();
    assert!(!text.contains("s3cret") && text.contains("********"), "{text}");
    assert!(!format!("{:?}", screen.effects).contains("s3cret"));
}

#[test]
fn the_owner_is_chosen_from_the_organizations_of_the_caller() {
    for (open, owner) in [("n", "Owner"), ("M\t", "Owner")] {
        let mut screen = TestScreen::loaded(80, 24);
        screen.keys(open);
        let own = Answer::Organizations(vec!["data".into(), "infra".into()]);
        screen.answer(|request| *request == Request::OwnOrganizations, Ok(own));
        assert!(screen.text().contains("C-n chooses: admin, data, infra"), "{open}: {}", screen.text());
        screen.press(Key::Ctrl('n'));
        screen.press(Key::Ctrl('n'));
        let text = screen.text();
        let line = text.lines().find(|line| line.contains(&format!("> {owner}"))).unwrap();
        assert!(line.contains("[infra "), "{open}: {line}");
        screen.press(Key::Ctrl('n'));
        screen.keys("x");
        assert!(screen.text().contains("[adminx "), "other owners can be typed: {}", screen.text());
    }
}

#[test]
fn a_form_that_is_opened_before_the_daemon_names_the_caller_gets_the_owner() {
    for (keys, owner) in [("n", "admin"), ("M", "admin"), ("ninfra", "infra"), ("M\tinfra", "infra")] {
        let mut screen = test_terminal(80, 24).start();
        screen.keys(keys);
        screen.answer(|request| *request == Request::Status, Ok(status()));
        assert!(screen.text().contains(&format!("[{owner} ")), "{keys}: {}", screen.text());
    }
}

#[test]
fn forms_leave_the_visibility_of_new_repositories_to_the_daemon() {
    for open in ["n", "M"] {
        let mut screen = TestScreen::loaded(80, 24);
        screen.keys(open);
        let text = screen.text();
        let line = text.lines().find(|line| line.contains("Visibility")).unwrap();
        assert!(line.contains("(o) default"), "{open}: {line}");
    }
}

#[test]
fn chat_hook_types_show_and_send_their_own_fields() {
    let mut screen = TestScreen::loaded(120, 40);
    open_hooks(&mut screen);
    screen.keys("n\t");
    for _ in 0..7 {
        screen.press(Key::Right);
    }
    let text = screen.text();
    assert!(text.contains("telegram") && text.contains("Chat ID") && !text.contains("URL *"), "{text}");
    screen.press(Key::Right);
    let text = screen.text();
    assert!(text.contains("Homeserver") && !text.contains("Chat ID"), "{text}");
    screen.keys("\thttps://matrix.example.net\t!ops:example.net\tsecret-token");
    assert!(!screen.text().contains("secret-token"), "{}", screen.text());
    screen.take_requests();
    screen.press(Key::Ctrl('s'));
    let requests = screen.take_requests();
    let [Request::CreateHook(new)] = requests.as_slice() else { panic!("{requests:?} {}", screen.text()) };
    let config = new.request.config.clone().unwrap();
    assert_eq!(new.request.r#type, "matrix");
    assert_eq!((config["room_id"].as_str(), config["access_token"].as_str()), ("!ops:example.net", "secret-token"));
    assert!(!config.contains_key("url") && !config.contains_key("chat_id"), "{config:?}");
    assert!(!config.contains_key("secret"), "no secret is generated for a chat service");
}

#[test]
fn a_secret_is_generated_only_for_types_whose_receivers_check_signatures() {
    let mut screen = hook_form(120, 40);
    let mode = |screen: &TestScreen| {
        let text = screen.text();
        ["none", "typed", "generated"].into_iter().find(|mode| text.contains(&format!("(o) {mode}"))).unwrap()
    };
    assert_eq!(mode(&screen), "generated");
    screen.press(Key::BackTab);
    for expected in ["generated", "generated", "generated", "none"] {
        screen.press(Key::Right);
        assert_eq!(mode(&screen), expected, "{}", screen.text());
    }
    screen.press(Key::Left);
    assert_eq!(mode(&screen), "generated");
    // From the type over the URL and the content to the secret.
    tabs(&mut screen, 3);
    screen.keys("  \tmy-own-long-secret");
    for _ in 0..4 {
        screen.press(Key::BackTab);
    }
    screen.press(Key::Right);
    screen.press(Key::Left);
    screen.press(Key::Ctrl('s'));
    let requests = screen.take_requests();
    let [.., Request::CreateHook(new)] = requests.as_slice() else { panic!("{requests:?} {}", screen.text()) };
    assert_eq!(new.request.config.as_ref().unwrap()["secret"], "my-own-long-secret");
    assert_eq!(new.request.r#type, "gogs");
    assert!(new.shown_once.is_none(), "a typed secret is known to the user");
}

#[test]
fn a_generated_secret_stays_the_same_while_receivers_check_signatures() {
    let mut screen = hook_form(120, 40);
    tabs(&mut screen, 4);
    screen.keys(" ");
    let shown = |screen: &TestScreen| {
        let text = screen.text();
        text.split('[').find(|part| part.starts_with("whsec_")).map(|part| part.split(']').next().unwrap().to_owned())
    };
    let before = shown(&screen);
    assert!(before.is_some(), "{}", screen.text());
    // Back over the secret, its kind, the content and the URL to the type.
    for _ in 0..5 {
        screen.press(Key::BackTab);
    }
    screen.press(Key::Right);
    assert_eq!(shown(&screen), before, "{}", screen.text());
}
