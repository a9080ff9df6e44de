//! Repositories that rows of a list belong to: what the caller may do with each is found once.

use std::collections::HashMap;

use super::allowing;
use crate::{
    model::identity::Identity,
    service::access::Action,
    store::{Read, StoreError},
};

/// What a caller may do with the repositories of one list.
#[derive(Debug)]
pub struct Judged<'a> {
    identity: &'a Identity,
    action: Action,
    paths: HashMap<u64, Option<String>>,
}

impl<'a> Judged<'a> {
    /// Nothing is found yet.
    pub fn new(identity: &'a Identity, action: Action) -> Self {
        Self { identity, action, paths: HashMap::new() }
    }

    /// `owner/name` of the repository with number `id`; `None`: the caller may not.
    pub async fn path(&mut self, read: &impl Read, id: u64) -> Result<Option<String>, StoreError> {
        if let Some(known) = self.paths.get(&id) {
            return Ok(known.clone());
        }
        let path = allowing(read, self.identity, id, self.action).await?.map(|found| found.path());
        self.paths.insert(id, path.clone());
        Ok(path)
    }
}
