//! The screens of deleted repositories and artifacts: list, restore, delete permanently.

use farrier_common::api::RestoreRepository;

use super::prelude::*;
use crate::ui::net::{Page, ProblemKind};

fn settled_confirm(screen: &mut TestScreen) {
    screen.advance(Duration::from_millis(300));
    screen.take_requests();
}

fn row(screen: &TestScreen, name: &str) -> String {
    let text = screen.text();
    text.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{name}: {text}")).to_owned()
}

#[test]
fn deleted_repositories_show_who_deleted_them_and_the_restore_deadline() {
    for way in ["u", ":repo list --deleted\n"] {
        let mut screen = TestScreen::loaded(80, 24);
        screen.take_requests();
        screen.keys(way);
        assert_eq!(
            (screen.app.current, screen.take_requests()),
            (ScreenId::DeletedRepositories, vec![Request::DeletedRepositories])
        );
        screen.answer_last_of(|request| *request == Request::DeletedRepositories, Ok(deleted_repositories()));
        let relay = row(&screen, "infra/relay  ");
        for part in ["38.4 MiB", "20m", "ops-a", "2026-12-21 11:40"] {
            assert!(relay.contains(part), "{part}: {relay}");
        }
        assert!(screen.text().contains("ID 31, 38.4 MiB, public"), "{}", screen.text());
        assert!(screen.text().contains("R restore") && screen.text().contains("[2 Repos]"), "{}", screen.text());
        screen.keys("G");
        assert!(screen.text().contains("Its owner gone no longer exists"), "{}", screen.text());
        screen.press(Key::Esc);
        assert_eq!(screen.app.current, ScreenId::Repositories);
    }
}

#[test]
fn a_deleted_repository_can_be_restored_under_another_name() {
    let mut screen = open_deleted_repositories(80, 24);
    screen.keys("R");
    assert!(screen.text().contains("Restore infra/relay"), "{}", screen.text());
    screen.press(Key::Ctrl('s'));
    let restore = |target: RestoreRepository| Request::RestoreRepository {
        id: 31,
        name: "infra/relay".into(),
        target: Box::new(target),
    };
    assert_eq!(screen.take_requests(), [restore(RestoreRepository::default())], "unchanged fields are not sent");
    let taken = Problem::new(ProblemKind::Invalid, "restoring infra/relay: infra/relay exists already (409)");
    screen.answer_last(Err(taken));
    assert!(screen.text().contains("infra/relay exists already"), "the form stays: {}", screen.text());
    screen.keys("\t-2");
    screen.press(Key::Ctrl('s'));
    let target = RestoreRepository { name: Some("relay-2".into()), owner: None };
    assert_eq!(screen.take_requests().last(), Some(&restore(target)));
    screen.answer_last(Ok(Answer::Repository(Box::new(repository(31, "infra/relay-2")))));
    assert!(screen.app.layers.is_empty() && screen.text().contains("infra/relay-2 restored"), "{}", screen.text());
    let requests = screen.take_requests();
    assert!(
        requests.contains(&Request::DeletedRepositories) && requests.contains(&Request::Repositories),
        "{requests:?}"
    );
}

#[test]
fn restoring_a_repository_whose_owner_was_deleted_requires_a_new_owner() {
    let mut screen = open_deleted_repositories(80, 24);
    screen.keys("GR");
    screen.press(Key::Ctrl('s'));
    assert!(screen.take_requests().is_empty() && screen.text().contains("required"), "{}", screen.text());
    screen.keys("infra");
    screen.press(Key::Ctrl('s'));
    let requests = screen.take_requests();
    let owner = |request: &Request| matches!(request, Request::RestoreRepository { id: 4, target, .. } if target.owner.as_deref() == Some("infra"));
    assert!(requests.iter().any(owner), "{requests:?}");
}

#[test]
fn marked_repositories_are_restored_together_and_those_that_failed_stay_marked() {
    let mut screen = open_deleted_repositories(120, 40);
    screen.keys("  R");
    assert!(screen.text().contains("Restore 2 repositories (53.3 MiB)"), "{}", screen.text());
    settled_confirm(&mut screen);
    screen.keys("y");
    assert!(matches!(screen.take_requests().as_slice(), [Request::Batch(batch)] if batch.items.len() == 2));
    screen.answer_last(Ok(Answer::Batch(vec![Some("the name is taken (409)".into()), None])));
    let text = screen.text();
    assert!(
        text.contains("1 repository restored, 1 failed and stays marked") && text.contains("the name is taken"),
        "{text}"
    );
    screen.answer_last_of(|request| *request == Request::DeletedRepositories, Ok(deleted_repositories()));
    screen.press(Key::Esc);
    assert!(screen.text().contains("marked 1"), "{}", screen.text());
}

#[test]
fn a_repository_is_purged_only_after_its_name_was_typed() {
    let mut screen = open_deleted_repositories(80, 24);
    screen.keys("jD");
    assert!(screen.text().contains("This cannot be undone."), "{}", screen.text());
    settled_confirm(&mut screen);
    screen.keys("y\t\n");
    assert!(screen.take_requests().is_empty(), "{}", screen.text());
    screen.press(Key::Tab);
    screen.press(Key::Ctrl('u'));
    screen.keys("data/lake-old\t\n");
    assert_eq!(screen.take_requests(), [Request::PurgeRepository { id: 12, name: "data/lake-old".into() }]);
    screen.answer_last(Ok(Answer::Done));
    assert!(screen.text().contains("data/lake-old deleted permanently"), "{}", screen.text());
    assert_eq!(screen.take_requests(), [Request::DeletedRepositories]);
    // Deleting several requires typing their number.
    screen.answer_last(Ok(deleted_repositories()));
    screen.keys("g  D");
    settled_confirm(&mut screen);
    screen.keys("y\t\n");
    assert!(screen.take_requests().is_empty() && screen.text().contains("Type 2 to confirm"), "{}", screen.text());
}

#[test]
fn restore_and_purge_commands_accept_a_name_or_an_id() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.take_requests();
    screen.keys(":repo restore ");
    assert_eq!(screen.take_requests(), [Request::DeletedRepositories], "names are loaded for completion");
    screen.answer_last(Ok(deleted_repositories()));
    assert!(screen.text().contains("data/lake-old  deleted"), "{}", screen.text());
    screen.keys("data/lake-old --as data/lake2\n");
    let target = RestoreRepository { owner: Some("data".into()), name: Some("lake2".into()) };
    let restore = Request::RestoreRepository { id: 12, name: "data/lake-old".into(), target: Box::new(target) };
    assert_eq!(screen.take_requests(), [restore]);
    screen.keys(":repo restore nobody/nothing\n");
    assert!(screen.text().contains("no deleted repository was called nobody/nothing"), "{}", screen.text());
    screen.keys("\x1b:repo purge 4\n");
    assert!(screen.text().contains("Type gone/tool to confirm"), "{}", screen.text());
    screen.press(Key::Esc);
    screen.advance(Duration::from_secs(1));
    screen.press(Key::Esc);
    screen.take_requests();
    screen.keys(":artifact restore 21\n");
    assert!(
        matches!(screen.take_requests().last(), Some(Request::RestoreArtifact { id: 21, .. })),
        "{}",
        screen.text()
    );
    screen.keys(":artifact list --deleted --repo infra/gateway\n");
    assert_eq!(screen.app.current, ScreenId::DeletedArtifacts);
    screen.answer_last_of(|request| *request == Request::DeletedArtifacts, Ok(deleted_artifacts()));
    assert!(screen.text().contains("dist-linux.zip") && !screen.text().contains("logs.zip"), "{}", screen.text());
    screen.keys(":artifact purge 17\n");
    assert!(screen.text().contains("Type 17 to confirm"), "{}", screen.text());
}

#[test]
fn a_name_selects_no_deleted_repository_before_all_are_listed() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.take_requests();
    screen.keys(":repo restore ");
    let Answer::DeletedRepositories(all) = deleted_repositories() else { unreachable!() };
    let part = Page { items: all.items[1..2].to_vec(), last: false, ..all };
    screen.answer_last(Ok(Answer::DeletedRepositories(part)));
    screen.take_requests();
    screen.keys("data/lake-old\n");
    assert!(screen.text().contains("deleted repositories are not loaded yet"), "{}", screen.text());
    let requests = screen.take_requests();
    assert!(!requests.iter().any(|request| matches!(request, Request::RestoreRepository { .. })), "{requests:?}");
}

#[test]
fn a_deleted_artifact_is_restored_unless_its_repository_is_deleted() {
    let mut screen = open_deleted_artifacts(120, 40);
    assert!(row(&screen, "logs.zip").contains("infra/relay (deleted)"), "{}", screen.text());
    screen.keys("jR");
    let why = "restore its repository infra/relay first";
    assert!(screen.app.layers.is_empty() && screen.text().contains(why), "{}", screen.text());
    screen.keys("kR");
    settled_confirm(&mut screen);
    screen.keys("y");
    assert_eq!(screen.take_requests(), [Request::RestoreArtifact { id: 21, name: "dist-linux.zip".into() }]);
    screen.answer_last(Ok(Answer::Done));
    assert!(screen.text().contains("dist-linux.zip restored"), "{}", screen.text());
    assert_eq!(screen.take_requests(), [Request::DeletedArtifacts]);
    screen.answer_last(Ok(deleted_artifacts()));
    screen.keys("*R");
    assert!(screen.text().contains("1 artifact skipped: restore its repository"), "{}", screen.text());
}

#[test]
fn non_administrators_see_why_deleted_repositories_are_forbidden() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("u");
    let problem = Problem::new(ProblemKind::Forbidden, "listing deleted repositories: only administrators (403)");
    screen.answer(|request| *request == Request::DeletedRepositories, Err(problem));
    let text = screen.text();
    assert!(
        text.contains("403 - you may not see deleted repositories") && text.contains("only administrators"),
        "{text}"
    );
}

#[test]
fn deletion_dialogs_show_the_restore_deadline_or_warn_of_permanent_loss() {
    let ways: [fn(&mut TestScreen); 4] = [
        |screen| screen.keys("D"),
        |screen| screen.keys("  D"),
        |screen| {
            open_artifacts(screen);
            screen.keys("jjD");
        },
        |screen| {
            open_artifacts(screen);
            screen.keys("*D");
        },
    ];
    for request in ways {
        let mut screen = TestScreen::loaded(120, 40);
        request(&mut screen);
        assert!(screen.text().contains("Can be restored until 2026-12-21."), "{}", screen.text());
        let mut screen = TestScreen::loaded(120, 40);
        let Answer::Status(mut now) = status() else { unreachable!() };
        now.0.restore_days = 0;
        screen.keys(":refresh\n");
        screen.app.world.status = Some(now.0);
        request(&mut screen);
        assert!(screen.text().contains("The deletion is permanent: nothing can be restored."), "{}", screen.text());
    }
}
