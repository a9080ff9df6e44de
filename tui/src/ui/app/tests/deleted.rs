//! The screens of deleted repositories and artifacts: list, restore, delete permanently.

use farrier_common::api::RestoreRepository;

use super::prelude::*;
use crate::ui::net::ProblemKind;

fn settled_confirm(story: &mut Story) {
    story.pass(Duration::from_millis(300));
    story.asked();
}

fn row(story: &Story, name: &str) -> String {
    let text = story.text();
    text.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{name}: {text}")).to_owned()
}

#[test]
fn deleted_repositories_show_who_deleted_them_and_the_restore_deadline() {
    for way in ["u", ":repo list --deleted\n"] {
        let mut story = Story::settled(80, 24);
        story.asked();
        story.keys(way);
        assert_eq!((story.app.current, story.asked()), (ScreenId::DeletedRepositories, vec![Ask::DeletedRepositories]));
        story.answer_last_of(|ask| *ask == Ask::DeletedRepositories, Ok(deleted_repositories()));
        let relay = row(&story, "infra/relay  ");
        for part in ["38.4 MiB", "20m", "ops-a", "2026-12-21 11:40"] {
            assert!(relay.contains(part), "{part}: {relay}");
        }
        assert!(story.text().contains("ID 31, 38.4 MiB, public"), "{}", story.text());
        assert!(story.text().contains("R restore") && story.text().contains("[2 Repos]"), "{}", story.text());
        story.keys("G");
        assert!(story.text().contains("Its owner gone no longer exists"), "{}", story.text());
        story.press(Key::Esc);
        assert_eq!(story.app.current, ScreenId::Repositories);
    }
}

#[test]
fn a_deleted_repository_can_be_restored_under_another_name() {
    let mut story = on_deleted_repositories(80, 24);
    story.keys("R");
    assert!(story.text().contains("Restore infra/relay"), "{}", story.text());
    story.press(Key::Ctrl('s'));
    let restore = |target: RestoreRepository| Ask::RestoreRepository {
        id: 31,
        name: "infra/relay".into(),
        target: Box::new(target),
    };
    assert_eq!(story.asked(), [restore(RestoreRepository::default())], "unchanged fields are not sent");
    let taken = Problem::new(ProblemKind::Invalid, "restoring infra/relay: infra/relay exists already (409)");
    story.answer_last(Err(taken));
    assert!(story.text().contains("infra/relay exists already"), "the form stays: {}", story.text());
    story.keys("\t-2");
    story.press(Key::Ctrl('s'));
    let target = RestoreRepository { name: Some("relay-2".into()), owner: None };
    assert_eq!(story.asked().last(), Some(&restore(target)));
    story.answer_last(Ok(Answer::Repository(Box::new(repository(31, "infra/relay-2")))));
    assert!(story.app.layers.is_empty() && story.text().contains("Restored infra/relay-2"), "{}", story.text());
    let asked = story.asked();
    assert!(asked.contains(&Ask::DeletedRepositories) && asked.contains(&Ask::Repositories), "{asked:?}");
}

#[test]
fn restoring_a_repository_whose_owner_was_deleted_requires_a_new_owner() {
    let mut story = on_deleted_repositories(80, 24);
    story.keys("GR");
    story.press(Key::Ctrl('s'));
    assert!(story.asked().is_empty() && story.text().contains("required"), "{}", story.text());
    story.keys("infra");
    story.press(Key::Ctrl('s'));
    let asked = story.asked();
    let owner = |ask: &Ask| matches!(ask, Ask::RestoreRepository { id: 4, target, .. } if target.owner.as_deref() == Some("infra"));
    assert!(asked.iter().any(owner), "{asked:?}");
}

#[test]
fn marked_repositories_are_restored_together_and_those_that_failed_stay_marked() {
    let mut story = on_deleted_repositories(120, 40);
    story.keys("  R");
    assert!(story.text().contains("Restore 2 repositories (53.3 MiB)"), "{}", story.text());
    settled_confirm(&mut story);
    story.keys("y");
    assert!(matches!(story.asked().as_slice(), [Ask::Batch(batch)] if batch.items.len() == 2));
    story.answer_last(Ok(Answer::Batch(vec![Some("the name is taken (409)".into()), None])));
    let text = story.text();
    assert!(
        text.contains("1 repository restored, 1 failed and stay marked") && text.contains("the name is taken"),
        "{text}"
    );
    story.answer_last_of(|ask| *ask == Ask::DeletedRepositories, Ok(deleted_repositories()));
    story.press(Key::Esc);
    assert!(story.text().contains("marked 1"), "{}", story.text());
}

#[test]
fn a_repository_is_purged_only_after_its_name_was_typed() {
    let mut story = on_deleted_repositories(80, 24);
    story.keys("jD");
    assert!(story.text().contains("This cannot be undone."), "{}", story.text());
    settled_confirm(&mut story);
    story.keys("y\t\n");
    assert!(story.asked().is_empty(), "{}", story.text());
    story.press(Key::Tab);
    story.press(Key::Ctrl('u'));
    story.keys("data/lake-old\t\n");
    assert_eq!(story.asked(), [Ask::PurgeRepository { id: 12, name: "data/lake-old".into() }]);
    story.answer_last(Ok(Answer::Done));
    assert!(story.text().contains("Deleted data/lake-old permanently"), "{}", story.text());
    assert_eq!(story.asked(), [Ask::DeletedRepositories]);
    // Deleting several requires typing their number.
    story.answer_last(Ok(deleted_repositories()));
    story.keys("g  D");
    settled_confirm(&mut story);
    story.keys("y\t\n");
    assert!(story.asked().is_empty() && story.text().contains("Type 2 to confirm"), "{}", story.text());
}

#[test]
fn restore_and_purge_commands_accept_a_name_or_an_id() {
    let mut story = Story::settled(120, 40);
    story.asked();
    story.keys(":repo restore ");
    assert_eq!(story.asked(), [Ask::DeletedRepositories], "names are loaded for completion");
    story.answer_last(Ok(deleted_repositories()));
    assert!(story.text().contains("data/lake-old  deleted"), "{}", story.text());
    story.keys("data/lake-old --as data/lake2\n");
    let target = RestoreRepository { owner: Some("data".into()), name: Some("lake2".into()) };
    let restore = Ask::RestoreRepository { id: 12, name: "data/lake-old".into(), target: Box::new(target) };
    assert_eq!(story.asked(), [restore]);
    story.keys(":repo restore nobody/nothing\n");
    assert!(story.text().contains("no deleted repository was called nobody/nothing"), "{}", story.text());
    story.keys("\x1b:repo purge 4\n");
    assert!(story.text().contains("Type gone/tool to confirm"), "{}", story.text());
    story.press(Key::Esc);
    story.pass(Duration::from_secs(1));
    story.press(Key::Esc);
    story.asked();
    story.keys(":artifact restore 21\n");
    assert!(matches!(story.asked().last(), Some(Ask::RestoreArtifact { id: 21, .. })), "{}", story.text());
    story.keys(":artifact list --deleted --repo infra/gateway\n");
    assert_eq!(story.app.current, ScreenId::DeletedArtifacts);
    story.answer_last_of(|ask| *ask == Ask::DeletedArtifacts, Ok(deleted_artifacts()));
    assert!(story.text().contains("dist-linux.zip") && !story.text().contains("logs.zip"), "{}", story.text());
    story.keys(":artifact purge 17\n");
    assert!(story.text().contains("Type 17 to confirm"), "{}", story.text());
}

#[test]
fn a_deleted_artifact_is_restored_unless_its_repository_is_deleted() {
    let mut story = on_deleted_artifacts(120, 40);
    assert!(row(&story, "logs.zip").contains("infra/relay (deleted)"), "{}", story.text());
    story.keys("jR");
    let why = "restore its repository infra/relay first";
    assert!(story.app.layers.is_empty() && story.text().contains(why), "{}", story.text());
    story.keys("kR");
    settled_confirm(&mut story);
    story.keys("y");
    assert_eq!(story.asked(), [Ask::RestoreArtifact { id: 21, name: "dist-linux.zip".into() }]);
    story.answer_last(Ok(Answer::Done));
    assert!(story.text().contains("Restored dist-linux.zip"), "{}", story.text());
    assert_eq!(story.asked(), [Ask::DeletedArtifacts]);
    story.answer_last(Ok(deleted_artifacts()));
    story.keys("*R");
    assert!(story.text().contains("1 artifact skipped: restore its repository"), "{}", story.text());
}

#[test]
fn non_administrators_see_why_deleted_repositories_are_forbidden() {
    let mut story = Story::settled(80, 24);
    story.keys("u");
    let problem = Problem::new(ProblemKind::Forbidden, "listing deleted repositories: only administrators (403)");
    story.answer(|ask| *ask == Ask::DeletedRepositories, Err(problem));
    let text = story.text();
    assert!(
        text.contains("403 - you may not see deleted repositories") && text.contains("only administrators"),
        "{text}"
    );
}

#[test]
fn deletion_dialogs_show_the_restore_deadline_or_warn_of_permanent_loss() {
    let ways: [fn(&mut Story); 4] = [
        |story| story.keys("D"),
        |story| story.keys("  D"),
        |story| {
            on_artifacts(story);
            story.keys("jjD");
        },
        |story| {
            on_artifacts(story);
            story.keys("*D");
        },
    ];
    for ask in ways {
        let mut story = Story::settled(120, 40);
        ask(&mut story);
        assert!(story.text().contains("Can be restored until 2026-12-21."), "{}", story.text());
        let mut story = Story::settled(120, 40);
        let Answer::Status(mut now) = status() else { unreachable!() };
        now.0.restore_days = 0;
        story.keys(":refresh\n");
        story.app.world.status = Some(now.0);
        ask(&mut story);
        assert!(story.text().contains("The deletion is permanent: nothing can be restored."), "{}", story.text());
    }
}
