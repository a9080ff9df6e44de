//! The payload of a change of a release.

use farrier_common::api;
use farrier_proto::store::{Payload, Release, ReleaseAsset, User};
use serde::Serialize;

use super::{PayloadBuilder, READER, serialized};
use crate::show;

#[derive(Serialize)]
struct ReleaseBody {
    action: &'static str,
    release: api::Release,
    #[serde(skip_serializing_if = "Option::is_none")]
    organization: Option<api::Organization>,
    repository: api::Repository,
    sender: api::User,
}

impl PayloadBuilder<'_> {
    pub(super) fn about_release(
        &self,
        action: &'static str,
        release: &Release,
        author: Option<&User>,
        files: &[ReleaseAsset],
    ) -> Payload {
        let repository = self.repository();
        serialized(&ReleaseBody {
            action,
            release: show::release(self.root_url, READER, &repository.full_name, release, author, files),
            organization: self.organization(),
            repository,
            sender: self.sender(),
        })
    }
}
