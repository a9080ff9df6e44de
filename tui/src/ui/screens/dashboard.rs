//! The daemon at a glance.

use std::{collections::VecDeque, time::Duration};

use farrier_common::api::{Event, Health, Status};
use ratatui::{buffer::Buffer, layout::Rect};

use super::{Screen, ScreenId};
use crate::{
    output::human_bytes,
    ui::{
        keymap::{Action, Scope},
        list::feed::Load,
        net::{Answer, Ask, Problem},
        view::{Role, rule, text, wrapped},
        words,
        world::{Env, World},
    },
};

const PACE: Duration = Duration::from_secs(2);
/// Events that are kept to be looked at.
const EVENTS_MAX: usize = 200;
/// Above this the disk is a problem.
const DISK_FULL_PERCENT: i64 = 90;

#[derive(Debug, Default)]
pub(crate) struct Dashboard {
    now: Option<(Status, Health)>,
    load: Load,
    /// What happened since the program began, the newest first.
    events: VecDeque<Event>,
    following: bool,
}

impl Dashboard {
    fn happenings(&self, area: Rect, buf: &mut Buffer) {
        if area.height < 2 {
            return;
        }
        rule(buf, Rect { height: 1, ..area }, "Events (live)");
        if self.events.is_empty() {
            text(buf, Rect { y: area.y + 1, height: 1, ..area }, " nothing since this program began", Role::Muted);
        }
        for (event, y) in self.events.iter().zip(area.y + 1..area.bottom()) {
            let kind = format!("{} {}", event.kind, event.action);
            let about = event.r#ref.trim_start_matches("refs/heads/").trim_start_matches("refs/tags/");
            let line =
                format!(" {}  {kind:<22} {}  {about} {}", words::clock(&event.at), event.repository, event.actor);
            text(buf, Rect { y, height: 1, ..area }, &line, Role::Text);
        }
    }

    fn problems(&self) -> Vec<String> {
        let Some((status, health)) = &self.now else { return Vec::new() };
        let mut problems = health.problems.clone();
        let disk = &status.disk;
        let used = words::percent(disk.total_bytes - disk.free_bytes, disk.total_bytes);
        if used >= DISK_FULL_PERCENT {
            problems.push(format!("the disk is {used} % full, {} are free", human_bytes(disk.free_bytes)));
        }
        problems
    }
}

/// A name and what there is to say about it.
type Fact = (Role, &'static str, String);

fn now(status: &Status) -> Vec<Fact> {
    let listeners = status.listeners.iter().map(|one| (Role::Text, "listens", format!("{} {}", one.kind, one.address)));
    let identity = if status.identity.is_empty() { "nobody" } else { &status.identity };
    let mut facts = vec![
        (Role::Text, "version", format!("{}   API {}", status.version, status.api_version)),
        (Role::Text, "up", words::uptime(status.uptime_secs)),
        (Role::Text, "address", status.root_url.clone()),
    ];
    facts.extend(listeners);
    facts.push((Role::Accent, "you are", identity.to_owned()));
    facts.push((Role::Text, "clients", format!("{} connected", words::count(status.connections))));
    facts.push((Role::Text, "memory", human_bytes(status.resident_bytes)));
    facts
}

fn storage(status: &Status, room: u16) -> Vec<Fact> {
    let disk = &status.disk;
    let used = disk.total_bytes - disk.free_bytes;
    let percent = words::percent(used, disk.total_bytes);
    let role = if percent >= DISK_FULL_PERCENT { Role::Error } else { Role::Text };
    let cells = usize::from(room.saturating_sub(44).clamp(10, 24));
    vec![
        (Role::Text, "store", format!("{}  {}", human_bytes(status.store.size_bytes), status.store.engine)),
        (
            role,
            "disk",
            format!(
                "{} {percent} %   {} free",
                words::bar(used, disk.total_bytes, cells),
                human_bytes(disk.free_bytes)
            ),
        ),
    ]
}

/// A heading and facts below it. Answers the row after them.
fn section(buf: &mut Buffer, area: Rect, y: u16, title: &str, facts: &[Fact]) -> u16 {
    let row = |y: u16| Rect { y, height: 1, ..area };
    if y >= area.bottom() {
        return y;
    }
    rule(buf, row(y), title);
    let mut y = y + 1;
    for (role, name, value) in facts {
        for (at, part) in wrapped(value, area.width.saturating_sub(12)).iter().enumerate() {
            if y >= area.bottom() {
                return y;
            }
            text(
                buf,
                Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..row(y) },
                if at == 0 { name } else { "" },
                Role::Muted,
            );
            text(
                buf,
                Rect { x: area.x + 11.min(area.width), width: area.width.saturating_sub(11), ..row(y) },
                part,
                *role,
            );
            y += 1;
        }
    }
    y
}

impl Screen for Dashboard {
    fn id(&self) -> ScreenId {
        ScreenId::Dashboard
    }

    fn scopes(&self, _: &World) -> Vec<Scope> {
        vec![Scope::Dashboard, Scope::Everywhere]
    }

    fn entered(&mut self, env: &mut Env) {
        self.refresh(env);
    }

    fn refresh(&mut self, env: &mut Env) {
        if self.now.is_none() {
            self.load = Load::Asked(env.world.now);
        }
        env.ask(Ask::Status);
        if !std::mem::replace(&mut self.following, true) {
            env.ask(Ask::Events { after: self.events.front().map(|event| event.id) });
        }
    }

    fn pace(&self) -> Option<Duration> {
        Some(PACE)
    }

    fn act(&mut self, _: Action, _: &mut Env) -> bool {
        false
    }

    fn answered(&mut self, ask: &Ask, result: &Result<Answer, Problem>, env: &mut Env) {
        match (ask, result) {
            (Ask::Status, Ok(Answer::Status(now))) => {
                self.now = Some((**now).clone());
                self.load = Load::Done(env.world.now);
            }
            (Ask::Events { .. }, Ok(Answer::Event(event))) => {
                self.events.push_front((**event).clone());
                self.events.truncate(EVENTS_MAX);
            }
            (Ask::Events { .. }, _) => self.following = false,
            (Ask::Status, Err(problem)) => self.load = Load::Failed(problem.clone()),
            _ => {}
        }
    }

    fn problem(&self) -> Option<&Problem> {
        match &self.load {
            Load::Failed(problem) => Some(problem),
            _ => None,
        }
    }

    fn standing(&self, world: &World) -> String {
        let state = if world.paused { "stands still" } else { "every 2 s" };
        match self.problems().len() {
            0 => format!("{state}  no problems"),
            1 => format!("{state}  1 problem"),
            n => format!("{state}  {n} problems"),
        }
    }

    fn draw(&self, _: &World, area: Rect, buf: &mut Buffer) {
        let Some((status, _)) = &self.now else {
            if let Load::Failed(problem) = &self.load {
                let lines = wrapped(&problem.text, area.width.saturating_sub(4));
                for ((at, line), y) in lines.iter().enumerate().zip(area.y + 1..area.bottom()) {
                    let role = if at == 0 { Role::Error } else { Role::Text };
                    text(buf, Rect { x: area.x + 2, y, width: area.width.saturating_sub(4), height: 1 }, line, role);
                }
            }
            return;
        };
        let problems = self.problems();
        let facts: Vec<Fact> = if problems.is_empty() {
            vec![(Role::Ok, "none", "the daemon says that all is well".to_owned())]
        } else {
            problems.into_iter().map(|problem| (Role::Error, "!", problem)).collect()
        };
        if area.width >= 110 {
            let left = Rect { width: area.width / 2 - 1, ..area };
            let right = Rect { x: left.right() + 2, width: area.width - left.width - 2, ..area };
            let y = section(buf, left, area.y, "Now", &now(status));
            let y = section(buf, left, y + 1, "Storage", &storage(status, left.width));
            section(buf, left, y + 1, "Problems", &facts);
            self.happenings(right, buf);
        } else {
            let y = section(buf, area, area.y, "Now", &now(status));
            let y = section(buf, area, y, "Storage", &storage(status, area.width));
            let y = section(buf, area, y, "Problems", &facts);
            self.happenings(Rect { y, height: area.bottom().saturating_sub(y), ..area }, buf);
        }
    }
}
