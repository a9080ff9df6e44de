//! A backup as one tar stream. Unpacked, it is a directory of backups with one backup.
//!
//! ```text
//! farrier-backups.json
//! files/  backups/
//! files/<2 digits>/<SHA-256>         the contents, each once
//! backups/<time>/
//! backups/<time>/files.jsonl
//! backups/<time>/manifest.json       last: a stream that ended early has none
//! ```
//!
//! `write` streams without temporary copies of contents. `read` finds contents in a file without unpacking it. It
//! accepts only these names, regular files and directories, because a stream may come from elsewhere.

mod read;
mod write;

pub(super) use self::{read::TarBackups, write::TarTarget};

#[cfg(test)]
mod tests;
