//! A person and a daemon, both played.

use farrier_common::api::{
    Amount, Artifact, ArtifactJob, ArtifactRun, BackgroundTask, Branch, Delivery, DeliveryAttempt, DeliveryDetail,
    FoundArtifact, FoundJob, FoundRun, Health, Hook, HookEvent, Kept, ListenerStatus, PayloadCommit, PayloadUser,
    Repository, Status, StoreStatus, TaskPhase,
};
use jiff::Timestamp;
use ratatui::{
    buffer::{Buffer, Cell},
    layout::Rect,
    style::{Color, Modifier},
};

use super::prelude::*;
use crate::ui::{
    caps::{Colors, Glyphs, Look},
    net::{Facts, Kind, Page},
    repo::Slimmer,
    runs::{self, Part},
    view,
};

/// An application with what it wanted so far.
pub(super) struct Story {
    pub(super) app: App,
    pub(super) now: Duration,
    pub(super) effects: Vec<Effect>,
    /// Sizes that the terminal has for a moment before each message.
    restless: Option<Box<dyn Iterator<Item = Size>>>,
}

pub(super) fn rich() -> Look {
    Look { colors: Colors::Palette, glyphs: Glyphs::Unicode, theme: Theme::default() }
}

fn wall(now: Duration) -> Timestamp {
    let start: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
    start + now
}

/// The terminal that a story plays on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stage {
    pub(super) width: u16,
    pub(super) height: u16,
    pub(super) look: Look,
}

/// One that can do what most can.
pub(super) fn stage(width: u16, height: u16) -> Stage {
    Stage { width, height, look: rich() }
}

impl Stage {
    pub(super) fn settings(self) -> Settings {
        Settings { look: self.look, ..Settings::default() }
    }

    /// A program that has heard nothing yet.
    pub(super) fn started(self) -> Story {
        Story::with(self.settings(), self.width, self.height)
    }

    /// With rows and a status.
    pub(super) fn settled(self) -> Story {
        self.started().told_of_rows()
    }

    /// The same, on a terminal whose size does not stand still.
    pub(super) fn restless(self) -> Story {
        // Neither number has anything in common with those of the sizes.
        let sizes = (1_u16..).map(|step| Size::new(step * 89 % 300 + 1, step * 53 % 120 + 1));
        Story { restless: Some(Box::new(sizes)), ..self.started() }.told_of_rows()
    }

    pub(super) fn read_only(self) -> Story {
        Story::with(Settings { read_only: true, ..self.settings() }, self.width, self.height).told_of_rows()
    }
}

impl Story {
    pub(super) fn new(width: u16, height: u16) -> Self {
        stage(width, height).started()
    }

    pub(super) fn with(settings: Settings, width: u16, height: u16) -> Self {
        let mut app = App::new(Size::new(width, height), settings, wall(Duration::ZERO));
        let effects = app.begin();
        Self { app, now: Duration::ZERO, effects, restless: None }
    }

    /// With rows and a status.
    pub(super) fn settled(width: u16, height: u16) -> Self {
        Self::new(width, height).told_of_rows()
    }

    fn told_of_rows(mut self) -> Self {
        self.answer(|ask| matches!(ask, Ask::Status), Ok(status()));
        self.answer(|ask| matches!(ask, Ask::Repositories), Ok(repositories(&NAMES)));
        self
    }

    pub(super) fn tell(&mut self, msg: Msg) {
        if let Some(size) = self.restless.as_mut().and_then(Iterator::next) {
            let usual = self.app.world.size;
            for size in [size, usual] {
                self.app.update(Msg::Resized(size), self.now, wall(self.now));
                self.picture();
            }
        }
        let effects = self.app.update(msg, self.now, wall(self.now));
        self.effects.extend(effects);
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.now += time;
        self.tell(Msg::Tick);
    }

    pub(super) fn keys(&mut self, keys: &str) {
        for key in keys.chars() {
            self.press(match key {
                '\n' => Key::Enter,
                '\x1b' => Key::Esc,
                '\t' => Key::Tab,
                key => Key::Char(key),
            });
        }
    }

    pub(super) fn press(&mut self, key: Key) {
        self.tell(Msg::Key(key));
    }

    /// Answers the newest question that `which` means.
    #[track_caller]
    pub(super) fn answer(&mut self, which: impl Fn(&Ask) -> bool, result: Result<Answer, Problem>) {
        let found = self.effects.iter().rev().find_map(|effect| match effect {
            Effect::Ask(ticket, ask) if which(ask) => Some(*ticket),
            _ => None,
        });
        self.tell(Msg::Answer(found.expect("it was asked"), result));
    }

    /// What was asked since the last call, but for what is only looked at beside a list.
    pub(super) fn asked(&mut self) -> Vec<Ask> {
        let effects = std::mem::take(&mut self.effects);
        let asked = effects.into_iter().filter_map(|e| if let Effect::Ask(_, ask) = e { Some(ask) } else { None });
        asked.filter(|ask| !matches!(ask, Ask::LastDeliveries(_) | Ask::Facts(_) | Ask::Tasks)).collect()
    }

    pub(super) fn quits(&self) -> Option<u8> {
        self.effects.iter().find_map(|effect| if let Effect::Quit(code) = effect { Some(*code) } else { None })
    }

    pub(super) fn picture(&self) -> Buffer {
        let size = self.app.world.size;
        let mut buffer = Buffer::empty(Rect::new(0, 0, size.width, size.height));
        view::draw(&self.app, &mut buffer);
        buffer
    }

    /// The picture's text.
    pub(super) fn text(&self) -> String {
        rows(&self.picture(), |cell| cell.symbol().to_owned())
    }

    /// The picture's look: a sign a cell, see [`sign`].
    pub(super) fn styles(&self) -> String {
        rows(&self.picture(), |cell| sign(cell).to_string())
    }
}

/// What a cell looks like: `R` reversed, `U` underlined; `b` bold, `d` dim; 1 to 6 the terminal's red, green,
/// yellow, blue, magenta and cyan, A to F the same in bold; `.` as everything else, `?` as nothing should.
fn sign(cell: &Cell) -> char {
    let has = |modifier| cell.modifier.contains(modifier);
    let color = match cell.fg {
        Color::Reset => None,
        Color::Red => Some(0),
        Color::Green => Some(1),
        Color::Yellow => Some(2),
        Color::Blue => Some(3),
        Color::Magenta => Some(4),
        Color::Cyan => Some(5),
        _ => return '?',
    };
    match color {
        _ if has(Modifier::REVERSED) => 'R',
        _ if has(Modifier::UNDERLINED) => 'U',
        Some(color) => char::from(if has(Modifier::BOLD) { b'A' } else { b'1' } + color),
        None if has(Modifier::BOLD) => 'b',
        None if has(Modifier::DIM) => 'd',
        None => '.',
    }
}

fn rows(buffer: &Buffer, of: impl Fn(&Cell) -> String) -> String {
    let width = usize::from(buffer.area.width);
    let lines = buffer.content.chunks(width).map(|row| {
        let mut line = String::new();
        let mut skip = 0;
        for cell in row {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            skip = usize::from(view::width(cell.symbol())).saturating_sub(1);
            line.push_str(&of(cell));
        }
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

pub(super) const NAMES: [&str; 6] = ["infra/gateway", "data/lake", "web/site", "infra/auth", "ops/日本語", "tools/cli"];

pub(super) fn repository(id: i64, name: &str) -> Repository {
    Repository {
        id,
        full_name: name.to_owned(),
        name: name.rsplit('/').next().unwrap().to_owned(),
        private: id % 2 == 0,
        empty: id == 3,
        size: id * 1_500,
        default_branch: "main".to_owned(),
        description: "edge proxy for the CI farm".to_owned(),
        clone_url: format!("http://forge01.lan/{name}.git"),
        created_at: "2026-01-02T03:04:05Z".to_owned(),
        updated_at: format!("2026-11-{:02}T11:00:00Z", 21 - id),
        ..Repository::default()
    }
}

pub(super) fn repositories(names: &[&str]) -> Answer {
    let items = (1..).zip(names).map(|(id, name)| repository(id, name)).collect::<Vec<_>>();
    listed(i64::try_from(items.len()).ok(), items)
}

/// All repositories, as the network tells them.
pub(super) fn listed(total: Option<i64>, items: Vec<Repository>) -> Answer {
    let mut slimmer = Slimmer::default();
    let items = items.into_iter().map(|whole| slimmer.slim(whole)).collect();
    Answer::Repositories(Page { items, total, last: true })
}

pub(super) fn status() -> Answer {
    let status = Status {
        version: "0.1.0".into(),
        api_version: "1.24.0".into(),
        api_level: farrier_common::API_LEVEL,
        root_url: "http://forge01.lan:3000".into(),
        uptime_secs: 1_051_860,
        listeners: vec![ListenerStatus { kind: "unix".into(), address: "/run/farrier/farrier.sock".into() }],
        resident_bytes: 14 << 20,
        disk: farrier_common::api::DiskStatus { free_bytes: 9 << 30, total_bytes: 100 << 30 },
        connections: 3,
        identity: "admin".into(),
        store: StoreStatus { engine: "redb".into(), size_bytes: 212 << 20 },
        kept: Some(Kept {
            repositories: Amount { count: 1_204, size_bytes: 18 << 30 },
            artifacts: Amount { count: 1_904, size_bytes: 41 << 30 },
        }),
        ..Status::default()
    };
    let health = Health { status: "fail".into(), problems: vec!["the store is read-only".into()], ..Health::default() };
    Answer::Status(Box::new((status, health)))
}

pub(super) fn series() -> Answer {
    Answer::Series(Box::new(farrier_common::api::MetricsSeries {
        requests: (0..60).map(|second| 30 + second * 7 % 23).collect(),
        delivered: (0..60).map(|second| i64::from(second % 7 == 0) * 3).collect(),
        failed: (0..60).map(|second| i64::from(second == 41)).collect(),
        p50_micros: 2_048,
        p99_micros: 16_384,
        uploads: 2,
        waiting: 1_214,
        oldest_due_secs: 72,
    }))
}

/// Two runs of two repositories, with an artifact that expires soon.
pub(super) fn tree() -> Answer {
    let job = |id: i64, name: &str| FoundJob {
        id,
        name: name.into(),
        status: "completed".into(),
        conclusion: "success".into(),
        started_at: "2026-11-21T11:58:10Z".into(),
        completed_at: "2026-11-21T11:58:40Z".into(),
    };
    let run = |id: i64, repository: &str, conclusion: &str, jobs: Vec<FoundJob>| FoundRun {
        id,
        repository: repository.into(),
        display_title: "ci".into(),
        head_branch: "main".into(),
        head_sha: "a1b2c3d4e5f6".into(),
        status: "completed".into(),
        conclusion: conclusion.into(),
        started_at: "2026-11-21T11:58:00Z".into(),
        completed_at: "2026-11-21T11:59:00Z".into(),
        jobs,
        ..FoundRun::default()
    };
    let artifact = |id: i64, (run, job): (i64, i64), repository: &str, name: &str, expires_at: &str| FoundArtifact {
        id,
        name: name.into(),
        size_in_bytes: 1_500_000 * id,
        digest: format!("sha256:{}", "3b1f".repeat(16)),
        created_at: "2026-11-21T11:59:00Z".into(),
        expires_at: expires_at.into(),
        workflow_run: ArtifactRun { id: run, ..ArtifactRun::default() },
        repository: repository.into(),
        job: ArtifactJob { id: job, ..ArtifactJob::default() },
        state: "ready".into(),
        version: 4,
        ..FoundArtifact::default()
    };
    let mut slimmer = runs::Slimmer::default();
    let all_runs = [
        run(9, "infra/gateway", "success", vec![job(4, "build-linux"), job(5, "test")]),
        run(8, "web/site", "failure", vec![job(3, "build-linux")]),
    ];
    let artifacts = [
        artifact(21, (9, 4), "infra/gateway", "dist-linux.zip", "2027-02-19T11:59:00Z"),
        artifact(20, (9, 4), "infra/gateway", "sbom.json", "2027-02-19T11:58:00Z"),
        artifact(7, (8, 3), "web/site", "junit.xml", "2026-11-21T12:41:00Z"),
    ];
    Answer::Runs(Box::new(Part {
        runs: all_runs.into_iter().map(|whole| slimmer.run(whole)).collect(),
        artifacts: artifacts.iter().map(|whole| slimmer.artifact(whole)).collect(),
        last: true,
        cut: false,
    }))
}

pub(super) fn hooks() -> Answer {
    let hook = |id: i64, scope: &str, url: &str, failures: i64| Hook {
        id,
        r#type: "farrier".into(),
        scope: scope.into(),
        url: url.into(),
        content_type: "json".into(),
        active: id != 15,
        events_exact: vec!["push".into(), "create".into()],
        has_secret: id == 12,
        last_delivery_at: (scope == "system").then(|| "2026-11-21T11:59:00Z".to_owned()),
        last_status: if failures > 0 { 0 } else { 200 },
        failures,
        created_at: "2026-11-02T10:00:00Z".into(),
        updated_at: "2026-11-18T10:00:00Z".into(),
        ..Hook::default()
    };
    Answer::Hooks(vec![
        hook(3, "system", "https://audit.lan/in", 0),
        hook(12, "system", "https://ci.example.net/hook", 22),
        hook(15, "system", "http://10.0.3.9:8080/", 0),
        hook(21, "default", "https://lint.lan/r", 0),
    ])
}

/// Goes to the hooks, and they come.
pub(super) fn on_hooks(story: &mut Story) {
    story.keys("3");
    story.answer(|ask| matches!(ask, Ask::Hooks(_)), Ok(hooks()));
    story.answer(|ask| *ask == Ask::HookEvents, Ok(hook_events()));
}

pub(super) fn hook_events() -> Answer {
    let event = |name: &str, description: &str| HookEvent {
        name: name.into(),
        exact: name.into(),
        sent: true,
        description: description.into(),
        headers: Vec::new(),
    };
    Answer::HookEvents(vec![
        event("push", "a branch or tag was pushed"),
        event("create", "a branch or tag was made"),
        event("delete", "a branch or tag was removed"),
        event("repository", "a repository was made or changed"),
    ])
}

pub(super) fn delivery(id: i64, state: &str, code: u32) -> Delivery {
    Delivery {
        id,
        guid: format!("9f1c2a7e-44b0-4a51-8a53-0d7a1b6f0c{id}"),
        hook_id: if id % 2 == 0 { 12 } else { 3 },
        delivered_at: Some(format!("2026-11-21T11:58:{id}Z")),
        duration: 0.038,
        status: if code == 0 { "connect" } else { "OK" }.into(),
        status_code: code,
        event: "push".into(),
        state: state.into(),
        attempts: 4,
        next_attempt_at: (state == "pending").then(|| "2026-11-21T12:04:07Z".to_owned()),
        created_at: "2026-11-21T11:58:00Z".into(),
        repository: Some("infra/gateway".to_owned()),
        max_attempts: 9,
        ..Delivery::default()
    }
}

pub(super) fn deliveries() -> Answer {
    let items = vec![delivery(14, "pending", 0), delivery(13, "success", 200), delivery(12, "failed", 500)];
    Answer::Deliveries(Page { total: Some(3), items, last: true })
}

pub(super) fn detail(of: Delivery) -> Answer {
    let attempt = |number: u32| DeliveryAttempt {
        number,
        trigger: "retry".into(),
        started_at: "2026-11-21T11:58:37Z".into(),
        duration: 0.002,
        error_class: "connect".into(),
        error: "connection refused".into(),
        ..DeliveryAttempt::default()
    };
    let mut detail = DeliveryDetail {
        delivery: of,
        url: "https://ci.example.net/hook".into(),
        history: vec![attempt(1), attempt(2)],
        ..DeliveryDetail::default()
    };
    detail.request.headers.insert("x-farrier-event".into(), "push".into());
    detail.request.payload = serde_json::json!({"ref": "refs/heads/main"});
    Answer::Delivery(Box::new(detail))
}

pub(super) fn unreachable() -> Problem {
    let text =
        "no farrier daemon answers; looked at:\n  /run/farrier/farrier.sock: No such file or directory\nstart one";
    Problem::new(Kind::Unreachable, text)
}

pub(super) fn refusal(text: &str) -> Problem {
    Problem::new(Kind::Invalid, text)
}

/// A migration that is on its way, and one that has ended.
pub(super) fn tasks() -> Answer {
    let phase = |name: &str, total: i64, took_millis: i64| TaskPhase { name: name.into(), total, took_millis };
    let running = BackgroundTask {
        id: 9,
        kind: "migration".into(),
        repository: "data/lake2".into(),
        repository_id: 9,
        state: "running".into(),
        phase: "Receiving objects".into(),
        phase_millis: 2_100,
        done: 412_204,
        total: 733_120,
        bytes: 40_100_000,
        phases: vec![phase("waiting", 0, 0), phase("connecting", 0, 420), phase("Counting objects", 733_120, 1_310)],
        millis: 4_000,
        began_at: "2026-11-21T11:59:56Z".into(),
        ..BackgroundTask::default()
    };
    let done = BackgroundTask { id: 8, state: "done".into(), repository: "data/old".into(), ..running.clone() };
    Answer::Tasks(vec![running, done])
}

/// What belongs to a repository.
pub(super) fn facts() -> Answer {
    let tip = |name: &str, at: &str, title: &str| Branch {
        name: name.into(),
        commit: PayloadCommit {
            id: "a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6a1b2".into(),
            message: format!("{title}\n\nmore"),
            timestamp: at.into(),
            author: PayloadUser { name: "ops-a".into(), ..PayloadUser::default() },
            ..PayloadCommit::default()
        },
        ..Branch::default()
    };
    Answer::Facts(Box::new(Facts {
        branches: Some(14),
        tags: Some(61),
        hooks: Some(3),
        system_hooks: Some(2),
        artifacts: Some(212),
        newest: vec![
            tip("main", "2026-11-21T10:00:00Z", "fix: retry on 502"),
            tip("release/2.4", "2026-11-19T10:00:00Z", "chore: bump"),
        ],
    }))
}

pub(super) fn branches() -> Answer {
    let Answer::Facts(facts) = facts() else { unreachable!() };
    Answer::Branches(Page { total: Some(2), items: facts.newest, last: true })
}

pub(super) fn artifacts() -> Answer {
    let artifact = |id: i64, run: i64, name: &str| Artifact {
        id,
        name: name.into(),
        size_in_bytes: 1_500_000 * id,
        digest: format!("sha256:{}", "3b1f".repeat(16)),
        created_at: "2026-11-21T11:59:00Z".into(),
        expires_at: "2099-02-19T11:59:00Z".into(),
        workflow_run: ArtifactRun { id: run, ..ArtifactRun::default() },
        ..Artifact::default()
    };
    let items = vec![artifact(21, 9, "dist-linux.zip"), artifact(20, 9, "sbom.json"), artifact(7, 8, "junit.xml")];
    Answer::ArtifactsOf(Page { total: Some(3), items, last: true })
}
