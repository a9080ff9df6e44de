//! A list of deleted objects that administrators can restore or delete permanently.
//!
//! One screen for repositories and one for artifacts. They share the digit and the tab of the screen of the objects
//! that exist. The API refuses other callers; the list then shows the refusal.

mod actions;
mod answers;
pub(super) mod form;
pub(super) mod rows;

use std::time::Duration;

use ratatui::{buffer::Buffer, layout::Rect};

use self::answers::{is_about, named};
use super::{Related, Screen, ScreenId, Selection, panes};
use crate::{
    output::counted,
    ui::{
        keymap::{Action, Object, Scope},
        layer::Layer,
        list::{self, Feed, List, ListView, Row, TableOptions},
        net::{Answer, Page, Problem, Request},
        times::Clock,
        view::{self, Role, below, rule, wrapped},
        world::{Cmd, Env, World},
    },
};

/// How often the list is refreshed while it is visible.
const REFRESH_INTERVAL: Duration = Duration::from_secs(15);
/// Rows of the pane below the list, with its rule.
const PANE: u16 = 6;
/// Part of the width for the list beside the pane, in percent.
const LIST_SHARE: u16 = 62;
/// With fewer rows there is no pane.
const ROOMY: u16 = 14;

/// A deleted object.
pub(crate) trait Restorable: Row<Id = i64> {
    const SCREEN: ScreenId;
    /// The screen of the objects that exist.
    const LIVE: ScreenId;
    const SCOPE: Scope;
    const OBJECT: Object;
    /// One of them: `repository`.
    const NOUN: &str;
    /// All of them: `deleted repositories`.
    const WHAT: &str;

    /// Returns the request for the list.
    fn list() -> Request;
    /// Returns the rows of an answer to that request.
    fn page(answer: &Answer) -> Option<&Page<Self>>;
    fn name(&self) -> String;
    /// Returns the objects that belong to it.
    fn related(&self) -> Vec<Related>;
    /// Lines for the pane below the list.
    fn facts(&self, clock: &Clock) -> Vec<(Role, String)>;
    /// Returns why it cannot be restored now.
    fn obstacle(&self) -> Option<String> {
        None
    }
    /// Returns the form or the question before it is restored.
    fn restore_layer(&self, world: &World) -> Layer;
    /// Returns the request that restores the object `id`; `name` is for messages.
    fn restore_request(id: i64, name: String) -> Request;
    /// Returns the request that deletes the object `id` permanently; `name` is for messages.
    fn purge_request(id: i64, name: String) -> Request;
    /// Returns the text that must be typed before it is deleted permanently.
    fn purge_word(&self) -> String;
}

/// The screen.
#[derive(Debug)]
pub(crate) struct Deleted<T: Row> {
    pub(super) rows: Feed<T>,
}

impl<T: Row> Default for Deleted<T> {
    fn default() -> Self {
        Self { rows: Feed::new(List::default()) }
    }
}

impl<T: Restorable> Deleted<T> {
    fn empty_lines(world: &World) -> [String; 3] {
        let days = world.status.as_ref().map_or(0, |status| status.restore_days);
        let kept = match days {
            0 => "This daemon does not keep what is deleted (storage.set_aside_days is 0).".to_owned(),
            days => format!("The daemon keeps what is deleted for {}.", counted(days, "day")),
        };
        [format!("No {}.", T::WHAT), String::new(), kept]
    }
}

impl<T: Restorable> Screen for Deleted<T> {
    fn id(&self) -> ScreenId {
        T::SCREEN
    }

    fn scopes(&self, _: &World) -> Vec<Scope> {
        vec![T::SCOPE, Scope::List, Scope::Moves, Scope::Everywhere]
    }

    fn list(&self) -> Option<&dyn ListView> {
        Some(&self.rows)
    }

    fn list_mut(&mut self) -> Option<&mut dyn ListView> {
        Some(&mut self.rows)
    }

    fn refresh(&mut self, env: &mut Env) {
        self.rows.request(T::list(), env);
    }

    fn refresh_interval(&self) -> Option<Duration> {
        Some(REFRESH_INTERVAL)
    }

    fn act(&mut self, action: Action, env: &mut Env) -> bool {
        match action {
            Action::Restore => match self.rows.list.targets().as_slice() {
                [] => {}
                [one] => {
                    let layer = one.restore_layer(env.world);
                    env.open(layer);
                }
                many => self.restore_many(many.to_vec(), env),
            },
            Action::Purge => self.purge(env),
            Action::Back => {
                if !self.rows.clear_one(env) {
                    env.push(Cmd::Screen(T::LIVE));
                }
            }
            action => return self.rows.act(action),
        }
        true
    }

    fn unavailable(&self, action: Action) -> Option<String> {
        self.unavailable_reason(action)
    }

    fn answered(&mut self, request: &Request, result: &Result<Answer, Problem>, env: &mut Env) {
        self.take(request, result, env);
    }

    fn subject(&self) -> Option<String> {
        self.rows.list.subject(Restorable::name, T::WHAT)
    }

    fn related(&self) -> Vec<Related> {
        self.rows.list.current().map(Restorable::related).unwrap_or_default()
    }

    fn selection(&self) -> Option<Selection> {
        self.rows.list.selection(T::OBJECT, self.subject()?)
    }

    fn missing_target(&self, request: &Request) -> Option<String> {
        if let Request::Batch(batch) = request {
            return batch.items.iter().find_map(|(_, request)| self.missing_target(request));
        }
        let (_, id, name) = named(request).filter(|_| is_about::<T>(request))?;
        let is_gone = self.rows.has_all() && !self.rows.list.rows().iter().any(|row| row.id() == id);
        is_gone.then(|| name.to_owned())
    }

    fn status(&self, _: &World) -> String {
        format!("{}  {}", T::WHAT, self.rows.status_text())
    }

    fn draw(&self, world: &World, area: Rect, buf: &mut Buffer) {
        let lines = Self::empty_lines(world);
        let empty = lines.each_ref().map(String::as_str);
        let options = TableOptions { what: T::WHAT, empty: &empty, focused: true };
        let Some(row) = self.rows.list.current().filter(|_| area.height >= ROOMY) else {
            return list::draw(&self.rows, options, world, area, buf);
        };
        let pane = if world.three_panes() {
            let (left, right) = panes::side_by_side(area, LIST_SHARE, world, buf);
            list::draw(&self.rows, options, world, left, buf);
            right
        } else {
            let top = Rect { height: area.height - PANE, ..area };
            list::draw(&self.rows, options, world, top, buf);
            rule(buf, Rect { y: top.bottom(), height: 1, ..area }, "");
            below(area, top.height + 1)
        };
        let facts = row.facts(&world.clock);
        let facts = facts.iter();
        let lines = facts.flat_map(|(role, line)| wrapped(line, pane.width).into_iter().map(|line| (*role, line)));
        view::lines(buf, pane, lines);
    }
}
