//! Places: what a screen shows, in a form that can be saved and shown again.
//!
//! The history of the full screen, the return after other credentials and the start of the next session use places. A
//! place has names and numbers only, no loaded data: the screen requests its data again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::screens::ScreenId;

/// The place in a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ListPlace {
    /// Identifies the row under the cursor; `None` for an empty list.
    pub(crate) row: Option<String>,
    pub(crate) filter: String,
    pub(crate) only_problems: bool,
    /// The cursor's line in the window.
    pub(crate) line: usize,
}

/// What a screen shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ScreenPlace {
    /// What the screen is limited to, by name, such as `repo` or `hook`.
    pub(crate) limits: BTreeMap<String, String>,
    pub(crate) list: ListPlace,
    /// Index of the tab.
    pub(crate) tab: usize,
    /// Whether the object under the cursor is open: its pane has the focus.
    pub(crate) is_open: bool,
    /// The list in the pane of the object.
    pub(crate) pane: ListPlace,
    /// First line of the window of an opened text.
    pub(crate) top: usize,
}

impl ScreenPlace {
    /// Adds a limit, unless it is empty.
    pub(crate) fn limited(mut self, name: &str, value: impl Into<String>) -> Self {
        let value = value.into();
        if !value.is_empty() {
            self.limits.insert(name.to_owned(), value);
        }
        self
    }

    /// Returns a limit; empty if there is none.
    pub(crate) fn limit(&self, name: &str) -> &str {
        self.limits.get(name).map_or("", String::as_str)
    }

    /// Returns whether both show the same objects. Scrolling does not matter.
    fn is_same(&self, other: &Self) -> bool {
        let object = |place: &Self| {
            let mut place = place.clone();
            (place.list.line, place.pane.line, place.top) = (0, 0, 0);
            place
        };
        object(self) == object(other)
    }
}

/// A screen and what it shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct HistoryPlace {
    /// Name of the screen, as [`ScreenId::name`] returns it.
    pub(crate) screen: String,
    /// Name of the object under the cursor, for messages.
    pub(crate) object: String,
    pub(crate) shown: ScreenPlace,
}

impl HistoryPlace {
    /// Returns the screen; `None` for a name of another version.
    pub(crate) fn id(&self) -> Option<ScreenId> {
        ScreenId::ALL.iter().copied().find(|id| id.name() == self.screen)
    }

    /// Returns whether both are the same screen with the same objects.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.screen == other.screen && self.shown.is_same(&other.shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scrolling_does_not_make_another_place() {
        let shown = ScreenPlace::default().limited("repo", "a/b").limited("event", "");
        let here = HistoryPlace { screen: "Hooks".into(), object: "hook 7".into(), shown };
        assert_eq!(
            (here.id(), here.shown.limit("repo"), here.shown.limit("event")),
            (Some(ScreenId::Hooks), "a/b", "")
        );
        let mut there = here.clone();
        (there.shown.list.line, there.shown.top) = (4, 9);
        assert!(here.is_same(&there));
        there.shown.list.row = Some("8".into());
        assert!(!here.is_same(&there));
        assert_eq!(HistoryPlace::default().id(), None);
    }
}
