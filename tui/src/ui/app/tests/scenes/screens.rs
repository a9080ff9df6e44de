//! Scenes of every screen with usual content.

use farrier_common::api::{Event, MigrationProgress};

use super::{super::prelude::*, Scene, counted, on};
use crate::ui::net::Page;

pub(in super::super) const REPOSITORIES: &[Scene] = &[
    on("repositories", |story| story.keys("jj ")),
    on("repository", |story| {
        story.keys("jj\n");
        counted(story);
    }),
    on("repository-hooks", |story| {
        story.keys("jj\n]]");
        story.answer(|ask| matches!(ask, Ask::Hooks(HookOwner::Repository(_))), Ok(hooks()));
        story.keys("j");
    }),
    on("repository-artifacts", |story| {
        story.keys("jj\n]]]");
        story.answer(|ask| matches!(ask, Ask::ArtifactsOf(_)), Ok(artifacts()));
    }),
    on("migrating", |story| {
        story.pass(Duration::from_secs(6));
        story.answer(|ask| *ask == Ask::Repositories, Ok(migrating(MigrationProgress::default())));
        story.keys("\n");
        story.answer(|ask| *ask == Ask::Tasks, Ok(tasks()));
    }),
    on("branches", |story| {
        story.keys("jj\n]");
        story.answer(|ask| matches!(ask, Ask::Branches(_)), Ok(branches()));
    }),
    on("form", |story| story.keys("n")),
    on("form-wrong", |story| {
        story.keys("n");
        story.press(Key::Ctrl('s'));
    }),
    on("migrate", |story| story.keys("M")),
    on("migrate-checked", |story| {
        story.keys("M");
        story.tell(Msg::Paste("https://git.example.org/team/lake.git".into()));
        story.keys("\t\t2\t");
        // The buttons are before the first field.
        for _ in 0..5 {
            story.press(Key::BackTab);
        }
        story.keys("\n");
        let said = Answer::Verdict(true, "the source responds: 12 branches, 3 tags".into());
        story.answer(|ask| matches!(ask, Ask::CheckMigration(_)), Ok(said));
    }),
    on("new-branch", |story| {
        story.keys("jj\n]");
        story.answer(|ask| matches!(ask, Ask::Branches(_)), Ok(branches()));
        story.keys("n");
    }),
];

pub(super) const DELETED: &[Scene] = &[
    on("deleted-repositories", |story| {
        story.keys("u");
        story.answer(|ask| *ask == Ask::DeletedRepositories, Ok(deleted_repositories()));
        story.keys("GR\x1b");
    }),
    on("restore-repository", |story| {
        story.keys("u");
        story.answer(|ask| *ask == Ask::DeletedRepositories, Ok(deleted_repositories()));
        story.keys("R");
    }),
    on("purge-repository", |story| {
        story.keys("u");
        story.answer(|ask| *ask == Ask::DeletedRepositories, Ok(deleted_repositories()));
        story.keys("D");
    }),
    on("deleted-artifacts", |story| {
        on_artifacts(story);
        story.keys("u");
        story.answer(|ask| *ask == Ask::DeletedArtifacts, Ok(deleted_artifacts()));
    }),
    on("no-deleted-artifacts", |story| {
        on_artifacts(story);
        story.keys("u");
        let none = Page { items: Vec::new(), total: Some(0), last: true };
        story.answer(|ask| *ask == Ask::DeletedArtifacts, Ok(Answer::DeletedArtifacts(none)));
    }),
];

pub(super) const AUDIT: &[Scene] = &[
    on("audit", |story| {
        on_audit(story);
        story.keys("j");
    }),
    on("audit-entry", |story| {
        on_audit(story);
        story.keys("jj\n");
    }),
    on("no-audit", |story| {
        story.keys("6");
        let none = Page { items: Vec::new(), total: Some(0), last: true };
        story.answer(|ask| matches!(ask, Ask::Audit { .. }), Ok(Answer::Audit(none)));
    }),
];

fn on_audit(story: &mut Story) {
    story.keys("6");
    story.answer(|ask| matches!(ask, Ask::Audit { .. }), Ok(audit()));
}

pub(super) const HOOKS: &[Scene] = &[
    on("hooks", |story| {
        on_hooks(story);
        story.keys("j");
        let last = |ask: &Ask| matches!(ask, Ask::LastDeliveries(_));
        // First the deliveries of the hook that was under the cursor before; small screens do not request them.
        for _ in 0..2 {
            story.rest();
            if story.effects.iter().any(|effect| matches!(effect, Effect::Ask(_, ask) if last(ask))) {
                let Answer::Deliveries(page) = deliveries() else { return };
                story.answer(last, Ok(Answer::LastDeliveries(page.items)));
            }
        }
    }),
    on("hooks-default", |story| {
        on_hooks(story);
        story.keys("]]");
    }),
    on("new-hook", |story| {
        on_hooks(story);
        story.keys("n");
    }),
    on("hook-form", |story| {
        on_hooks(story);
        story.keys("e");
        for _ in 0..7 {
            story.press(Key::Tab);
        }
        story.keys("\n");
    }),
    on("hook-form-wrong", |story| {
        on_hooks(story);
        story.keys("n\t\t");
        story.tell(Msg::Paste("https//ci.example.net/hook".into()));
        story.press(Key::Ctrl('s'));
    }),
];

pub(super) const DELIVERIES: &[Scene] = &[
    on("deliveries", on_deliveries),
    on("inspector", reading),
    on("inspector-request", |story| {
        reading(story);
        story.keys("]");
    }),
    on("inspector-response", |story| {
        on_deliveries(story);
        story.keys("jj\n");
        let mut answered = detail(delivery(12, "failed", 500));
        if let Answer::Delivery(detail) = &mut answered {
            detail.response.headers.insert("content-type".into(), "text/plain".into());
            detail.response.payload = "Traceback (most recent call last):\n\tKeyError: 'id'\n".into();
            detail.response.truncated = true;
        }
        story.answer(|ask| matches!(ask, Ask::Delivery(_)), Ok(answered));
        story.keys("]]");
    }),
    on("inspector-tries", |story| {
        reading(story);
        story.keys("[");
    }),
    on("inspector-bytes", |story| {
        reading(story);
        story.keys("]b/ref\n");
    }),
];

pub(super) const DASHBOARD: &[Scene] = &[on("dashboard", |story| {
    story.keys("1");
    story.answer(|ask| *ask == Ask::Status, Ok(status()));
    story.answer(|ask| *ask == Ask::Series, Ok(series()));
    story.answer(|ask| *ask == Ask::Tasks, Ok(tasks()));
    story.answer(|ask| *ask == Ask::FailingHooks, Ok(hooks()));
    for (id, kind, action, about) in [(7, "repository", "created", ""), (8, "push", "", "refs/heads/main")] {
        let event = Event {
            id,
            kind: kind.into(),
            action: action.into(),
            repository: "infra/gateway".into(),
            r#ref: about.into(),
            actor: "ops".into(),
            at: format!("2026-11-21T11:59:0{id}Z"),
            ..Event::default()
        };
        story.answer(|ask| matches!(ask, Ask::Events { .. }), Ok(Answer::Event(Box::new(event))));
    }
})];

pub(super) const ARTIFACTS: &[Scene] = &[
    on("artifacts", |story| {
        on_artifacts(story);
        story.keys("jj");
    }),
    on("artifacts-folded", |story| {
        on_artifacts(story);
        story.keys("Ghhhk");
    }),
    on("artifacts-filtered", |story| {
        on_artifacts(story);
        story.keys("/json\n");
    }),
    on("artifacts-of-one", |story| {
        story.keys("o");
        story.answer(|ask| matches!(ask, Ask::Runs(_)), Ok(tree()));
    }),
    on("expiry", |story| {
        on_artifacts(story);
        story.keys("jj  e");
    }),
    on("expiry-typed", |story| {
        on_artifacts(story);
        story.keys("jjeosoon");
        story.press(Key::Ctrl('s'));
    }),
    on("download", |story| {
        on_artifacts(story);
        story.keys("jjd");
        let have = Answer::Progress { have: 400_000, size: Some(1_500_000) };
        story.answer(|ask| matches!(ask, Ask::Download { .. }), Ok(have));
    }),
];
