//! The mouse: clicks select rows, columns, tabs of the header and of screens, panes and hints, the wheel moves the
//! cursor of the pane below the pointer, and dragging moves the line between the first two panes.
//!
//! Questions and forms ignore clicks, so that none confirms or discards anything by accident. Their hints can be
//! clicked, because they name what they do.

use std::time::Duration;

use ratatui::layout::Position;

use super::App;
use crate::ui::{
    key::Key,
    keymap::{Action, Scope},
    layer::LayerId,
    list,
    view::{self, page},
};

/// A mouse event; positions are in cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mouse {
    /// The wheel was turned up.
    Up {
        x: u16,
    },
    Down {
        x: u16,
    },
    Click {
        x: u16,
        y: u16,
    },
    RightClick {
        x: u16,
        y: u16,
    },
    /// The pointer was moved while the left button is pressed.
    Drag {
        x: u16,
    },
    /// The left button was released.
    Release,
}

/// Number of rows per step of the wheel.
pub(super) const NOTCH: usize = 3;
/// Longest time between the two clicks of a double click.
const DOUBLE: Duration = Duration::from_millis(400);

/// The last clicks, and whether the line between the panes is being dragged.
#[derive(Debug, Default)]
pub(super) struct Pointer {
    clicked: Option<(Duration, Position)>,
    /// The top layer at the last click on a hint.
    hint_layer: Option<LayerId>,
    drags: bool,
}

impl Pointer {
    /// Records a click. Returns whether it is the second one of a double click.
    fn is_second(&mut self, now: Duration, at: Position) -> bool {
        let is_second = self.clicked.is_some_and(|(then, before)| before == at && now.saturating_sub(then) <= DOUBLE);
        self.clicked = (!is_second).then_some((now, at));
        is_second
    }
}

/// Returns the share of the left pane, in thousandths of the width, within the limits that leave room for both panes.
pub(super) fn pane_share(thousandths: u16) -> u16 {
    thousandths.clamp(200, 800)
}

impl App {
    pub(super) fn mouse(&mut self, mouse: Mouse) {
        if !self.world.mouse || !view::fits(self.world.size) {
            return;
        }
        if matches!(mouse, Mouse::Click { .. }) {
            // The release is lost if the mouse is turned off, or the terminal too small, while the button is pressed.
            self.pointer.drags = false;
        }
        match mouse {
            Mouse::Drag { x } if self.pointer.drags => self.drag_divider(x),
            Mouse::Drag { .. } => {}
            Mouse::Release => self.pointer.drags = false,
            Mouse::Click { x, y } if y + 1 == self.world.size.height => {
                self.click_hint(Position { x, y });
            }
            // The click was meant for what a response has just covered with a menu.
            Mouse::Click { .. } if !self.layers.is_empty() && self.drops_clicks() => {}
            mouse if !self.layers.is_empty() => {
                if let Some(open) = self.layers.last_mut() {
                    let step = open.layer.mouse(mouse);
                    self.step(step);
                    self.suggest();
                }
            }
            Mouse::Click { x, y: 0 } => {
                if let Some(id) = view::tab_at(self, x) {
                    self.go(id);
                }
            }
            // The rows are hidden, because the daemon does not answer.
            _ if page::instead(&self.world).is_some() => {}
            Mouse::Up { x } => self.turn_wheel(Action::Up, x),
            Mouse::Down { x } => self.turn_wheel(Action::Down, x),
            Mouse::Click { x, y } => self.click(Position { x, y }),
            Mouse::RightClick { x, y } => {
                if !self.is_in_third_pane(x) && self.focus_pane_at(x) {
                    self.with_screen(|screen, env| screen.click(x, y, env));
                }
                self.menu();
            }
        }
    }

    /// Presses the key of the hint at a cell. The second click of a double click does nothing if the first one opened
    /// or closed a layer: it must not answer the question that the user has not read.
    fn click_hint(&mut self, at: Position) {
        let layer = self.layers.last().map(|open| open.id);
        if self.pointer.is_second(self.world.now, at) && self.pointer.hint_layer != layer {
            // A third click is not meant for the layer either.
            self.pointer.clicked = Some((self.world.now, at));
            return;
        }
        self.pointer.hint_layer = layer;
        if let Some(key) = view::hint_at(self, at.x) {
            self.key(key);
        }
    }

    fn click(&mut self, at: Position) {
        let is_second = self.pointer.is_second(self.world.now, at);
        let divider = self.world.divider.get();
        // The blank right of the line belongs to it, because a single column is hard to hit.
        if (divider.top()..divider.bottom()).contains(&at.y) && (divider.x..=divider.x + 1).contains(&at.x) {
            self.pointer.drags = !is_second;
            if is_second {
                self.world.pane_share = None;
            }
            return;
        }
        if self.is_in_third_pane(at.x) {
            return self.focus_third_pane();
        }
        self.world.third_has_focus = false;
        if let Some(tab) = self.world.tabs.at(at) {
            return self.click_tab(tab, at);
        }
        if !self.focus_pane_at(at.x) || self.sort_at(at) {
            return;
        }
        let before = self.selection();
        self.with_screen(|screen, env| screen.click(at.x, at.y, env));
        self.third.restart();
        // If rows moved between the clicks, another row would be opened.
        if is_second && self.selection() == before && self.is_on_row(at) {
            let scopes = self.scopes();
            let opens = self.world.keymap.find(&scopes, Key::Enter).filter(|binding| !binding.changes);
            if let Some(binding) = opens {
                self.press(binding);
            }
        }
    }

    /// Shows the tab with this index. A tab in the right pane belongs to it, and all others to the list.
    fn click_tab(&mut self, tab: usize, at: Position) {
        let divider = self.world.divider.get();
        let is_right = (divider.top()..divider.bottom()).contains(&at.y) && at.x > divider.x;
        if !divider.is_empty() && self.screen().right_has_focus().is_some_and(|right| right != is_right) {
            self.switch_pane();
        }
        self.act(Action::Part(tab));
    }

    /// Returns whether a cell is in the rows of the focused list.
    fn is_on_row(&self, at: Position) -> bool {
        self.screen().list().is_some_and(|list| list.area().contains(at))
    }

    /// Moves the focus to the pane in a column. Returns whether this pane can have the focus.
    fn focus_pane_at(&mut self, x: u16) -> bool {
        let divider = self.world.divider.get();
        if divider.is_empty() {
            return true;
        }
        let right = x > divider.x;
        match self.screen().right_has_focus() {
            None => !right,
            Some(focused) if focused == right => true,
            Some(_) => {
                self.switch_pane();
                self.screen().right_has_focus() == Some(right)
            }
        }
    }

    pub(super) fn switch_pane(&mut self) {
        self.with_screen(|screen, env| screen.act(Action::OtherPane, env));
    }

    /// Moves the cursor of the pane in a column. The focus stays where it is.
    fn turn_wheel(&mut self, action: Action, x: u16) {
        if self.is_in_third_pane(x) {
            return self.scroll_third_pane(action);
        }
        let third = std::mem::take(&mut self.world.third_has_focus);
        let before = self.screen().right_has_focus();
        if self.focus_pane_at(x) {
            for _ in 0..NOTCH {
                self.act(action);
            }
        }
        if self.screen().right_has_focus() != before {
            self.switch_pane();
        }
        self.world.third_has_focus = third;
    }

    /// Sorts by the column whose title is at a cell, or reverses the order if it is sorted by this column. Returns
    /// whether there is a title.
    fn sort_at(&mut self, at: Position) -> bool {
        let screen = self.screen();
        let list = screen.list().filter(|_| self.scopes().contains(&Scope::List));
        let Some((list, column)) = list.and_then(|list| Some((list, list::column_at(list, &self.world, at)?))) else {
            return false;
        };
        let is_sortable = screen.sortable().iter().any(|(sortable, _)| *sortable == column);
        let is_sorted = list.sort_order().is_some_and(|(by, _)| by == column);
        if is_sortable && screen.unavailable(Action::Sort).is_none() {
            self.with_screen(|screen, env| {
                if is_sorted {
                    screen.act(Action::Reverse, env);
                } else {
                    screen.sort(column);
                }
            });
        }
        true
    }

    /// Moves the line between the panes to a column.
    fn drag_divider(&mut self, x: u16) {
        // Only the first two panes share the width.
        let third = self.third.area();
        let width = if third.is_empty() { self.world.size.width } else { third.x.saturating_sub(3) };
        let width = u32::from(width.max(1));
        let thousandths = (u32::from(x) * 1000).div_ceil(width);
        self.world.pane_share = Some(pane_share(u16::try_from(thousandths).unwrap_or(u16::MAX)));
    }
}
