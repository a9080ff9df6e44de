//! Backups in a bucket of an S3 server, below a prefix.
//!
//! ```text
//! farrier-backups.json                 marks the prefix
//! owner/<identity of the store>        the only store whose backups are here
//! files/<2 digits>/<SHA-256>           the contents, each once
//! backups/<time>/files.jsonl
//! backups/<time>/manifest.json         last: without it, a backup was interrupted
//! ```
//!
//! A bucket has no lock. Instead, a prefix has backups of one store, whose own lock admits one backup at a time. Each
//! backup writes the owner's object and then lists all of them: of two stores that begin at the same time, at least one
//! finds the other. The server needs no conditional requests.

mod client;
mod target;

pub(super) use self::{client::BucketClient, target::BucketTarget};
