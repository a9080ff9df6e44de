//! Groups of deliveries by hook, by reason, or by the host of their hook.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use farrier_proto::store::{Delivery, DeliveryState};

use super::search_share;
use crate::{
    clock::Millis,
    model::{delivery_failure, hook_config},
    service::{Context, Error},
    shares::Holder,
    store::{
        Read,
        deliveries::{self, DeliverySelection},
        hooks,
    },
};

/// Maximum number of deliveries that a request examines.
pub const EXAMINED_MAX: u64 = 20_000;
/// Maximum number of groups that are returned.
pub const GROUPS_MAX: usize = 200;
/// Number of hooks that are read at a time.
const HOOKS_AT_ONCE: usize = 500;

/// What the deliveries of a group have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupBy {
    /// The hook.
    Hook,
    /// The reason of [`delivery_failure::reason`].
    Reason,
    /// The host in the current URL of the hook. Deliveries of deleted hooks are one group without a host.
    Host,
}

/// A group of deliveries.
#[derive(Clone, Debug, Default)]
pub struct DeliveryGroup {
    /// The id of the hook, the reason or the host; empty for the hosts of deleted hooks.
    pub key: String,
    /// The host of the hook; `None` for groups of reasons and for deleted hooks.
    pub host: Option<String>,
    /// Number of deliveries.
    pub count: u64,
    /// Number of deliveries whose state is failed.
    pub failed: u64,
    /// Number of pending deliveries.
    pub pending: u64,
    /// Creation time of the first delivery.
    pub first_ms: Millis,
    /// Creation time of the last delivery.
    pub last_ms: Millis,
    /// The newest failed delivery; the newest delivery if none has failed.
    pub example: Delivery,
    /// The hooks of the deliveries.
    pub hooks: BTreeSet<u64>,
}

/// Groups of deliveries, and how many deliveries were examined.
#[derive(Clone, Debug, Default)]
pub struct DeliveryGroups {
    /// The groups with the most failed deliveries first, at most [`GROUPS_MAX`].
    pub groups: Vec<DeliveryGroup>,
    /// Number of groups, including those that are left out.
    pub total: usize,
    /// Number of examined deliveries, at most [`EXAMINED_MAX`].
    pub examined: u64,
    /// Whether older deliveries were not examined.
    pub truncated: bool,
}

impl DeliveryGroup {
    fn of(key: String, row: &Delivery) -> Self {
        let in_state = |state: DeliveryState| u64::from(row.state() == state);
        Self {
            key,
            host: None,
            count: 1,
            failed: in_state(DeliveryState::Failed),
            pending: in_state(DeliveryState::Pending),
            first_ms: row.created_ms,
            last_ms: row.created_ms,
            example: row.clone(),
            hooks: [row.hook_id].into(),
        }
    }

    /// Adds the deliveries of another group with the same key.
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.failed += other.failed;
        self.pending += other.pending;
        self.first_ms = self.first_ms.min(other.first_ms);
        self.last_ms = self.last_ms.max(other.last_ms);
        let rank = |row: &Delivery| (row.state() == DeliveryState::Failed, row.id);
        if rank(&other.example) > rank(&self.example) {
            self.example = other.example;
        }
        self.hooks.extend(other.hooks);
    }
}

/// Groups the newest deliveries of a selection. Examines at most [`EXAMINED_MAX`] deliveries. The search counts to
/// `holder`.
pub async fn groups(
    context: &Context,
    holder: Holder,
    selection: &DeliverySelection,
    by: GroupBy,
) -> Result<DeliveryGroups, Error> {
    let _share = search_share(context, holder).await?;
    let read = &context.store.read().await?;
    let mut groups: BTreeMap<String, DeliveryGroup> = BTreeMap::new();
    let walked = deliveries::walk(read, selection, EXAMINED_MAX, |row| {
        let key = match by {
            GroupBy::Hook | GroupBy::Host => row.hook_id.to_string(),
            GroupBy::Reason => delivery_failure::reason(row),
        };
        insert(&mut groups, DeliveryGroup::of(key, row));
    })
    .await?;
    if by != GroupBy::Reason {
        groups = with_hosts(read, groups, by).await?;
    }
    let total = groups.len();
    let mut groups: Vec<DeliveryGroup> = groups.into_values().collect();
    groups.sort_by_key(|group| Reverse((group.failed, group.count, group.last_ms)));
    groups.truncate(GROUPS_MAX);
    Ok(DeliveryGroups { groups, total, examined: walked.examined, truncated: walked.truncated })
}

fn insert(groups: &mut BTreeMap<String, DeliveryGroup>, group: DeliveryGroup) {
    match groups.get_mut(&group.key) {
        Some(known) => known.add(group),
        None => drop(groups.insert(group.key.clone(), group)),
    }
}

/// Adds the hosts to groups of hooks, and joins the groups of one host if they are grouped by host.
async fn with_hosts(
    read: &impl Read,
    by_hook: BTreeMap<String, DeliveryGroup>,
    by: GroupBy,
) -> Result<BTreeMap<String, DeliveryGroup>, Error> {
    let ids: Vec<u64> = by_hook.values().flat_map(|group| group.hooks.iter().copied()).collect();
    let mut hosts = BTreeMap::new();
    for some in ids.chunks(HOOKS_AT_ONCE) {
        let rows = hooks::many(read, some).await?;
        hosts.extend(rows.iter().filter_map(|hook| Some((hook.id, hook_config::host(&hook.url)?))));
    }
    let mut groups = BTreeMap::new();
    for mut group in by_hook.into_values() {
        group.host = group.hooks.first().and_then(|id| hosts.get(id)).cloned();
        if by == GroupBy::Host {
            group.key = group.host.clone().unwrap_or_default();
        }
        insert(&mut groups, group);
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: u64, hook: u64, state: DeliveryState) -> Delivery {
        Delivery { id, hook_id: hook, state: state.into(), created_ms: id.cast_signed() * 10, ..Delivery::default() }
    }

    #[test]
    fn a_group_counts_states_and_prefers_the_newest_failed_delivery_as_example() {
        let rows = [
            row(1, 7, DeliveryState::Failed),
            row(4, 8, DeliveryState::Success),
            row(2, 8, DeliveryState::Failed),
            row(3, 7, DeliveryState::Pending),
        ];
        let mut groups = BTreeMap::new();
        for row in &rows {
            insert(&mut groups, DeliveryGroup::of("http 500".into(), row));
        }
        let group = &groups["http 500"];
        assert_eq!((group.count, group.failed, group.pending), (4, 2, 1));
        assert_eq!((group.first_ms, group.last_ms, group.example.id), (10, 40, 2));
        assert_eq!(group.hooks, [7, 8].into());
    }
}
