//! The states of all nodes, for the status and the health check.

use std::collections::{BTreeMap, BTreeSet};

use farrier_common::api::{self, NodeStatus};
use farrier_proto::store::{Node, NodeFigures};

use super::{Context, Error};
use crate::{
    clock::Millis,
    metrics::Span,
    show,
    store::{
        leases,
        nodes::{self, LATE_MS},
    },
};

/// Time after its end for which a node that was not stopped is a problem.
const LOST_MS: Millis = 86_400_000;

/// The state of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NodeState {
    Live,
    Late,
    Gone,
    Stopped,
}

impl NodeState {
    fn of(row: &Node, now: Millis) -> Self {
        match now.saturating_sub(row.until_ms) {
            ..0 => Self::Live,
            _ if row.left => Self::Stopped,
            0..LATE_MS => Self::Late,
            _ => Self::Gone,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Late => "late",
            Self::Gone => "gone",
            Self::Stopped => "stopped",
        }
    }
}

/// Returns the figures of this node.
pub(super) fn own_figures(context: &Context) -> NodeFigures {
    let minute = context.metrics.series.counts(Span::Minute);
    let (git_processes, _) = context.git.processes();
    NodeFigures {
        clock_offset_ms: context.clock.ahead_of_store_ms(),
        requests_per_minute: minute.requests.iter().copied().map(u64::from).sum(),
        git_processes,
        copies_bytes: context.copies.has_others().then(|| context.copies.usage().bytes),
    }
}

/// Returns the figures of a node as the API shows them.
fn shown(figures: NodeFigures) -> api::NodeFigures {
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    api::NodeFigures {
        clock_offset_ms: figures.clock_offset_ms,
        requests_per_minute: signed(figures.requests_per_minute),
        git_processes: signed(figures.git_processes),
        copies_bytes: figures.copies_bytes.map(signed),
    }
}

/// Returns all nodes with their leases, by name. None if no other node can use the store.
pub(super) async fn all(context: &Context) -> Result<Vec<NodeStatus>, Error> {
    if !context.store.is_shared() {
        return Ok(Vec::new());
    }
    let (read, now) = (context.store.read().await?, context.now_ms());
    let mut names: BTreeMap<(u64, u64), Vec<String>> = BTreeMap::new();
    for (name, lease) in leases::all(&read).await? {
        names.entry((lease.node, lease.epoch)).or_default().push(name);
    }
    let mut rows = not_replaced(nodes::all(&read).await?, now);
    rows.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
    let nodes = rows.into_iter().map(|row| {
        let state = NodeState::of(&row, now);
        let is_live = state == NodeState::Live;
        let held = names.remove(&(row.id, row.epoch)).filter(|_| is_live);
        let responds = row.id == context.node.id();
        // The row can be five seconds old.
        let figures = if responds { Some(own_figures(context)) } else { row.figures.filter(|_| is_live) };
        NodeStatus {
            state: state.word().into(),
            since: show::time(if is_live { row.started_ms } else { row.until_ms }),
            responds,
            figures: figures.map(shown),
            leases: grouped(held.unwrap_or_default()),
            name: row.name,
            version: row.version,
            format_level: row.format_level.into(),
        }
    });
    Ok(nodes.collect())
}

/// Returns whether a node has ended within the last day without having been stopped.
pub(super) async fn has_lost_nodes(context: &Context) -> Result<bool, Error> {
    if !context.store.is_shared() {
        return Ok(false);
    }
    let now = context.now_ms();
    let rows = not_replaced(nodes::all(&context.store.read().await?).await?, now);
    let is_lost = |row: &Node| {
        matches!(NodeState::of(row, now), NodeState::Late | NodeState::Gone) && now - row.until_ms < LOST_MS
    };
    Ok(rows.iter().any(is_lost))
}

/// Leaves out the nodes that have ended and whose name a live node has: their data directory was lost, and the daemon
/// was started with another one.
fn not_replaced(mut rows: Vec<Node>, now: Millis) -> Vec<Node> {
    let live = rows.iter().filter(|row| NodeState::of(row, now) == NodeState::Live);
    let names: BTreeSet<String> = live.map(|row| row.name.clone()).collect();
    rows.retain(|row| NodeState::of(row, now) == NodeState::Live || !names.contains(&row.name));
    rows
}

/// Replaces names that differ only in a number at the end by their number: `deliveries 3` and `deliveries 7` become
/// `deliveries (2)`.
fn grouped(names: Vec<String>) -> Vec<String> {
    let mut groups: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for name in names {
        let stem = name.trim_end_matches(|last: char| last.is_ascii_digit());
        let stem = stem.trim_end_matches([' ', '-', '/']).to_owned();
        let (count, only) = groups.entry(stem).or_default();
        *count += 1;
        *only = name;
    }
    let text = |(stem, (count, only))| if count > 1 { format!("{stem} ({count})") } else { only };
    groups.into_iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_late_before_it_is_gone_unless_it_was_stopped() {
        let row = |left| Node { until_ms: 1_000_000, left, ..Node::default() };
        let words = |left| [999_999, 1_000_000, 1_059_999, 1_060_000].map(|now| NodeState::of(&row(left), now).word());
        assert_eq!(words(false), ["live", "late", "late", "gone"]);
        assert_eq!(words(true), ["live", "stopped", "stopped", "stopped"]);
    }

    #[test]
    fn an_ended_node_is_left_out_if_a_live_one_has_its_name() {
        let row = |id, name: &str, until_ms| Node { id, name: name.into(), until_ms, ..Node::default() };
        let rows = vec![row(1, "one", 9), row(2, "one", 20), row(3, "two", 9), row(4, "one", 30)];
        let ids: Vec<u64> = not_replaced(rows, 10).into_iter().map(|row| row.id).collect();
        assert_eq!(ids, [2, 3, 4]);
    }

    #[test]
    fn leases_that_differ_by_a_number_are_counted() {
        let names = ["deliveries 12", "sweep", "deliveries 3", "prune", "part 7"].map(str::to_owned).to_vec();
        assert_eq!(grouped(names), ["deliveries (2)", "part 7", "prune", "sweep"]);
    }
}
