//! The place of the artifacts screen: the repository, the order and the row of the tree.

use super::{
    Artifacts,
    tree::{ArtifactOrder, NodeId},
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
        ScreenPlace { list, tab: self.options.order as usize, ..ScreenPlace::default() }
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
    fn the_row_of_a_place_is_the_identity_of_a_node() {
        for id in [NodeId::Run(7), NodeId::Artifact(9)] {
            assert_eq!(node(&format!("{id:?}")), Some(id));
        }
        for text in ["Job(7)", "Run()", "Run(7", "", "7"] {
            assert_eq!(node(text), None, "{text}");
        }
    }
}
