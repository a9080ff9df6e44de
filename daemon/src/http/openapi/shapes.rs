//! Bodies that no type of the API describes by itself.

#![allow(dead_code)] // they are described, never made

use farrier_common::api;
use serde::Serialize;
use utoipa::ToSchema;

/// Bytes as they are.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
pub(in crate::http) struct Bytes(String);

/// References below a prefix, or the one that the prefix names in full.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(in crate::http) enum References {
    /// The prefix is a whole name.
    One(api::GitReference),
    /// All below it.
    Many(Vec<api::GitReference>),
}

/// A file with its content, or what stands in a directory.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(in crate::http) enum FileOrDirectory {
    /// A file, a symbolic link or a submodule.
    File(Box<api::Contents>),
    /// The entries of a directory, without their content.
    Directory(Vec<api::Contents>),
}

/// Topics of a repository: it has none.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct NoTopics {
    /// Always empty.
    topics: Vec<String>,
}
