//! The artifact protocol of Actions clients: Twirp calls, and Azure block-blob requests on signed addresses.

pub(super) mod block;
pub mod block_list;
mod calls;
mod conditions;
pub mod disposition;
pub(super) mod download;
pub(super) mod files;
pub mod range;
mod stream;
pub(super) mod summaries;
pub mod twirp;
mod xml;

pub(super) use self::{stream::BlockBody, twirp::TwirpError, xml::BlobApiError};
