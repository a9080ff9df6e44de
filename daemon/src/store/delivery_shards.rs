//! The shards of deliveries: each hook belongs to one, and the node with the lease of a shard sends its deliveries.

use std::sync::LazyLock;

use farrier_proto::store::{Lease, Node};

use super::{Read as _, Snapshot, StoreError, keys, nodes};
use crate::clock::Millis;

/// Number of shards. All nodes must use the same.
pub const COUNT: usize = 64;

static NAMES: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| (0..COUNT).map(|shard| &*format!("deliveries-{shard:02}").leak()).collect());

/// Returns the shard of a hook. IDs follow each other, so that the shards have equally many hooks.
pub fn of_hook(hook: u64) -> usize {
    usize::try_from(hook % COUNT as u64).unwrap_or_default()
}

/// Returns the name of the lease of a shard.
pub fn lease_name(shard: usize) -> &'static str {
    NAMES[shard]
}

/// Which nodes are alive, and which of them have the shards.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShardTable {
    /// The nodes that are alive, by ID.
    pub nodes: Vec<Node>,
    /// The row of each lease.
    pub leases: Vec<Lease>,
}

impl ShardTable {
    /// Reads the rows. `clock_ms`: the time of the daemon.
    pub async fn read(snapshot: &Snapshot, clock_ms: Millis) -> Result<Self, StoreError> {
        let now = snapshot.now_ms(clock_ms).await?;
        let mut alive = nodes::all(snapshot).await?;
        alive.retain(|node| nodes::is_alive(node, node.epoch, now));
        let names: Vec<_> = (0..COUNT).map(|shard| keys::lease(lease_name(shard))).collect();
        let leases = snapshot.get_many::<Lease>(&names).await?;
        Ok(Self { nodes: alive, leases: leases.into_iter().map(Option::unwrap_or_default).collect() })
    }

    /// Returns whether no node that is alive has the shard.
    pub fn is_free(&self, shard: usize) -> bool {
        let lease = self.leases[shard];
        !self.nodes.iter().any(|node| node.id == lease.node && node.epoch == lease.epoch)
    }

    /// Returns how many shards the node `id` with this epoch should have; `None` if it is not alive.
    pub fn share_of(&self, id: u64, epoch: u64) -> Option<usize> {
        let rank = self.nodes.iter().position(|node| node.id == id && node.epoch == epoch)?;
        Some(COUNT / self.nodes.len() + usize::from(rank < COUNT % self.nodes.len()))
    }

    /// Returns whether a node takes the shard before others, and gives it back after them. So a few hooks, whose IDs
    /// follow each other, are distributed too, and nodes that look at the same time take different shards.
    pub fn prefers(&self, id: u64, shard: usize) -> bool {
        let rank = self.nodes.iter().position(|node| node.id == id);
        rank == shard.checked_rem(self.nodes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(nodes: u64) -> ShardTable {
        let nodes = (1..=nodes).map(|id| Node { id, epoch: 10 * id, ..Node::default() }).collect();
        ShardTable { nodes, leases: vec![Lease::default(); COUNT] }
    }

    #[test]
    fn the_nodes_that_are_alive_share_all_shards() {
        for nodes in 1..=70 {
            let table = table(nodes);
            let shares: Vec<usize> = (1..=nodes).filter_map(|id| table.share_of(id, 10 * id)).collect();
            assert_eq!(shares.iter().sum::<usize>(), COUNT);
            assert!(shares.iter().max().expect("a node") - shares.iter().min().expect("a node") <= 1, "{shares:?}");
        }
        assert_eq!(table(2).share_of(2, 21), None, "an earlier epoch");
        assert_eq!([0, 1, 2, 3].map(|shard| table(3).prefers(2, shard)), [false, true, false, false]);
    }

    #[test]
    fn a_shard_is_free_if_its_node_is_gone_or_has_another_epoch() {
        let mut table = table(2);
        table.leases[1] = Lease { node: 2, epoch: 20, term: 4 };
        table.leases[2] = Lease { node: 2, epoch: 19, term: 4 };
        table.leases[3] = Lease { node: 3, epoch: 30, term: 4 };
        assert_eq!([0, 1, 2, 3].map(|shard| table.is_free(shard)), [true, false, true, true]);
        assert_eq!((of_hook(1), of_hook(63), of_hook(64), lease_name(7)), (1, 63, 0, "deliveries-07"));
    }
}
