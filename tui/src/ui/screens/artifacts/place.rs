//! The place of the artifacts screen: the repository, the order and the row of the tree.

use super::{
    Artifacts,
    tree::{ArtifactOrder, Node, NodeId},
};
use crate::ui::{list::ListView, place::ScreenPlace, screens::places::Placed, world::Env};

/// Returns the run or artifact that a row of a place identifies. A job is found by its row only.
fn node(row: &str) -> Option<NodeId> {
    let (kind, id) = row.strip_suffix(')')?.split_once('(')?;
    let id = id.parse().ok()?;
    match kind {
        "Run" => Some(NodeId::Run(id)),
        "Artifact" => Some(NodeId::Artifact(id)),
        _ => None,
    }
}

impl Placed for Artifacts {
    fn place(&self) -> ScreenPlace {
        let mut list = ListView::place(&self.rows);
        if let Some(pending) = self.pending_cursor {
            list.row = Some(format!("{pending:?}"));
        }
        // The run of a job must be unfolded again.
        let run = match self.rows.list.current() {
            Some(Node::Job { run, .. }) => run.id.to_string(),
            _ => String::new(),
        };
        ScreenPlace { list, tab: self.options.order as usize, ..ScreenPlace::default() }
            .limited("run", run)
            .limited("repo", self.of.as_ref().map(ToString::to_string).unwrap_or_default())
            .limited("order", if self.options.reversed { "reversed" } else { "" })
    }

    fn restore(&mut self, place: &ScreenPlace, env: &mut Env) {
        let of = place.limit("repo").parse().ok();
        if self.of != of {
            self.choose(of, env);
        }
        self.options.order = ArtifactOrder::of(place.tab);
        self.options.reversed = !place.limit("order").is_empty();
        self.options.open.extend(place.limit("run").parse::<i64>().ok());
        ListView::restore(&mut self.rows, &place.list);
        self.arrange();
        // The row may be inside a folded run.
        self.pending_cursor = place.list.row.as_deref().and_then(node);
        if self.rows.has_all() {
            self.seek();
        }
    }

    fn objects(&self) -> Option<&dyn ListView> {
        Some(&self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_of_a_job_is_unfolded_again() {
        let (size, now) = (ratatui::layout::Size::new(80, 24), jiff::Timestamp::UNIX_EPOCH);
        let world = crate::ui::app::App::new(size, crate::ui::settings::Settings::default(), now).world;
        let mut screen = Artifacts::default();
        screen.restore(&ScreenPlace::default().limited("run", "9"), &mut Env::new(&world));
        assert!(screen.options.open.contains(&9));
    }

    #[test]
    fn the_row_of_a_place_is_the_identity_of_a_node() {
        for id in [NodeId::Run(7), NodeId::Artifact(9)] {
            assert_eq!(node(&format!("{id:?}")), Some(id));
        }
        for text in ["Job(7)", "Run()", "Run(7", "", "7"] {
            assert_eq!(node(text), None, "{text}");
        }
    }
}
