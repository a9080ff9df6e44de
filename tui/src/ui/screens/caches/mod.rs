//! Cache entries of workflow jobs, most recently used first, and the usage of each repository.
//!
//! The screen shares the digit and the tab of the artifacts.

mod actions;
mod rows;

use std::time::Duration;

use farrier_common::api::CacheUsage;
use ratatui::{buffer::Buffer, layout::Rect};

use super::{Related, Screen, ScreenId, Selection, ThirdPane, panes};
use crate::{
    output::human_bytes,
    ui::{
        cache::CacheSummary,
        keymap::{Action, Object, Scope},
        list::{self, Feed, List, ListView, TableOptions},
        net::{Answer, Problem, Request},
        times::Clock,
        view::{self, Role, below, rule, wrapped},
        words,
        world::{Cmd, Env, World},
    },
};

/// How often a short list is refreshed while it is visible.
const REFRESH_INTERVAL: Duration = Duration::from_secs(15);
/// A long list takes many requests: each time it grows by this many rows, it is refreshed less often.
const ROWS_PER_STEP: usize = 500;
/// Rows of the pane below the list, with its rule.
const PANE: u16 = 8;
/// With fewer rows there is no pane below the list.
const HEIGHT_MIN_WITH_PANE: u16 = 16;

#[derive(Debug)]
pub(crate) struct Caches {
    pub(super) rows: Feed<CacheSummary>,
    /// The usage of the largest repositories, the largest first.
    usage: Vec<CacheUsage>,
    /// Number of repositories with entries; 0 if the daemon does not report it.
    repositories: usize,
}

impl Default for Caches {
    fn default() -> Self {
        Self { rows: Feed::new(List::default()), usage: Vec::new(), repositories: 0 }
    }
}

/// Heading of the usage.
const USAGE: &str = "Usage";

/// Returns the fields of an entry.
fn facts(entry: &CacheSummary, clock: &Clock) -> Vec<(Role, String)> {
    let fact = |name: &str, value: String| (Role::Text, format!("{name:<10} {value}"));
    vec![
        (Role::Title, entry.key().to_owned()),
        fact("ID", format!("{} in {}", entry.id, entry.repository())),
        fact("ref", entry.git_ref().to_owned()),
        fact("size", human_bytes(entry.size)),
        fact("hits", words::count(entry.hits)),
        fact("last used", clock.stamp_of(entry.used())),
        fact("created", clock.stamp_of(entry.created())),
        fact("version", entry.version().to_owned()),
    ]
}

impl Caches {
    /// Returns one line for each repository with its entries.
    fn usage_lines(&self) -> impl Iterator<Item = (Role, String)> {
        self.usage.iter().map(|one| {
            let size = human_bytes(one.active_caches_size_in_bytes);
            let noun = if one.active_caches_count == 1 { "entry" } else { "entries" };
            let count = words::count(one.active_caches_count);
            (Role::Text, format!("{size:>9}  {count:>6} {noun:<7}  {}", one.full_name))
        })
    }

    /// Returns the heading of the usage and its lines.
    fn titled_usage(&self) -> impl Iterator<Item = (Role, String)> {
        std::iter::once((Role::Title, USAGE.to_owned())).chain(self.usage_lines())
    }

    /// Loads the list again, also when an earlier request for it still runs.
    fn reload(&mut self, env: &mut Env) {
        if self.rows.was_requested() {
            self.rows.stop(env);
            self.refresh(env);
        }
    }

    /// Returns the lines of the pane: the current entry, and the usage unless the third pane shows it.
    fn pane(&self, world: &World, width: u16) -> Vec<(Role, String)> {
        let lines = self.rows.list.current().map(|entry| facts(entry, &world.clock)).unwrap_or_default();
        let wrap = |(role, line): (Role, String)| {
            wrapped(&line, width).into_iter().map(move |line| (role, line)).collect::<Vec<_>>()
        };
        let mut lines: Vec<_> = lines.into_iter().flat_map(wrap).collect();
        if !world.three_panes() {
            lines.push((Role::Text, String::new()));
            lines.extend(self.titled_usage().flat_map(wrap));
        }
        lines
    }
}

impl Screen for Caches {
    fn id(&self) -> ScreenId {
        ScreenId::Caches
    }

    fn scopes(&self, _: &World) -> Vec<Scope> {
        vec![Scope::Caches, Scope::List, Scope::Moves, Scope::Everywhere]
    }

    fn list(&self) -> Option<&dyn ListView> {
        Some(&self.rows)
    }

    fn list_mut(&mut self) -> Option<&mut dyn ListView> {
        Some(&mut self.rows)
    }

    fn refresh(&mut self, env: &mut Env) {
        self.rows.request(Request::Caches, env);
        env.send(Request::CacheUsage);
    }

    fn refresh_interval(&self) -> Option<Duration> {
        let slower = u32::try_from(self.rows.list.rows().len() / ROWS_PER_STEP).unwrap_or(u32::MAX - 1);
        Some(REFRESH_INTERVAL.saturating_mul(slower + 1))
    }

    fn act(&mut self, action: Action, env: &mut Env) -> bool {
        match action {
            Action::Open => self.open(env),
            Action::Copy => self.copy(env),
            Action::Delete => self.delete(env),
            Action::Back => {
                if !self.rows.clear_one(env) {
                    env.push(Cmd::Screen(ScreenId::Artifacts));
                }
            }
            action => return self.rows.act(action),
        }
        true
    }

    fn unavailable(&self, action: Action) -> Option<String> {
        match action {
            Action::Open | Action::Copy | Action::Delete if self.rows.list.targets().is_empty() => {
                Some(self.rows.list.hidden_note().unwrap_or_else(|| "no cache entry selected".to_owned()))
            }
            _ => None,
        }
    }

    fn answered(&mut self, request: &Request, result: &Result<Answer, Problem>, env: &mut Env) {
        self.take(request, result, env);
    }

    fn third_pane(&self, _: &World, room: u16) -> Option<ThirdPane> {
        self.rows.list.current()?;
        Some(ThirdPane::text(USAGE, self.usage_lines().collect(), room))
    }

    fn subject(&self) -> Option<String> {
        self.rows.list.subject(|entry| entry.key().to_owned(), "cache entries")
    }

    fn related(&self) -> Vec<Related> {
        let Some(entry) = self.rows.list.current() else { return Vec::new() };
        let path = entry.repository();
        vec![
            Related::repository(path),
            Related::runs_in(path),
            Related::artifacts_of(path),
            Related::pushes_to(path),
            Related::audit_of("cache", &entry.id.to_string()),
        ]
    }

    fn selection(&self) -> Option<Selection> {
        self.rows.list.selection(Object::CacheEntry, self.subject()?)
    }

    fn status(&self, _: &World) -> String {
        let bytes = self.usage.iter().map(|one| one.active_caches_size_in_bytes).sum();
        let of = match self.usage.len() {
            0 => return format!("cache entries  {}", self.rows.status_text()),
            shown if shown < self.repositories => {
                format!("in the {shown} largest of {} repositories", self.repositories)
            }
            _ => "in all".to_owned(),
        };
        let total = format!("  {} {of}", human_bytes(bytes));
        format!("cache entries  {}{total}", self.rows.status_text())
    }

    fn draw(&self, world: &World, area: Rect, buf: &mut Buffer) {
        let empty: &[&str] = &["No cache entries.", "", "Jobs save them with actions/cache and other cache clients."];
        let options = TableOptions { what: "cache entries", empty, focused: true };
        if world.split() {
            let (left, right) = panes::side_by_side(area, 62, world, buf);
            list::draw(&self.rows, options, world, left, buf);
            view::lines(buf, right, self.pane(world, right.width));
        } else if area.height >= HEIGHT_MIN_WITH_PANE && !self.usage.is_empty() {
            let top = Rect { height: area.height - PANE, ..area };
            list::draw(&self.rows, options, world, top, buf);
            rule(buf, Rect { y: top.bottom(), height: 1, ..area }, "");
            view::lines(buf, below(area, top.height + 1), self.titled_usage());
        } else {
            list::draw(&self.rows, options, world, area, buf);
        }
    }
}
