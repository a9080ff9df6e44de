//! Scenes of every screen with usual content.

use farrier_common::api::{Delivery, Event, FailingWorkflow, FailingWorkflows, MigrationProgress, RecentFailures};

use super::{super::prelude::*, Scene, counted, on};
use crate::ui::net::Page;

pub(in super::super) const REPOSITORIES: &[Scene] = &[
    on("repositories", |screen| screen.keys("jj ")),
    on("repository", |screen| {
        screen.keys("jj\n");
        counted(screen);
    }),
    on("repository-hooks", |screen| {
        screen.keys("jj\n[[");
        screen.answer(|request| matches!(request, Request::Hooks(HookOwner::Repository(_))), Ok(hooks()));
        screen.keys("j");
    }),
    on("repository-artifacts", |screen| {
        screen.keys("jj\n[");
        screen.answer(|request| matches!(request, Request::ArtifactsOf(_)), Ok(artifacts()));
    }),
    on("repository-files", |screen| {
        open_files(screen);
        screen.keys("j");
    }),
    on("repository-file", |screen| {
        open_files(screen);
        screen.keys("jj\n");
        screen.answer(|request| matches!(request, Request::FileContent { .. }), Ok(file("fn main() {\n\trun();\n}\n")));
    }),
    on("repository-commits", |screen| {
        screen.keys("jj\n]]");
        screen.answer(|request| matches!(request, Request::Commits { .. }), Ok(commits(3)));
    }),
    on("repository-commit", |screen| {
        screen.keys("jj\n]]");
        screen.answer(|request| matches!(request, Request::Commits { .. }), Ok(commits(3)));
        screen.keys("\n");
        screen.answer(|request| matches!(request, Request::Commit(..)), Ok(opened_commit()));
    }),
    on("repository-tags", |screen| {
        screen.keys("jj\n]]]]");
        screen.answer(|request| matches!(request, Request::Tags(_)), Ok(tags()));
    }),
    on("migrating", |screen| {
        screen.advance(Duration::from_secs(6));
        screen.answer(|request| *request == Request::Repositories, Ok(migrating(MigrationProgress::default())));
        screen.keys("\n");
        screen.answer(|request| *request == Request::Tasks, Ok(tasks()));
    }),
    on("branches", |screen| {
        screen.keys("jj\n]]]");
        screen.answer(|request| matches!(request, Request::Branches(_)), Ok(branches()));
    }),
    on("form", |screen| screen.keys("n")),
    on("form-wrong", |screen| {
        screen.keys("n");
        screen.press(Key::Ctrl('s'));
    }),
    on("migrate", |screen| screen.keys("M")),
    on("migrate-checked", |screen| {
        screen.keys("M");
        screen.send(Msg::Paste("https://git.example.org/team/lake.git".into()));
        screen.keys("\t\t2\t");
        // The buttons are before the first field.
        for _ in 0..5 {
            screen.press(Key::BackTab);
        }
        screen.keys("\n");
        let verdict = Answer::Verdict(true, "the source responds: 12 branches, 3 tags".into());
        screen.answer(|request| matches!(request, Request::CheckMigration(_)), Ok(verdict));
    }),
    on("new-branch", |screen| {
        screen.keys("jj\n]]]");
        screen.answer(|request| matches!(request, Request::Branches(_)), Ok(branches()));
        screen.keys("n");
    }),
];

pub(super) const DELETED: &[Scene] = &[
    on("deleted-repositories", |screen| {
        screen.keys("u");
        screen.answer(|request| *request == Request::DeletedRepositories, Ok(deleted_repositories()));
        screen.keys("GR\x1b");
    }),
    on("restore-repository", |screen| {
        screen.keys("u");
        screen.answer(|request| *request == Request::DeletedRepositories, Ok(deleted_repositories()));
        screen.keys("R");
    }),
    on("purge-repository", |screen| {
        screen.keys("u");
        screen.answer(|request| *request == Request::DeletedRepositories, Ok(deleted_repositories()));
        screen.keys("D");
    }),
    on("deleted-artifacts", |screen| {
        open_artifacts(screen);
        screen.keys("u");
        screen.answer(|request| *request == Request::DeletedArtifacts, Ok(deleted_artifacts()));
    }),
    on("no-deleted-artifacts", |screen| {
        open_artifacts(screen);
        screen.keys("u");
        let none = Page { items: Vec::new(), total: Some(0), last: true };
        screen.answer(|request| *request == Request::DeletedArtifacts, Ok(Answer::DeletedArtifacts(none)));
    }),
];

pub(super) const CACHES: &[Scene] = &[
    on("caches", |screen| {
        show_caches(screen);
        screen.keys("j ");
    }),
    on("delete-caches", |screen| {
        show_caches(screen);
        screen.keys("  D");
    }),
    on("no-caches", |screen| {
        open_artifacts(screen);
        screen.keys("c");
        let none = Page { items: Vec::new(), total: Some(0), last: true };
        screen.answer(|request| *request == Request::Caches, Ok(Answer::Caches(none)));
        let none = Page { items: Vec::new(), total: Some(0), last: true };
        screen.answer_last_of(|request| *request == Request::CacheUsage, Ok(Answer::CacheUsage(none)));
    }),
];

pub(super) const USERS: &[Scene] = &[
    on("users", |screen| {
        open_users(screen);
        screen.keys("j");
        screen.rest_cursor();
        answer_tokens(screen);
    }),
    on("user-tokens", |screen| {
        open_users(screen);
        screen.keys("j\n");
        screen.rest_cursor();
        answer_tokens(screen);
        screen.keys("j");
    }),
    on("user-token", |screen| {
        open_users(screen);
        screen.keys("j\n");
        screen.rest_cursor();
        answer_tokens(screen);
        screen.keys("\n");
    }),
    on("turn-off-user", |screen| {
        open_users(screen);
        screen.keys("t");
    }),
    on("new-user", |screen| {
        open_users(screen);
        screen.keys("n");
    }),
    on("new-token", |screen| {
        open_users(screen);
        screen.keys("N");
    }),
    on("token-created", |screen| {
        open_users(screen);
        screen.keys("Nlaptop");
        screen.press(Key::Ctrl('s'));
        screen.answer(|request| matches!(request, Request::CreateToken(..)), Ok(new_token()));
    }),
    on("revoke-token", |screen| {
        open_users(screen);
        screen.keys("j\n");
        screen.rest_cursor();
        answer_tokens(screen);
        screen.keys("D");
    }),
    on("revoke-tokens", |screen| {
        open_users(screen);
        screen.keys("j\n");
        screen.rest_cursor();
        answer_tokens(screen);
        screen.keys(" j D");
    }),
];

/// Answers the request for the tokens of a user, if the screen shows them.
fn answer_tokens(screen: &mut TestScreen) {
    for _ in 0..2 {
        if screen.app.pending.values().any(|one| matches!(one.request, Request::Tokens(_))) {
            screen.answer_last_of(|request| matches!(request, Request::Tokens(_)), Ok(tokens()));
        }
    }
}

pub(super) const HOOKS: &[Scene] = &[
    on("hooks", |screen| {
        open_hooks(screen);
        screen.keys("j");
        let last = |request: &Request| matches!(request, Request::LastDeliveries(_));
        // First the deliveries of the hook that was under the cursor before; small screens do not request them.
        for _ in 0..2 {
            screen.rest_cursor();
            if screen.effects.iter().any(|effect| matches!(effect, Effect::Send(_, request) if last(request))) {
                let Answer::Deliveries(page) = deliveries() else { return };
                screen.answer(last, Ok(Answer::LastDeliveries(page.items)));
            }
        }
    }),
    on("hooks-default", |screen| {
        open_hooks(screen);
        screen.keys("]]");
    }),
    on("new-hook", |screen| {
        open_hooks(screen);
        screen.keys("n");
    }),
    on("hook-form", |screen| {
        open_hooks(screen);
        screen.keys("e");
        for _ in 0..7 {
            screen.press(Key::Tab);
        }
        screen.keys("\n");
    }),
    on("hook-form-wrong", |screen| {
        open_hooks(screen);
        screen.keys("n\t\t");
        screen.send(Msg::Paste("https//ci.example.net/hook".into()));
        screen.press(Key::Ctrl('s'));
    }),
];

pub(super) const DELIVERIES: &[Scene] = &[
    on("deliveries", open_deliveries),
    on("inspector", open_delivery),
    on("inspector-request", |screen| {
        open_delivery(screen);
        screen.keys("]");
    }),
    on("inspector-response", |screen| {
        open_deliveries(screen);
        screen.keys("jj\n");
        let mut answered = detail(delivery(12, "failed", 500));
        if let Answer::Delivery(detail) = &mut answered {
            detail.response.headers.insert("content-type".into(), "text/plain".into());
            detail.response.payload = "Traceback (most recent call last):\n\tKeyError: 'id'\n".into();
            detail.response.truncated = true;
        }
        screen.answer(|request| matches!(request, Request::Delivery(_)), Ok(answered));
        screen.keys("]]");
    }),
    on("inspector-tries", |screen| {
        open_delivery(screen);
        screen.keys("[");
    }),
    on("inspector-changes", |screen| {
        open_delivery(screen);
        screen.keys("]]]");
        let Answer::Delivery(mut previous) = detail(delivery(12, "success", 200)) else { unreachable!() };
        previous.request.payload = serde_json::json!({"ref": "refs/heads/dev", "commits": [{"id": "8be0d441"}]});
        let is_previous = |request: &Request| matches!(request, Request::PreviousDelivery { .. });
        screen.answer(is_previous, Ok(Answer::PreviousDelivery(Some(previous))));
    }),
    on("inspector-bytes", |screen| {
        open_delivery(screen);
        screen.keys("]b/ref\n");
    }),
    on("replay", |screen| {
        open_delivery(screen);
        screen.keys("P");
        screen.send(Msg::Paste("https://debug.example.net/hook".into()));
    }),
    on("replay-edited", |screen| {
        open_delivery(screen);
        screen.keys("E");
        screen.send(Msg::Paste("payload.json".into()));
        screen.press(Key::Ctrl('s'));
    }),
    on("delivery-groups", open_delivery_groups),
    on("delivery-groups-reason", |screen| {
        open_delivery_groups(screen);
        screen.keys("]");
        screen.answer(|request| *request == Request::DeliveryGroups("reason"), Ok(groups_by_reason()));
        screen.answer_last_of(|request| matches!(request, Request::DeliveryResults(None, _)), Ok(delivery_results()));
        screen.keys("j");
    }),
];

pub(super) const DASHBOARD: &[Scene] = &[
    on("dashboard", open_dashboard),
    on("dashboard-owners", |screen| {
        screen.keys("1");
        screen.answer(|request| *request == Request::Status, Ok(status_with_owners(4)));
        screen.answer(|request| matches!(request, Request::Series(_)), Ok(series()));
    }),
    on("dashboard-day", |screen| {
        open_dashboard(screen);
        screen.keys("[");
        let Answer::Series(mut day) = series() else { unreachable!() };
        day.step_secs = 300;
        day.requests = (0_i64..288).map(|step| 2_000 + step * 37 % 900 - (step - 144).abs() * 9).collect();
        day.delivered = (0..288).map(|step| step % 31 * 3).collect();
        day.failed = (0..288).map(|step| i64::from(step > 250) * (step % 31)).collect();
        screen.answer(|request| *request == Request::Series(SeriesSpan::Day), Ok(Answer::Series(day)));
        screen.keys("jj");
    }),
];

fn open_dashboard(screen: &mut TestScreen) {
    screen.keys("1");
    screen.answer(|request| *request == Request::Status, Ok(status()));
    screen.answer(|request| matches!(request, Request::Series(_)), Ok(series()));
    screen.answer(|request| *request == Request::Tasks, Ok(tasks()));
    screen.answer(|request| *request == Request::FailingHooks, Ok(hooks()));
    let workflow = FailingWorkflow {
        repository: "infra/gateway".into(),
        head_branch: "main".into(),
        workflow: "build".into(),
        run_id: 51,
        failures: 2,
        failing_since: "2026-11-21T11:50:00Z".into(),
        recent_failures: Some(RecentFailures { last_hour: 2, hour_before: 0 }),
        ..FailingWorkflow::default()
    };
    let found = FailingWorkflows { workflows: vec![workflow], ..FailingWorkflows::default() };
    screen.answer(|request| *request == Request::FailingWorkflows, Ok(Answer::FailingWorkflows(Box::new(found))));
    let all = [
        (5, "repository", "created", "", "ops"),
        (6, "create", "", "refs/heads/dev", "ops"),
        (7, "create", "", "refs/tags/v1.2", "ops"),
        (8, "push", "", "refs/heads/main", "mia"),
    ];
    for (id, kind, action, about, actor) in all {
        let is_push = kind == "push";
        let event = Event {
            id,
            kind: kind.into(),
            action: action.into(),
            repository: "infra/gateway".into(),
            r#ref: about.into(),
            actor: actor.into(),
            at: format!("2026-11-21T11:59:0{id}Z"),
            before: if is_push { "3f2a9c10aa".into() } else { String::new() },
            after: if is_push { "8be0d4410f".into() } else { String::new() },
            ..Event::default()
        };
        screen.answer(|request| matches!(request, Request::Events { .. }), Ok(Answer::Event(Box::new(event))));
    }
    let of_push =
        |hook_id, state: &str| Delivery { event_id: Some(8), hook_id, state: state.into(), ..Delivery::default() };
    let items = [of_push(1, "success"), of_push(2, "success"), of_push(3, "failed")];
    screen.answer(|request| matches!(request, Request::Deliveries { .. }), Ok(listed_deliveries(&items, None)));
}

pub(super) const ARTIFACTS: &[Scene] = &[
    on("artifacts", |screen| {
        open_artifacts(screen);
        screen.keys("jj");
    }),
    on("artifacts-folded", |screen| {
        open_artifacts(screen);
        screen.keys("Ghhhk");
    }),
    on("artifacts-filtered", |screen| {
        open_artifacts(screen);
        screen.keys("/json\n");
    }),
    on("artifacts-of-one", |screen| {
        screen.keys("o");
        screen.answer(|request| matches!(request, Request::Runs(_)), Ok(tree()));
    }),
    on("expiry", |screen| {
        open_artifacts(screen);
        screen.keys("jj  e");
    }),
    on("expiry-typed", |screen| {
        open_artifacts(screen);
        screen.keys("jjeosoon");
        screen.press(Key::Ctrl('s'));
    }),
    on("download", |screen| {
        open_artifacts(screen);
        screen.keys("jjd");
        let have = Answer::Progress { have: 400_000, size: Some(1_500_000) };
        screen.answer(|request| matches!(request, Request::Download { .. }), Ok(have));
    }),
];
