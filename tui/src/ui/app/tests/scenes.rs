//! Every screen, every state of one, and everything that lies over one: what tests of pictures look at.
//!
//! A scene is what a person does and what a daemon answers; nothing is put in place by hand.

use farrier_common::api::{Event, MigrationProgress};

use super::{
    away::{alone, unknown},
    prelude::*,
};
use crate::ui::net::{Kind, Page};

/// How it begins, and what happens then.
#[derive(Clone, Copy)]
pub(super) struct Scene {
    pub(super) name: &'static str,
    begin: fn(Stage) -> Story,
    play: fn(&mut Story),
}

impl Scene {
    const fn new(name: &'static str, begin: fn(Stage) -> Story, play: fn(&mut Story)) -> Self {
        Self { name, begin, play }
    }

    pub(super) fn played(&self, stage: Stage) -> Story {
        let mut story = (self.begin)(stage);
        (self.play)(&mut story);
        story
    }

    /// The same on a terminal whose size changes before every message; only scenes with rows begin so.
    pub(super) fn played_restlessly(&self, stage: Stage) -> Option<Story> {
        let with_rows = std::ptr::fn_addr_eq(self.begin, Stage::settled as fn(Stage) -> Story);
        with_rows.then(|| Self { begin: Stage::restless, ..*self }.played(stage))
    }
}

/// A scene that begins with repositories.
const fn on(name: &'static str, play: fn(&mut Story)) -> Scene {
    Scene::new(name, Stage::settled, play)
}

pub(super) fn all() -> impl Iterator<Item = &'static Scene> {
    [REPOSITORIES, HOOKS, DELIVERIES, REST, LAYERS, STATES].into_iter().flatten()
}

pub(super) const REPOSITORIES: &[Scene] = &[
    on("repositories", |story| story.keys("jj ")),
    on("repository", |story| {
        story.keys("jj\n");
        counted(story);
    }),
    on("repository-hooks", |story| {
        story.keys("jj\n]]");
        story.answer(|ask| matches!(ask, Ask::Hooks(HookPlace::Repository(_))), Ok(hooks()));
        story.keys("j");
    }),
    on("repository-artifacts", |story| {
        story.keys("jj\n]]]");
        story.answer(|ask| matches!(ask, Ask::ArtifactsOf(_)), Ok(artifacts()));
    }),
    on("migrating", |story| {
        story.pass(Duration::from_secs(6));
        let mut going = repository(9, "data/lake2");
        let progress = MigrationProgress { state: "running".into(), ..MigrationProgress::default() };
        going.farrier_migration = Some(progress);
        story.answer(|ask| *ask == Ask::Repositories, Ok(listed(None, vec![going])));
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
        story.keys("\t\tlake2\t");
        // The buttons are before the first field.
        for _ in 0..5 {
            story.press(Key::BackTab);
        }
        story.keys("\n");
        let said = Answer::Verdict(true, "the address answers: 12 branches, 3 tags".into());
        story.answer(|ask| matches!(ask, Ask::CheckMigration(_)), Ok(said));
    }),
    on("new-branch", |story| {
        story.keys("jj\n]");
        story.answer(|ask| matches!(ask, Ask::Branches(_)), Ok(branches()));
        story.keys("n");
    }),
];

const HOOKS: &[Scene] = &[
    on("hooks", |story| {
        on_hooks(story);
        story.keys("j");
        let last = |ask: &Ask| matches!(ask, Ask::LastDeliveries(_));
        // First what the hook was sent on which the cursor stood before; on small screens nothing is asked.
        for _ in 0..2 {
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
        for _ in 0..9 {
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

const DELIVERIES: &[Scene] = &[
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

const REST: &[Scene] = &[
    on("dashboard", |story| {
        story.keys("1");
        story.answer(|ask| *ask == Ask::Status, Ok(status()));
        story.answer(|ask| *ask == Ask::Series, Ok(series()));
        story.answer(|ask| *ask == Ask::Tasks, Ok(tasks()));
        story.answer(|ask| matches!(ask, Ask::Hooks(_)), Ok(hooks()));
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
    }),
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

const LAYERS: &[Scene] = &[
    on("menu", |story| story.keys("x")),
    Scene::new("menu-read-only", Stage::read_only, |story| story.keys("x")),
    on("copy", |story| story.keys("y")),
    on("sort", |story| story.keys("s")),
    on("filter", |story| story.keys("/da")),
    on("wrong-filter", |story| story.keys("/size:>")),
    on("help", |story| story.keys("?")),
    on("palette", |story| story.keys(":repo")),
    on("messages", |story| story.keys("Qy\x1b:mess\n")),
    on("discard", |story| story.keys("ntool\x1b")),
    on("delete", |story| {
        story.keys("D");
        counted(story);
    }),
    on("delete-typed", |story| {
        story.keys("D");
        story.pass(Duration::from_millis(300));
        story.keys("data/lake");
    }),
    on("delete-hook", |story| {
        on_hooks(story);
        story.keys("jD");
    }),
    on("delete-artifact", |story| {
        on_artifacts(story);
        story.keys("jjD");
    }),
    on("delete-artifacts", |story| {
        on_artifacts(story);
        story.keys("*D");
    }),
    on("redeliver", |story| {
        on_deliveries(story);
        story.keys("R");
    }),
    on("file-exists", |story| {
        on_artifacts(story);
        story.keys("jjd");
        let exists = Problem::new(Kind::Exists, "fetching: dist-linux.zip exists");
        story.answer(|ask| matches!(ask, Ask::Download { .. }), Err(exists));
    }),
];

const STATES: &[Scene] = &[
    Scene::new("silence", Stage::started, |story| story.pass(Duration::from_millis(100))),
    Scene::new("loading", Stage::started, |story| story.pass(Duration::from_millis(1_240))),
    Scene::new("loading-slowly", Stage::started, |story| story.pass(Duration::from_secs(12))),
    Scene::new("loading-part", Stage::started, |story| {
        let Answer::Repositories(page) = repositories(&NAMES) else { return };
        let part = Page { total: Some(1_204), last: false, ..page };
        story.answer(|ask| *ask == Ask::Repositories, Ok(Answer::Repositories(part)));
    }),
    Scene::new("stopped", Stage::started, |story| {
        story.pass(Duration::from_secs(2));
        story.press(Key::Esc);
    }),
    Scene::new("no-repositories", Stage::started, |story| {
        story.answer(|ask| *ask == Ask::Status, Ok(status()));
        story.answer(|ask| *ask == Ask::Repositories, Ok(repositories(&[])));
    }),
    on("no-hooks", |story| {
        story.keys("3");
        story.answer(|ask| matches!(ask, Ask::Hooks(_)), Ok(Answer::Hooks(Vec::new())));
    }),
    on("no-deliveries", |story| {
        story.keys("4");
        let none = Page { items: Vec::new(), total: Some(0), last: true };
        story.answer(|ask| matches!(ask, Ask::Deliveries { .. }), Ok(Answer::Deliveries(none)));
    }),
    on("no-artifacts", |story| {
        story.keys("o");
        story.answer(|ask| matches!(ask, Ask::Runs(_)), Ok(Answer::Runs(Box::default())));
    }),
    on("nothing-matches", |story| story.keys("/zzz\n")),
    on("no-problems", |story| story.keys("!")),
    Scene::new("partly", Stage::started, |story| {
        story.answer(|ask| *ask == Ask::Status, Ok(status()));
        let Answer::Repositories(page) = repositories(&NAMES) else { return };
        let part = Page { total: Some(1_204), last: false, ..page };
        story.answer(|ask| *ask == Ask::Repositories, Ok(Answer::Repositories(part)));
        story.answer(|ask| *ask == Ask::Repositories, Err(broken()));
    }),
    Scene::new("failed", Stage::started, |story| {
        story.answer(|ask| *ask == Ask::Status, Ok(status()));
        story.answer(|ask| *ask == Ask::Repositories, Err(broken()));
    }),
    Scene::new("details", Stage::started, |story| {
        story.answer(|ask| *ask == Ask::Status, Ok(status()));
        story.answer(|ask| *ask == Ask::Repositories, Err(broken()));
        story.keys("i");
    }),
    on("forbidden", |story| {
        story.keys("3");
        let text = "listing hooks: token needs the scope read:admin; it has read:repository (403)";
        let problem = Problem::new(Kind::Forbidden, text);
        story.answer(|ask| matches!(ask, Ask::Hooks(_)), Err(problem));
    }),
    on("busy", |story| {
        story.pass(Duration::from_secs(6));
        let problem = Problem::new(Kind::Busy(Some(30)), "listing repositories: too many requests (429)");
        story.answer(|ask| *ask == Ask::Repositories, Err(problem));
    }),
    on("lost", |story| {
        story.pass(Duration::from_secs(6));
        story.answer(|ask| *ask == Ask::Repositories, Err(unreachable()));
    }),
    Scene::new("nobody", Stage::started, |story| {
        story.answer(|ask| *ask == Ask::Repositories, Err(unreachable()));
    }),
    Scene::new("nowhere", alone, |_| {}),
    Scene::new("refused", unknown, |_| {}),
    Scene::new("read-only", Stage::read_only, |story| story.keys("D")),
    on("paused", |story| {
        story.tell(Msg::Slow(true));
        story.keys("p");
    }),
];

fn broken() -> Problem {
    let text = "listing repositories: internal error (500), request 7d1e44b0\nthe daemon's log tells more";
    Problem { request: Some("7d1e44b0".into()), ..Problem::new(Kind::Other, text) }
}

/// What belongs to the repository under the cursor: one is asked about after the other.
fn counted(story: &mut Story) {
    for _ in 0..2 {
        story.answer(|ask| matches!(ask, Ask::Facts(_)), Ok(facts()));
    }
}

fn on_artifacts(story: &mut Story) {
    story.keys("5");
    story.answer(|ask| matches!(ask, Ask::Runs(_)), Ok(tree()));
}

fn on_deliveries(story: &mut Story) {
    story.keys("4");
    story.answer(|ask| matches!(ask, Ask::Deliveries { .. }), Ok(deliveries()));
}

fn reading(story: &mut Story) {
    on_deliveries(story);
    story.keys("\n");
    story.answer(|ask| matches!(ask, Ask::Delivery(_)), Ok(detail(delivery(14, "pending", 0))));
    // The first picture tells the text how much room it has.
    story.text();
}
