//! The third pane: when it is shown, its focus and its position.

use ratatui::layout::Rect;

use super::{App, mouse::NOTCH};
use crate::ui::{
    keymap::Action,
    screens::{ThirdPane, third_pane_areas},
    view::page,
};

impl App {
    /// Returns the third pane of the visible screen, if it has one and there is room for it.
    pub(crate) fn third_pane(&self) -> Option<ThirdPane> {
        if !self.world.three_panes() || page::instead(&self.world).is_some() {
            return None;
        }
        let area = Rect { width: self.world.size.width, ..Rect::ZERO };
        let [.., pane] = third_pane_areas(area);
        self.screen().third_pane(&self.world, pane.width)
    }

    /// Moves the focus to the third pane or away from it, or moves its text if it has the focus. Returns false for all
    /// other actions, which belong to the screen.
    pub(super) fn act_on_third_pane(&mut self, action: Action) -> bool {
        if !self.world.third_has_focus && action != Action::OtherPane {
            return false;
        }
        let Some(pane) = self.third_pane() else {
            self.world.third_has_focus = false;
            return false;
        };
        match action {
            Action::OtherPane if self.world.third_has_focus => self.world.third_has_focus = false,
            Action::OtherPane => {
                let right = self.screen().right_has_focus();
                if right == Some(false) {
                    // The second pane is before the third one.
                    return false;
                }
                self.focus_third_pane();
            }
            Action::Back | Action::Leave => self.world.third_has_focus = false,
            action if action.moves() => self.third.act(action, &pane),
            _ => return false,
        }
        true
    }

    /// Gives the focus to the third pane, and takes it from the second one.
    pub(super) fn focus_third_pane(&mut self) {
        if self.screen().right_has_focus() == Some(true) {
            self.switch_pane();
        }
        self.world.third_has_focus = true;
    }

    /// Returns whether a column is in the third pane.
    pub(super) fn is_in_third_pane(&self, x: u16) -> bool {
        let area = self.third.area();
        // The line belongs to it.
        !area.is_empty() && x + 2 >= area.x
    }

    /// Turns the wheel above the third pane. The focus stays where it is.
    pub(super) fn scroll_third_pane(&mut self, action: Action) {
        if let Some(pane) = self.third_pane() {
            for _ in 0..NOTCH {
                self.third.act(action, &pane);
            }
        }
    }

    /// Shows the beginning of the third pane after an action of the screen, which may have moved the cursor. The second
    /// pane may have the focus now.
    pub(super) fn restart_third_pane(&mut self) {
        self.third.restart();
        self.world.third_has_focus &= self.screen().right_has_focus() != Some(true);
    }
}
