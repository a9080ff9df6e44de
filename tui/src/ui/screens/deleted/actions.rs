//! Actions on deleted objects, with their confirmations.

use super::{Deleted, Restorable};
use crate::{
    output::human_bytes,
    ui::{
        bulk::{self, BulkAction},
        keymap::Action,
        layer::{Confirm, Layer},
        list::ListView as _,
        net::{Batch, Request},
        world::{Env, World},
    },
};

impl<T: Restorable> Deleted<T> {
    /// Returns the ID that `word` means: a number, or the name of exactly one listed object.
    pub(crate) fn find(&self, word: &str) -> Result<(i64, String), String> {
        let rows = self.rows.list.rows();
        if let Ok(id) = word.parse() {
            let listed = rows.iter().find(|row| row.id() == id).map(Restorable::name);
            return Ok((id, listed.unwrap_or_else(|| format!("{} {id}", T::NOUN))));
        }
        let found: Vec<&T> = rows.iter().filter(|row| row.name().eq_ignore_ascii_case(word)).collect();
        match found.as_slice() {
            // A page that is missing may have another object that was called so.
            _ if !self.rows.has_all() => Err(format!("{} are not loaded yet; try again, or give the ID", T::WHAT)),
            [one] => Ok((one.id(), one.name())),
            [] => Err(format!("no deleted {} was called {word}", T::NOUN)),
            many => {
                let ids: Vec<String> = many.iter().map(|row| row.id().to_string()).collect();
                Err(format!("{} {} were called {word}; give one of the IDs {}", many.len(), T::WHAT, ids.join(", ")))
            }
        }
    }

    /// Returns the question before one object is deleted permanently, whether it is listed or not.
    pub(crate) fn purge_question(&self, id: i64, world: &World) -> Layer {
        let row = self.rows.list.rows().iter().find(|row| row.id() == id);
        let name = row.map_or_else(|| format!("{} {id}", T::NOUN), Restorable::name);
        // Without the time until which it can be restored, which contradicts the last line.
        let mut lines: Vec<String> = row.map_or_else(Vec::new, |row| {
            row.facts(&world.clock).into_iter().skip(1).take(1).map(|(_, line)| line).collect()
        });
        lines.push("This cannot be undone.".to_owned());
        let word = row.map_or_else(|| id.to_string(), Restorable::purge_word);
        let title = format!("Delete {name} permanently");
        Layer::Confirm(Confirm::typed(title, lines, "Delete permanently", word, T::purge_request(id, name), world))
    }

    pub(super) fn purge(&self, env: &mut Env) {
        let targets = self.rows.list.targets();
        let layer = match targets.as_slice() {
            [] => return,
            [one] => self.purge_question(one.id(), env.world),
            many => {
                let batch = batch(many, "deleting", "deleted permanently", T::purge_request);
                let effect = "They are deleted permanently. This cannot be undone.";
                let bulk = BulkAction { verb: "Delete", effect, permanent: true, ..self.bulk(many) };
                Layer::Confirm(bulk.question(Request::Batch(Box::new(batch)), env.world))
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

    pub(super) fn restore_many(&self, targets: Vec<&T>, env: &mut Env) {
        let (blocked, ready): (Vec<&T>, Vec<&T>) = targets.into_iter().partition(|row| row.obstacle().is_some());
        let request = match ready.as_slice() {
            [one] => T::restore_request(one.id(), one.name()),
            many => Request::Batch(Box::new(batch(many, "restoring", "restored", T::restore_request))),
        };
        let mut bulk = BulkAction { verb: "Restore", effect: "They get their former names back.", ..self.bulk(&ready) };
        if let Some(why) = blocked.first().and_then(|row| row.obstacle()) {
            bulk.skipped.push(format!("{} skipped: {why}", bulk::counted(blocked.len(), T::NOUN)));
        }
        env.open(Layer::Confirm(bulk.question(request, env.world)));
    }

    /// Returns why an action is not available now.
    pub(super) fn unavailable_reason(&self, action: Action) -> Option<String> {
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
}

fn batch<T: Restorable>(
    rows: &[&T],
    doing: &'static str,
    done: &'static str,
    request: fn(i64, String) -> Request,
) -> Batch {
    let items = rows.iter().map(|row| (row.name(), request(row.id(), row.name()))).collect();
    Batch { noun: T::NOUN, doing, done, items }
}

/// Returns the question before one object is restored as it was.
pub(super) fn restore_question<T: Restorable>(row: &T, world: &World) -> Layer {
    let lines = row.facts(&world.clock).into_iter().skip(1).take(1).map(|(_, line)| line).collect();
    let title = format!("Restore {}", row.name());
    Layer::Confirm(Confirm::simple(title, lines, "Restore", T::restore_request(row.id(), row.name()), world))
}
