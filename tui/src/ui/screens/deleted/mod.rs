//! A list of deleted objects that administrators can restore or delete permanently.
//!
//! One screen for repositories and one for artifacts. They share the digit and the tab of the screen of the objects
//! that exist. The API refuses other callers; the list then shows the refusal.

pub(super) mod form;
pub(super) mod rows;

use std::time::Duration;

use ratatui::{buffer::Buffer, layout::Rect};

use super::{Screen, ScreenId, Selection, sortable};
use crate::{
    output::human_bytes,
    ui::{
        bulk::{self, BulkAction},
        keymap::{Action, Object, Scope},
        layer::{Confirm, Layer},
        list::{self, BadFilter, Feed, Filter, List, Row, TableOptions},
        net::{Answer, Ask, Batch, Page, Problem},
        times::Clock,
        view::{Role, rule, text, wrapped},
        world::{Cmd, Env, World},
    },
};

/// How often the list is refreshed while it is visible.
const PACE: Duration = Duration::from_secs(15);
/// Rows of the pane below the list, with its rule.
const PANE: u16 = 6;
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

    /// The request for the list.
    fn list() -> Ask;
    /// The rows of an answer to that request.
    fn page(answer: &Answer) -> Option<&Page<Self>>;
    fn name(&self) -> String;
    /// Lines for the pane below the list.
    fn facts(&self, clock: &Clock) -> Vec<(Role, String)>;
    /// Why it cannot be restored now.
    fn obstacle(&self) -> Option<String> {
        None
    }
    /// The form or the question before it is restored.
    fn restore_layer(&self, world: &World) -> Layer;
    /// The request that restores the object `id`; `name` is for messages.
    fn restore_ask(id: i64, name: String) -> Ask;
    /// The request that deletes the object `id` permanently; `name` is for messages.
    fn purge_ask(id: i64, name: String) -> Ask;
    /// The text that must be typed before it is deleted permanently.
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

/// The name in a request that restores (`true`) or purges (`false`) a deleted object.
fn named(ask: &Ask) -> Option<(bool, i64, &str)> {
    match ask {
        Ask::RestoreRepository { id, name, .. } | Ask::RestoreArtifact { id, name } => Some((true, *id, name)),
        Ask::PurgeRepository { id, name } | Ask::PurgeArtifact { id, name } => Some((false, *id, name)),
        _ => None,
    }
}

/// Whether a request restores or purges an object of the kind `T`.
fn is_about<T: Restorable>(ask: &Ask) -> bool {
    match ask {
        Ask::RestoreRepository { .. } | Ask::PurgeRepository { .. } => T::OBJECT == Object::DeletedRepository,
        Ask::RestoreArtifact { .. } | Ask::PurgeArtifact { .. } => T::OBJECT == Object::DeletedArtifact,
        Ask::Batch(batch) => !batch.items.is_empty() && batch.items.iter().all(|(_, ask)| is_about::<T>(ask)),
        _ => false,
    }
}

impl<T: Restorable> Deleted<T> {
    /// The ID that `word` means: a number, or the name of exactly one listed object.
    pub(crate) fn find(&self, word: &str) -> Result<(i64, String), String> {
        let rows = self.rows.list.rows();
        if let Ok(id) = word.parse() {
            let listed = rows.iter().find(|row| row.id() == id).map(Restorable::name);
            return Ok((id, listed.unwrap_or_else(|| format!("{} {id}", T::NOUN))));
        }
        let found: Vec<&T> = rows.iter().filter(|row| row.name().eq_ignore_ascii_case(word)).collect();
        match found.as_slice() {
            [one] => Ok((one.id(), one.name())),
            [] if self.rows.has_all() => Err(format!("no deleted {} was called {word}", T::NOUN)),
            [] => Err(format!("{} are not loaded yet; try again, or give the ID", T::WHAT)),
            many => {
                let ids: Vec<String> = many.iter().map(|row| row.id().to_string()).collect();
                Err(format!("{} {} were called {word}; give one of the IDs {}", many.len(), T::WHAT, ids.join(", ")))
            }
        }
    }

    /// The question before one object is deleted permanently, whether it is listed or not.
    pub(crate) fn purge_question(&self, id: i64, world: &World) -> Layer {
        let row = self.rows.list.rows().iter().find(|row| row.id() == id);
        let name = row.map_or_else(|| format!("{} {id}", T::NOUN), Restorable::name);
        let mut lines: Vec<String> = row
            .map_or_else(Vec::new, |row| row.facts(&world.clock).into_iter().skip(1).map(|(_, line)| line).collect());
        lines.push("This cannot be undone.".to_owned());
        let word = row.map_or_else(|| id.to_string(), Restorable::purge_word);
        let title = format!("Delete {name} permanently");
        Layer::Confirm(Confirm::typed(title, lines, "Delete permanently", word, T::purge_ask(id, name), world))
    }

    fn purge(&self, env: &mut Env) {
        let targets = self.rows.list.targets();
        let layer = match targets.as_slice() {
            [] => return,
            [one] => self.purge_question(one.id(), env.world),
            many => {
                let batch = batch(many, "deleting", "deleted permanently", T::purge_ask);
                let effect = "They are deleted permanently. This cannot be undone.";
                let bulk = BulkAction { verb: "Delete", effect, permanent: true, ..self.bulk(many) };
                Layer::Confirm(bulk.question(Ask::Batch(Box::new(batch)), env.world))
            }
        };
        env.open(layer);
    }

    fn bulk(&self, rows: &[&T]) -> BulkAction {
        BulkAction {
            noun: T::NOUN,
            names: rows.iter().map(|row| format!("{}   {}", row.name(), human_bytes(row.weight()))).collect(),
            bytes: rows.iter().map(|row| row.weight()).sum(),
            skipped: self.rows.list.hidden_note().into_iter().collect(),
            ..BulkAction::default()
        }
    }

    fn restore_many(&self, targets: Vec<&T>, env: &mut Env) {
        let (blocked, ready): (Vec<&T>, Vec<&T>) = targets.into_iter().partition(|row| row.obstacle().is_some());
        let ask = match ready.as_slice() {
            [one] => T::restore_ask(one.id(), one.name()),
            many => Ask::Batch(Box::new(batch(many, "restoring", "restored", T::restore_ask))),
        };
        let mut bulk = BulkAction { verb: "Restore", effect: "They get their former names back.", ..self.bulk(&ready) };
        if let Some(why) = blocked.first().and_then(|row| row.obstacle()) {
            bulk.skipped.push(format!("{} skipped: {why}", bulk::counted(blocked.len(), T::NOUN)));
        }
        env.open(Layer::Confirm(bulk.question(ask, env.world)));
    }

    fn why_off(&self, action: Action) -> Option<String> {
        if !matches!(action, Action::Restore | Action::Purge) {
            return None;
        }
        let targets = self.rows.list.targets();
        if targets.is_empty() {
            return self.rows.list.hidden_note().or_else(|| Some("nothing selected".to_owned()));
        }
        let all_blocked = action == Action::Restore && targets.iter().all(|row| row.obstacle().is_some());
        targets.first().filter(|_| all_blocked).and_then(|row| row.obstacle())
    }

    fn took(&mut self, ask: &Ask, answer: &Answer, env: &mut Env) {
        match (ask, answer) {
            (Ask::Batch(batch), Answer::Batch(each)) => self.took_many(batch, each, env),
            (_, Answer::Repository(repo)) => env.tell(format!("Restored {}", repo.full_name)),
            _ => match named(ask) {
                Some((true, _, name)) => env.tell(format!("Restored {name}")),
                Some((false, _, name)) => env.tell(format!("Deleted {name} permanently")),
                None => {}
            },
        }
        self.refresh_anew(env);
    }

    fn took_many(&mut self, batch: &Batch, each: &[Option<String>], env: &mut Env) {
        let failed = || batch.items.iter().zip(each).filter_map(|((name, ask), why)| Some((name, ask, why.as_ref()?)));
        self.rows.list.mark_only(failed().filter_map(|(_, ask, _)| named(ask)).map(|(_, id, _)| id));
        let failed: Vec<(String, String)> = failed().map(|(name, _, why)| (name.clone(), why.clone())).collect();
        bulk::report(batch.items.len(), batch.noun, batch.done, &failed, env);
    }

    /// Loads the list again, also when an earlier request for it still runs.
    fn refresh_anew(&mut self, env: &mut Env) {
        if self.rows.load != list::feed::Load::Never {
            self.rows.stop(env);
            self.refresh(env);
        }
    }

    fn empty_lines(world: &World) -> [String; 3] {
        let days = world.status.as_ref().map_or(0, |status| status.restore_days);
        let kept = match days {
            0 => "This daemon does not keep what is deleted (storage.set_aside_days is 0).".to_owned(),
            1 => "The daemon keeps what is deleted for 1 day.".to_owned(),
            days => format!("The daemon keeps what is deleted for {days} days."),
        };
        [format!("No {}.", T::WHAT), String::new(), kept]
    }
}

fn batch<T: Restorable>(rows: &[&T], doing: &'static str, done: &'static str, ask: fn(i64, String) -> Ask) -> Batch {
    let items = rows.iter().map(|row| (row.name(), ask(row.id(), row.name()))).collect();
    Batch { noun: T::NOUN, doing, done, items }
}

/// The question before one object is restored as it was.
pub(super) fn restore_question<T: Restorable>(row: &T, world: &World) -> Layer {
    let lines = row.facts(&world.clock).into_iter().skip(1).map(|(_, line)| line).collect();
    let title = format!("Restore {}", row.name());
    Layer::Confirm(Confirm::simple(title, lines, "Restore", T::restore_ask(row.id(), row.name()), world))
}

impl<T: Restorable> Screen for Deleted<T> {
    fn id(&self) -> ScreenId {
        T::SCREEN
    }

    fn scopes(&self, _: &World) -> Vec<Scope> {
        vec![T::SCOPE, Scope::List, Scope::Moves, Scope::Everywhere]
    }

    fn entered(&mut self, env: &mut Env) {
        self.refresh(env);
    }

    fn refresh(&mut self, env: &mut Env) {
        self.rows.ask(T::list(), env);
    }

    fn refresh_interval(&self) -> Option<Duration> {
        Some(PACE)
    }

    fn is_loading(&self) -> bool {
        self.rows.is_loading()
    }

    fn act(&mut self, action: Action, env: &mut Env) -> bool {
        match action {
            Action::Restore => match self.rows.list.targets().as_slice() {
                [] => {}
                [one] => {
                    let layer = one.restore_layer(env.world);
                    if matches!(layer, Layer::Form(_)) {
                        env.ask(Ask::OwnOrganizations);
                    }
                    env.open(layer);
                }
                many => self.restore_many(many.to_vec(), env),
            },
            Action::Purge => self.purge(env),
            Action::Back => {
                if !self.rows.clear_one(env) {
                    env.want(Cmd::Screen(T::LIVE));
                }
            }
            action => return self.rows.list.act(action),
        }
        true
    }

    fn unavailable(&self, action: Action) -> Option<String> {
        self.why_off(action)
    }

    fn answered(&mut self, ask: &Ask, result: &Result<Answer, Problem>, env: &mut Env) {
        match result {
            Err(problem) if self.rows.awaits(ask) => self.rows.fail(problem.clone()),
            // Somebody else may have restored or purged it.
            Err(problem) if is_about::<T>(ask) && !problem.is_away() => self.refresh_anew(env),
            Ok(answer) if is_about::<T>(ask) => self.took(ask, answer, env),
            Ok(answer) if self.rows.awaits(ask) => {
                if let Some(page) = T::page(answer) {
                    // The response to the restore or purge reports the result.
                    self.rows.take(page.clone(), env.world);
                }
            }
            _ => {}
        }
    }

    fn filter(&mut self, text: &str, _: &mut Env) -> Result<(), BadFilter> {
        self.rows.list.set_filter(Filter::parse(text, T::filters())?);
        Ok(())
    }

    fn filter_text(&self) -> String {
        self.rows.list.filter().text().to_owned()
    }

    fn sortable(&self) -> Vec<(usize, &'static str)> {
        sortable::<T>()
    }

    fn sort(&mut self, column: usize) {
        self.rows.list.set_sort(column);
    }

    fn click(&mut self, x: u16, y: u16, _: &mut Env) {
        self.rows.list.click(x, y);
    }

    fn subject(&self) -> Option<String> {
        self.rows.list.subject(Restorable::name, T::WHAT)
    }

    fn selection(&self) -> Option<Selection> {
        self.rows.list.selection(T::OBJECT, self.subject()?)
    }

    fn problem(&self) -> Option<&Problem> {
        self.rows.problem()
    }

    fn is_failed(&self) -> bool {
        self.rows.is_failed()
    }

    fn missing_target(&self, ask: &Ask) -> Option<String> {
        if let Ask::Batch(batch) = ask {
            return batch.items.iter().find_map(|(_, ask)| self.missing_target(ask));
        }
        let (_, id, name) = named(ask).filter(|_| is_about::<T>(ask))?;
        let is_gone = self.rows.has_all() && !self.rows.list.rows().iter().any(|row| row.id() == id);
        is_gone.then(|| name.to_owned())
    }

    fn status_note(&self, world: &World) -> Option<String> {
        self.rows.list.new_above(world)
    }

    fn status(&self, _: &World) -> String {
        format!("{}  {}", T::WHAT, self.rows.status_text())
    }

    fn draw(&self, world: &World, area: Rect, buf: &mut Buffer) {
        let lines = Self::empty_lines(world);
        let empty = lines.each_ref().map(String::as_str);
        let place = TableOptions { what: T::WHAT, empty: &empty, focused: true };
        let Some(row) = self.rows.list.current().filter(|_| area.height >= ROOMY) else {
            return list::draw(&self.rows, place, world, area, buf);
        };
        let top = Rect { height: area.height - PANE, ..area };
        list::draw(&self.rows, place, world, top, buf);
        rule(buf, Rect { y: top.bottom(), height: 1, ..area }, "");
        let facts = row.facts(&world.clock);
        let lines =
            facts.iter().flat_map(|(role, line)| wrapped(line, area.width).into_iter().map(|line| (*role, line)));
        for ((role, line), y) in lines.zip(top.bottom() + 1..area.bottom()) {
            text(buf, Rect { y, height: 1, ..area }, &line, role);
        }
    }
}
