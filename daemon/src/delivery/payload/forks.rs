//! The payload of a fork.

use farrier_common::api;
use farrier_proto::store::{Payload, Repository};
use serde::Serialize;

use super::{PayloadBuilder, READER, serialized};
use crate::{
    model::access_level::AccessLevel,
    show::{self, LiveMigration},
    store::owners::Owner,
};

/// The names are those of the API family: `forkee` is the source, and `repository` the new repository.
#[derive(Serialize)]
struct ForkBody {
    forkee: api::Repository,
    repository: api::Repository,
    sender: api::User,
}

impl PayloadBuilder<'_> {
    pub(super) fn about_fork(&self, fork: &Repository, owner: &Owner) -> Payload {
        let live = LiveMigration::default();
        serialized(&ForkBody {
            forkee: self.repository(),
            repository: show::repository(self.root_url, READER, owner, fork, AccessLevel::Hidden, live),
            sender: self.sender(),
        })
    }
}
