use farrier_common::api::MigrationProgress;

use super::prelude::*;

#[test]
fn the_first_thing_asked_is_what_is_shown_first() {
    let mut story = Story::new(80, 24);
    assert_eq!(story.asked(), [Ask::Repositories, Ask::Status]);
    assert_eq!(story.app.server(), "farrier");
    let story = Story::settled(80, 24);
    assert_eq!((story.app.server(), &story.app.world.link), ("forge01.lan", &Link::Up));
}

#[test]
fn nothing_is_deleted_by_enter_and_nothing_by_what_was_typed_ahead() {
    let mut story = Story::settled(80, 24);
    story.asked();
    // Typed before the question could be read.
    story.keys("Ddata/lake\n\t\n");
    assert_eq!(story.asked(), []);
    assert_eq!(story.app.layers.len(), 1);
    story.pass(Duration::from_millis(300));
    story.keys("data/lak\n\t\n");
    assert_eq!(story.asked(), [], "the name is not complete");
    story.tell(Msg::Paste("e".into()));
    story.keys("\n");
    assert_eq!(story.asked(), [], "a paste answers no question");
    story.keys("\te\t\n");
    assert_eq!(story.asked(), [Ask::DeleteRepository("data/lake".parse().unwrap())]);
    assert!(story.app.layers.is_empty());
}

#[test]
fn a_daemon_that_went_away_is_said_and_tried_again_and_rows_stay() {
    let mut story = Story::settled(80, 24);
    story.pass(Duration::from_secs(5));
    story.answer(|ask| *ask == Ask::Repositories, Err(unreachable()));
    let text = story.text();
    assert!(text.contains("!! No connection to") && text.contains("infra/gateway"), "{text}");
    story.asked();
    story.keys("D");
    assert!(story.app.layers.is_empty(), "changes are off");
    assert!(story.text().contains("off until the daemon answers"), "{}", story.text());
    story.pass(Duration::from_millis(400));
    assert_eq!(story.asked(), [Ask::Status]);
    story.pass(Duration::from_secs(20));
    assert_eq!(story.asked(), [], "one try at a time");
    story.keys("jk/x");
    assert!(story.text().contains("nothing matches x"), "{}", story.text());
}

#[test]
fn a_daemon_that_came_back_is_asked_again() {
    let mut story = Story::new(80, 24);
    story.answer(|ask| *ask == Ask::Repositories, Err(unreachable()));
    assert!(story.text().contains("looked at"), "{}", story.text());
    story.pass(Duration::from_secs(1));
    story.answer(|ask| *ask == Ask::Status, Ok(status()));
    assert_eq!(story.app.world.link, Link::Up);
    story.answer(|ask| *ask == Ask::Repositories, Ok(repositories(&NAMES)));
    assert!(story.text().contains("data/lake"));
}

#[test]
fn the_cursor_is_on_a_repository_and_not_on_a_row() {
    let mut story = Story::settled(80, 24);
    story.keys("jj");
    let under = |story: &Story| story.text().lines().find(|line| line.starts_with('>')).unwrap().to_owned();
    assert!(under(&story).contains("infra/gateway"));
    story.pass(Duration::from_secs(6));
    let names = ["infra/gateway", "a/first", "a/second", "b/third"];
    story.answer(|ask| *ask == Ask::Repositories, Ok(repositories(&names)));
    assert!(under(&story).contains("infra/gateway"));
    story.pass(Duration::from_secs(6));
    let rest = listed(None, vec![repository(2, "a/first"), repository(4, "b/third")]);
    story.answer(|ask| *ask == Ask::Repositories, Ok(rest));
    assert!(story.text().contains("infra/gateway was removed"), "{}", story.text());
    assert!(under(&story).contains("b/third"));
}

#[test]
fn a_form_keeps_what_was_typed_when_the_daemon_refuses() {
    let mut story = Story::settled(80, 24);
    story.asked();
    story.keys("n\t\n");
    story.press(Key::Ctrl('s'));
    assert_eq!(story.asked(), []);
    assert!(story.text().contains("! needed"), "{}", story.text());
    story.keys("tool");
    story.press(Key::Ctrl('s'));
    let asked = story.asked();
    let [Ask::CreateRepository { owner, wanted }] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!((owner.as_str(), wanted.name.as_str(), wanted.private), ("admin", "tool", true));
    story.press(Key::Ctrl('s'));
    assert_eq!(story.asked(), [], "once is enough");
    let ticket = story.app.layers[0].ticket().unwrap();
    story.tell(Msg::Answer(ticket, Err(refusal("making admin/tool: [Name]: it is taken (409)"))));
    let text = story.text();
    assert!(text.contains("[tool") && text.contains("it is taken"), "{text}");
    story.press(Key::Esc);
    assert!(story.text().contains("discard what was typed?"));
    story.keys("ny");
    assert_eq!(story.app.layers.len(), 1);
    story.press(Key::Esc);
    story.keys("y");
    assert!(story.app.layers.is_empty());
}

#[test]
fn a_made_repository_is_under_the_cursor() {
    let mut story = Story::settled(80, 24);
    story.keys("n\ttool");
    story.press(Key::Ctrl('s'));
    let made = repository(77, "admin/tool");
    story.answer(|ask| matches!(ask, Ask::CreateRepository { .. }), Ok(Answer::Repository(Box::new(made.clone()))));
    assert!(story.app.layers.is_empty());
    let items = vec![repository(1, "infra/gateway"), made, repository(2, "data/lake")];
    story.answer(|ask| *ask == Ask::Repositories, Ok(listed(None, items)));
    let text = story.text();
    assert!(text.lines().any(|line| line.starts_with('>') && line.contains("admin/tool")), "{text}");
}

#[test]
fn a_migration_is_followed_closely_until_it_ends() {
    let mut story = Story::settled(80, 24);
    let mut going = repository(9, "data/lake2");
    going.farrier_migration = Some(MigrationProgress {
        state: "running".into(),
        phase: "receiving objects".into(),
        objects_received: 412_204,
        ..MigrationProgress::default()
    });
    story.pass(Duration::from_secs(6));
    story.answer(|ask| *ask == Ask::Repositories, Ok(listed(None, vec![going])));
    story.keys("\n");
    let text = story.text();
    assert!(text.contains("receiving objects") && text.contains("X cancels it"), "{text}");
    story.answer(|ask| *ask == Ask::Tasks, Ok(tasks()));
    let text = story.text();
    for line in [
        "connecting            done      0.4 s",
        "[█████·····] 56 %",
        "412 204 of 733 120   38.2 MiB   18.2 MiB/s   ETA 00:01",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    for seconds in [1, 1] {
        story.asked();
        story.pass(Duration::from_secs(seconds));
        story.answer(|ask| *ask == Ask::Repositories, Ok(repositories(&NAMES)));
    }
    story.asked();
    story.pass(Duration::from_secs(4));
    assert_eq!(story.asked(), [], "nothing is fetched any more, so there is time");
}

#[test]
fn secrets_of_a_migration_are_never_drawn() {
    let mut story = Story::settled(80, 24);
    story.keys("M");
    story.tell(Msg::Paste("https://h/a.git\n".into()));
    story.keys("\t\tlake\t\t\t  \t");
    story.press(Key::Up);
    story.press(Key::Right);
    for _ in 0..2 {
        story.press(Key::Tab);
    }
    story.keys("s3cret");
    let text = story.text();
    assert!(!text.contains("s3cret") && text.contains("********"), "{text}");
    assert!(!format!("{:?}", story.effects).contains("s3cret"));
}

#[test]
fn the_palette_goes_to_the_screen_of_the_command() {
    let mut story = Story::settled(80, 24);
    story.keys(":stat\n");
    assert_eq!(story.app.current, ScreenId::Dashboard);
    story.keys(":repo cr\n");
    assert_eq!((story.app.current, story.app.layers.len()), (ScreenId::Repositories, 1));
    assert!(story.text().contains("New repository"));
    story.keys("\x1b-");
    assert_eq!(story.app.current, ScreenId::Dashboard);
}

#[test]
fn read_only_changes_nothing_and_says_why() {
    let mut story = Story::settled(80, 24);
    story.app.world.read_only = true;
    story.asked();
    story.keys("Dn");
    assert!(story.app.layers.is_empty() && story.asked().is_empty());
    assert!(story.text().contains("--read-only was given"));
    story.keys("x");
    assert!(story.text().contains("off: --read-only"), "{}", story.text());
}

#[test]
fn nothing_wakes_the_program_when_nothing_is_live() {
    let mut story = Story::settled(80, 24);
    assert!(story.app.wake_at().is_some());
    let rests = |story: &Story| story.effects.iter().filter(|effect| matches!(effect, Effect::Rest)).count();
    story.keys("p");
    assert_eq!(rests(&story), 1, "no connection is kept");
    story.keys("j");
    assert_eq!(rests(&story), 1);
    assert_eq!(story.app.wake_at(), None);
    story.keys("Q");
    assert_eq!(story.app.wake_at(), Some(Duration::from_secs(4)), "only the notice");
    story.pass(Duration::from_secs(4));
    assert_eq!(story.app.wake_at(), None);
}

#[test]
fn over_a_slow_line_figures_come_more_seldom() {
    let mut story = Story::settled(80, 24);
    let comes = |story: &mut Story| {
        story.keys("2");
        story.asked();
        story.keys("1");
        for _ in 0..2 {
            story.answer(|ask| *ask == Ask::Status, Ok(status()));
            story.answer(|ask| *ask == Ask::Series, Ok(series()));
        }
        story.asked();
        story.pass(Duration::from_secs(3));
        story.asked().contains(&Ask::Series)
    };
    assert!(comes(&mut story));
    story.tell(Msg::Slow(true));
    assert!(story.text().contains(" slow  "), "{}", story.text());
    assert!(!comes(&mut story));
    story.pass(Duration::from_secs(2));
    assert!(story.asked().contains(&Ask::Series));
    story.tell(Msg::Slow(false));
    assert!(!story.text().contains(" slow  "), "{}", story.text());
}

#[test]
fn a_key_that_means_nothing_is_spoken_of_once_a_second() {
    let mut story = Story::settled(80, 24);
    let before = story.app.messages.len();
    story.keys(&"Q".repeat(50));
    assert!(story.text().contains("no action on 'Q' here, ? help"), "{}", story.text());
    assert_eq!(story.app.messages.len(), before + 1);
    story.pass(Duration::from_secs(1));
    story.keys("QQE");
    assert_eq!(story.app.messages.len(), before + 3, "again, and about another key at once");
}

#[test]
fn a_paste_where_nothing_is_typed_does_nothing() {
    let mut story = Story::settled(80, 24);
    story.asked();
    story.tell(Msg::Paste("D\nq\n".into()));
    assert!(story.app.layers.is_empty() && story.asked().is_empty() && story.quits().is_none());
    story.keys("/");
    story.tell(Msg::Paste("data\n".into()));
    assert!(story.text().contains("data/lake") && !story.text().contains("web/site"));
}

#[test]
fn leaving_goes_back_before_it_quits() {
    let mut story = Story::settled(80, 24);
    story.keys("/data\n\nqq");
    assert_eq!(story.quits(), None, "detail and filter went first: {}", story.text());
    story.keys("q");
    assert_eq!(story.quits(), Some(0));
    let mut story = Story::settled(80, 24);
    story.tell(Msg::Signal(15));
    assert_eq!(story.quits(), Some(143));
}

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
    assert!(story.text().contains("a default hook hears of nothing itself"), "{}", story.text());
    story.keys("w");
    assert_eq!(story.app.current, ScreenId::Hooks, "no action here, and said so");
}

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
    let asked = story.asked();
    assert!(matches!(asked.last(), Some(Ask::Delivery(id)) if id.ends_with("12")), "{asked:?}");
}

#[test]
fn an_action_is_about_the_mark_and_never_about_a_row_beside_it() {
    let mut story = Story::settled(80, 24);
    story.keys(" D");
    assert!(story.text().contains("Delete repository data/lake"), "{}", story.text());
    story.press(Key::Esc);
    story.pass(Duration::from_millis(300));
    story.press(Key::Esc);
    story.keys("  D");
    assert!(story.app.layers.is_empty());
    assert!(story.text().contains("3 are marked"), "{}", story.text());
    on_hooks(&mut story);
    story.asked();
    story.keys(" t");
    assert!(matches!(story.asked().as_slice(), [Ask::EditHook(_, 3, _)]));
    story.keys(" t");
    assert_eq!(story.asked(), []);
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

#[test]
fn a_long_list_is_not_asked_for_all_the_time() {
    let mut story = Story::new(80, 24);
    story.answer(|ask| *ask == Ask::Status, Ok(status()));
    let items = (0..20_000).map(|id| repository(id % 20 + id * 20, &format!("infra/service-{id:05}"))).collect();
    story.answer(|ask| *ask == Ask::Repositories, Ok(listed(Some(20_000), items)));
    story.asked();
    for _ in 0..9 {
        assert!(story.app.wake_at().is_some_and(|at| at <= story.now + Duration::from_secs(6)));
        story.pass(Duration::from_secs(9));
        // But whether the daemon is there is to be known.
        story.answer(|ask| *ask == Ask::Status, Ok(status()));
        assert_eq!(story.asked(), [Ask::Status]);
    }
    // Whoever wants to know can know.
    story.keys("r");
    story.answer(|ask| *ask == Ask::Repositories, Ok(repositories(&NAMES)));
    story.asked();
    story.pass(Duration::from_secs(6));
    assert_eq!(story.asked(), [Ask::Repositories], "what became short is asked for often, and needs no other question");
}
