//! The nodes whose daemons use the store, if there are several: aligned rows with their state and their work.

use farrier_common::api::NodeStatus;

use super::parts::Figure;
use crate::ui::{
    times::Clock,
    view::{LinePart, Role, fit, pad, width},
};

/// Most nodes that are listed.
const NODES_MAX: usize = 6;
/// Limits of the width of names, in cells.
const NAME: std::ops::RangeInclusive<u16> = 4..=24;
/// Width of the state with its time, in cells.
const STATE: u16 = 36;

/// Returns one line per node. Empty if there is only one.
pub(super) fn figures(nodes: &[NodeStatus], clock: &Clock, room: u16) -> Vec<Figure> {
    if nodes.len() < 2 {
        return Vec::new();
    }
    let mut nodes: Vec<&NodeStatus> = nodes.iter().collect();
    // Those that need attention are listed first, and those that were stopped last.
    nodes.sort_by_key(|node| (is_live(node), node.state == "stopped", !node.responds));
    let nodes = nodes.into_iter().take(NODES_MAX);
    let name_width = nodes.clone().map(|node| width(&node.name)).max().unwrap_or(0).clamp(*NAME.start(), *NAME.end());
    let rows = nodes.map(|node| {
        let role = match node.state.as_str() {
            "live" => Role::Text,
            "stopped" => Role::Muted,
            "late" => Role::Warn,
            _ => Role::Error,
        };
        let state = format!("{} since {}", node.state, clock.stamp(&node.since));
        let own = if node.responds { "this node" } else { "" };
        let details = [own, &node.version, &node.leases.join(", ")];
        let details: Vec<&str> = details.into_iter().filter(|text| !text.is_empty()).collect();
        let left = room.saturating_sub(1 + name_width + 1 + STATE);
        Figure::Row(vec![
            LinePart::plain(format!("{} ", pad(&fit(&node.name, name_width), name_width))),
            LinePart::Text(role, pad(&fit(&state, STATE), STATE)),
            LinePart::Text(Role::Muted, fit(&details.join(", "), left)),
        ])
    });
    rows.collect()
}

fn is_live(node: &NodeStatus) -> bool {
    node.state == "live" || node.state == "stopped"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::{times::Times, view::text_of};

    #[test]
    fn nodes_that_need_attention_are_listed_first_and_a_single_node_is_not_shown() {
        let node = |name: &str, state: &str, responds| NodeStatus {
            name: name.into(),
            version: "1.2.3".into(),
            state: state.into(),
            since: "2026-11-21T12:00:00Z".into(),
            responds,
            leases: if responds { vec!["prune".into(), "sweep".into()] } else { Vec::new() },
            ..NodeStatus::default()
        };
        let clock = Clock::at("2026-11-21T12:00:00Z".parse().unwrap(), Times::default());
        let nodes = [node("one", "live", true), node("two", "gone", false), node("three", "stopped", false)];
        let lines: Vec<String> = figures(&nodes, &clock, 100)
            .into_iter()
            .map(|figure| match figure {
                Figure::Row(parts) => text_of(&parts, 100),
                _ => String::new(),
            })
            .collect();
        assert!(lines[0].starts_with("two   gone since ") && lines[2].starts_with("three stopped"), "{lines:?}");
        assert!(lines[1].ends_with("this node, 1.2.3, prune, sweep"), "{lines:?}");
        assert!(figures(&nodes[..1], &clock, 100).is_empty());
    }
}
