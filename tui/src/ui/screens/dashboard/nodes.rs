//! The nodes whose daemons use the store, if there are several: aligned rows with their state, figures and work.

use farrier_common::api::{NodeFigures, NodeStatus};

use super::parts::Figure;
use crate::{
    output::{clock_offset, human_bytes},
    ui::{
        times::Clock,
        view::{LinePart, Role, fit, pad, rate, width},
    },
};

/// Most nodes that are listed.
const NODES_MAX: usize = 6;
/// Limits of the width of names, in cells.
const NAME: std::ops::RangeInclusive<u16> = 4..=24;

/// The aligned columns: name, state, requests, git processes, copies, clock.
const COLUMNS: usize = 6;
const GAP: &str = "  ";

/// Returns one line per node. Empty if there is only one.
pub(super) fn figures(nodes: &[NodeStatus], clock: &Clock, room: u16) -> Vec<Figure> {
    if nodes.len() < 2 {
        return Vec::new();
    }
    let mut nodes: Vec<&NodeStatus> = nodes.iter().collect();
    // Those that need attention are listed first, and those that were stopped last.
    nodes.sort_by_key(|node| (is_live(node), node.state == "stopped", !node.responds));
    nodes.truncate(NODES_MAX);
    let cells: Vec<[String; COLUMNS]> = nodes.iter().map(|node| cells(node, clock)).collect();
    let mut widths = [0; COLUMNS];
    for row in &cells {
        for (text, widest) in row.iter().zip(&mut widths) {
            *widest = width(text).max(*widest);
        }
    }
    widths[0] = widths[0].clamp(*NAME.start(), *NAME.end());
    nodes.iter().zip(&cells).map(|(node, cells)| Figure::Row(row(node, cells, &widths, room))).collect()
}

/// Returns the texts of the columns. Figures that are not known are empty.
fn cells(node: &NodeStatus, clock: &Clock) -> [String; COLUMNS] {
    let state = format!("{} {}", node.state, clock.age(&node.since));
    let [requests, git, copies, offset] = node.figures.as_ref().map(measured).unwrap_or_default();
    [node.name.clone(), state, requests, git, copies, offset]
}

fn measured(figures: &NodeFigures) -> [String; 4] {
    let optional = |value: Option<i64>, text: fn(i64) -> String| value.map(text).unwrap_or_default();
    [
        rate(figures.requests_per_minute, 60, 60),
        format!("{} git", figures.git_processes),
        optional(figures.copies_bytes, |bytes| format!("copies {}", human_bytes(bytes))),
        optional(figures.clock_offset_ms, |ms| format!("clock {}", clock_offset(ms))),
    ]
}

/// Returns the parts of a line: the columns, then what has no fixed width. A column that is empty in all lines has a
/// width of 0 and is left out.
fn row(node: &NodeStatus, cells: &[String; COLUMNS], widths: &[u16; COLUMNS], room: u16) -> Vec<LinePart> {
    let role = match node.state.as_str() {
        "live" => Role::Text,
        "stopped" => Role::Muted,
        "late" => Role::Warn,
        _ => Role::Error,
    };
    let column = |at: usize| pad(&fit(&cells[at], widths[at]), widths[at]) + GAP;
    let mut rest: String = (2..COLUMNS).filter(|at| widths[*at] > 0).map(column).collect();
    let own = if node.responds { "this node" } else { "" };
    let details = [own, &node.version, &node.leases.join(", ")];
    let details: Vec<&str> = details.into_iter().filter(|text| !text.is_empty()).collect();
    rest.push_str(&details.join(", "));
    let (name, state) = (column(0), column(1));
    // The cell before the line.
    let used = 1 + width(&name) + width(&state);
    let rest = fit(&rest, room.saturating_sub(used));
    vec![LinePart::plain(name), LinePart::Text(role, state), LinePart::Text(Role::Muted, rest)]
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
            since: "2026-11-21T09:00:00Z".into(),
            responds,
            leases: if responds { vec!["prune".into(), "sweep".into()] } else { Vec::new() },
            figures: (state == "live").then(|| NodeFigures {
                clock_offset_ms: Some(12),
                requests_per_minute: 24,
                git_processes: 3,
                copies_bytes: responds.then_some(5 << 20),
            }),
            ..NodeStatus::default()
        };
        let clock = Clock::at("2026-11-21T12:00:00Z".parse().unwrap(), Times::default());
        let nodes = [
            node("one", "live", true),
            node("two", "gone", false),
            node("three", "stopped", false),
            node("four", "live", false),
        ];
        let lines: Vec<String> = figures(&nodes, &clock, 100)
            .into_iter()
            .map(|figure| match figure {
                Figure::Row(parts) => text_of(&parts, 100),
                _ => String::new(),
            })
            .collect();
        let blank = " ".repeat(44);
        assert_eq!(
            lines,
            [
                format!("two    gone 3h     {blank}1.2.3"),
                "one    live 3h     0.4/s  3 git  copies 5.0 MiB  clock +12 ms  this node, 1.2.3, prune, sweep".into(),
                "four   live 3h     0.4/s  3 git                  clock +12 ms  1.2.3".into(),
                format!("three  stopped 3h  {blank}1.2.3"),
            ]
        );
        assert!(figures(&nodes[..1], &clock, 100).is_empty());
    }
}
