//! Transfers artifacts and downloads repositories.
//!
//! Handles large, slow and interrupted transfers: parallel blocks, continued downloads, archives. Memory use
//! does not depend on the size of the content. The only output is the progress bar that the caller passes.

pub(crate) mod archive;
pub(crate) mod blocks;
pub(crate) mod copy;
pub(crate) mod fetch;
pub(crate) mod names;
pub(crate) mod plan;
mod resume;
pub(crate) mod retry;
pub(crate) mod session;
pub(crate) mod sink;
pub(crate) mod unpack;
