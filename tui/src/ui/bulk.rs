//! The rules for actions on several objects: which are skipped, what is confirmed, how the result is reported.
//!
//! A confirmation shows how many objects there are, their total size, what happens and which are left out. For many
//! objects, and for every deletion, the number must be typed. Afterwards one notice reports the result, and one
//! list shows the failures.

use super::{
    layer::{Confirm, Layer, TextView},
    net::Request,
    world::{Env, World},
};
pub(crate) use crate::output::counted;
use crate::{config::TYPED_ABOVE, output::human_bytes};

/// Number of objects that a confirmation lists by name.
const NAMED_MAX: usize = 6;

/// Returns `stays marked` for one object, else `stay marked`.
pub(crate) fn stay_marked(count: usize) -> &'static str {
    if count == 1 { "stays marked" } else { "stay marked" }
}

/// An action on several objects of a kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct BulkAction {
    /// The verb: `Delete`.
    pub(crate) verb: &'static str,
    /// The noun, in the singular: `artifact`.
    pub(crate) noun: &'static str,
    /// The names of the objects.
    pub(crate) names: Vec<String>,
    /// Their total size.
    pub(crate) bytes: i64,
    /// The effect on them.
    pub(crate) effect: &'static str,
    pub(crate) destroys: bool,
    /// Whether it deletes objects that could be restored until now: the number must always be typed then.
    pub(crate) permanent: bool,
    /// Until when it can be undone; empty if unknown.
    pub(crate) restorable: String,
    /// Objects that are left out, and why.
    pub(crate) skipped: Vec<String>,
}

impl BulkAction {
    fn title(&self) -> String {
        let size = if self.bytes > 0 { format!(" ({})", human_bytes(self.bytes)) } else { String::new() };
        format!("{} {}{size}", self.verb, counted(self.names.len(), self.noun))
    }

    /// Returns whether the number must be typed.
    fn is_typed(&self, world: &World) -> bool {
        let count = self.names.len();
        self.permanent || count > TYPED_ABOVE || (self.destroys && count > world.bulk_over.max(1))
    }

    /// Returns the confirmation before `request` is sent.
    pub(crate) fn question(self, request: Request, world: &World) -> Confirm {
        let (title, is_typed, count) = (self.title(), self.is_typed(world), self.names.len());
        let mut lines: Vec<String> = self.names.iter().take(NAMED_MAX).cloned().collect();
        if count > NAMED_MAX {
            lines.push(format!("and {} more", count - NAMED_MAX));
        }
        lines.extend(self.skipped);
        lines.push(self.effect.to_owned());
        lines.extend(Some(self.restorable).filter(|line| !line.is_empty()));
        if is_typed {
            Confirm::typed(title, lines, self.verb, count.to_string(), request, world)
        } else {
            Confirm::simple(title, lines, self.verb, request, world)
        }
    }
}

/// Reports the result of an action: `done` is a participle such as `deleted`; `failed` has name and reason of each.
pub(crate) fn report(count: usize, noun: &str, done: &str, failed: &[(String, String)], env: &mut Env) {
    if failed.is_empty() {
        return env.notify(format!("{} {done}", counted(count, noun)));
    }
    let good = count - failed.len();
    env.warn(format!("{} {done}, {} failed and {}", counted(good, noun), failed.len(), stay_marked(failed.len())));
    let lines: Vec<String> = failed.iter().map(|(name, why)| format!("{name}\n  {why}")).collect();
    let title = format!("{} failed, {good} {done}", failed.len());
    env.open(Layer::TextView(TextView::new(title, lines.join("\n"))));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_object_stays_marked_and_several_stay_marked() {
        assert_eq!((stay_marked(1), stay_marked(2)), ("stays marked", "stay marked"));
    }
}
