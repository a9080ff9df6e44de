//! Finds the hooks whose URLs have the host that a list of deliveries is restricted to.

use std::collections::HashMap;

use farrier_proto::store::Delivery;

use super::list::DeliveryFilter;
use crate::{
    model::hook_config,
    store::{Read, StoreError, hooks},
};

/// The hooks of the deliveries that a list has read, and whether each has the host of the filter.
///
/// A list reads a bounded number of deliveries, and each delivery has one hook, so the number of hooks is bounded too.
#[derive(Debug)]
pub(super) struct HostHooks<'a> {
    filter: &'a DeliveryFilter,
    known: HashMap<u64, bool>,
}

impl<'a> HostHooks<'a> {
    /// Returns the hooks for the host of `filter`, none of which is read.
    pub(super) fn new(filter: &'a DeliveryFilter) -> Self {
        Self { filter, known: HashMap::new() }
    }

    /// Reads the hooks of a batch of deliveries. Deliveries that do not pass the rest of the filter need no hook.
    pub(super) async fn read(&mut self, read: &impl Read, rows: &[(u64, Option<Delivery>)]) -> Result<(), StoreError> {
        if self.filter.host.is_empty() {
            return Ok(());
        }
        let passing = rows.iter().filter_map(|(_, row)| row.as_ref()).filter(|row| self.filter.passes(row));
        let mut ids: Vec<u64> = passing.map(|row| row.hook_id).filter(|id| !self.known.contains_key(id)).collect();
        ids.sort_unstable();
        ids.dedup();
        if ids.is_empty() {
            return Ok(());
        }
        // A deleted hook has no host.
        self.known.extend(ids.iter().map(|id| (*id, false)));
        for hook in hooks::many(read, &ids).await? {
            let host = hook_config::host(&hook.url);
            let has_host = host.is_some_and(|host| host.eq_ignore_ascii_case(&self.filter.host));
            self.known.insert(hook.id, has_host);
        }
        Ok(())
    }

    /// Returns whether a delivery of a batch that was read passes the filter.
    pub(super) fn passes(&self, row: &Delivery) -> bool {
        self.filter.passes(row) && (self.filter.host.is_empty() || self.known.get(&row.hook_id) == Some(&true))
    }
}
