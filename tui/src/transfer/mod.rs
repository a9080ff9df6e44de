//! Bytes of artifacts, up and down, and of repositories.
//!
//! Owns what is slow, large or breaks in the middle: blocks in parallel, downloads that go on where
//! they stopped, archives. Memory is bounded whatever the size. Says nothing to the user but through
//! the progress bar that it is given.

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
