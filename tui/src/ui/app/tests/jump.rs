//! The command line shows the object that is typed: by name, number, UUID or commit.

use super::prelude::*;

#[test]
fn a_name_in_the_command_line_shows_the_repository() {
    for typed in ["infra/auth", "auth", "AUTH"] {
        let mut screen = TestScreen::loaded(120, 40);
        screen.keys("3");
        screen.keys(&format!(":{typed}\n"));
        assert_eq!(screen.app.current, ScreenId::Repositories, "{typed}: {}", screen.text());
        let row = screen.text().lines().find(|line| line.starts_with('>')).map(str::to_owned);
        assert!(row.as_ref().is_some_and(|row| row.contains("infra/auth")), "{typed}: {row:?}");
    }
}

#[test]
fn a_part_of_several_names_filters_the_repositories() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("3:infra\n");
    assert_eq!(screen.app.current, ScreenId::Repositories);
    let text = screen.text();
    assert!(text.contains("infra/gateway") && text.contains("infra/auth") && !text.contains("data/lake"), "{text}");
}

#[test]
fn a_number_opens_a_menu_of_the_kinds_of_objects() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys(":12\n");
    let text = screen.text();
    assert!(text.contains("Show number 12 as") && text.contains("hook 12") && text.contains("run 12"), "{text}");
    screen.keys("h");
    assert_eq!(screen.app.current, ScreenId::Hooks);
    screen.keys(":#51\nr");
    assert_eq!(screen.app.current, ScreenId::Artifacts);
}

#[test]
fn a_uuid_shows_the_delivery_even_if_it_is_not_listed() {
    let mut screen = TestScreen::loaded(120, 40);
    let Answer::Delivery(found) = detail(delivery(14, "failed", 500)) else { unreachable!() };
    let uuid = found.delivery.guid.clone();
    screen.keys(&format!(":{uuid}\n"));
    assert_eq!(screen.app.current, ScreenId::Deliveries, "{}", screen.text());
    assert!(screen.take_requests().contains(&Request::Delivery(uuid.clone())));
    let hook = u64::try_from(found.delivery.hook_id).ok();
    screen.answer_last_of(|request| *request == Request::Delivery(uuid.clone()), Ok(Answer::Delivery(found)));
    let requests = screen.take_requests();
    assert!(
        requests.iter().any(|request| matches!(request, Request::Deliveries { hook: of, .. } if *of == hook)),
        "{requests:?}"
    );
}

#[test]
fn a_commit_shows_its_runs() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys(":3F2A9C10\n");
    assert_eq!(screen.app.current, ScreenId::Artifacts);
    assert!(screen.text().contains("commit:3f2a9c10"), "{}", screen.text());
}

#[test]
fn an_unknown_word_is_refused_in_the_command_line() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys(":nothinglikeit\n");
    assert!(screen.text().contains("is neither a command nor the name"), "{}", screen.text());
}

#[test]
fn a_name_filters_the_repositories_before_they_are_listed() {
    for typed in ["auth", "infra/auth"] {
        let start = Settings { start: Some(ScreenId::Dashboard), ..Settings::default() };
        let mut screen = TestScreen::with(start, 120, 40);
        screen.answer(|request| matches!(request, Request::Status), Ok(status()));
        screen.keys(&format!(":{typed}\n"));
        assert_eq!(screen.app.current, ScreenId::Repositories, "{}", screen.text());
        screen.answer(|request| matches!(request, Request::Repositories), Ok(repositories(&NAMES)));
        let text = screen.text();
        assert!(text.contains("infra/auth") && !text.contains("data/lake"), "{text}");
    }
}

#[test]
fn the_audit_log_of_one_hook_does_not_show_hooks_with_a_longer_id() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys(":audit list --object hook:7\n");
    let Answer::Audit(page, _) = audit() else { unreachable!() };
    let of_hook = |id: i64| {
        let mut entry = page.items[0].entry();
        entry.id = id;
        entry.action = "hook.edit".into();
        entry.object = farrier_common::api::AuditObject { kind: "hook".into(), id, ..Default::default() };
        entry.object.owner = "infra/auth".into();
        entry
    };
    let entries = audit_of(vec![of_hook(70), of_hook(7)]);
    screen.answer(|request| matches!(request, Request::Audit { .. }), Ok(entries));
    let text = screen.text();
    assert!(text.contains("infra/auth 7 ") && !text.contains("infra/auth 70"), "{text}");
}

#[test]
fn one_key_goes_from_a_delivery_to_its_hook_and_back() {
    let mut screen = TestScreen::loaded(120, 40);
    open_deliveries(&mut screen);
    screen.keys("f");
    let text = screen.text();
    assert!(
        text.contains("Go to") && text.contains("deliveries of hook") && text.contains("repository infra/"),
        "{text}"
    );
    screen.keys("h");
    assert_eq!(screen.app.current, ScreenId::Hooks);
    screen.keys("-");
    assert_eq!(screen.app.current, ScreenId::Deliveries);
}

#[test]
fn one_key_goes_from_an_audit_entry_to_its_object() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("6");
    screen.answer(|request| matches!(request, Request::Audit { .. }), Ok(audit()));
    screen.keys("jfr");
    assert_eq!(screen.app.current, ScreenId::Repositories, "{}", screen.text());
    let row = screen.text().lines().find(|line| line.starts_with('>')).map(str::to_owned);
    assert!(row.as_ref().is_some_and(|row| row.contains("data/lake")), "{row:?}");
}
