//! Caches the caller's access to the repositories of a list.

use std::collections::HashMap;

use super::allowing;
use crate::{
    model::identity::Identity,
    service::access::Action,
    store::{Read, StoreError},
};

/// The caller's access to the repositories of one list.
#[derive(Debug)]
pub struct AccessCache<'a> {
    identity: &'a Identity,
    action: Action,
    paths: HashMap<u64, Option<String>>,
}

impl<'a> AccessCache<'a> {
    /// Creates an empty cache.
    pub fn new(identity: &'a Identity, action: Action) -> Self {
        Self { identity, action, paths: HashMap::new() }
    }

    /// Returns `owner/name` of repository `id`, or `None` if the caller has no access.
    pub async fn path(&mut self, read: &impl Read, id: u64) -> Result<Option<String>, StoreError> {
        if let Some(known) = self.paths.get(&id) {
            return Ok(known.clone());
        }
        let path = allowing(read, self.identity, id, self.action).await?.map(|found| found.path());
        self.paths.insert(id, path.clone());
        Ok(path)
    }
}
