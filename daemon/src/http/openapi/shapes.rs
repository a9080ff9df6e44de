//! Schemas of bodies for which the API has no type.

#![allow(dead_code)] // used only to derive schemas

use farrier_common::api;
use serde::Serialize;
use utoipa::ToSchema;

/// Raw bytes.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
pub(in crate::http) struct Bytes(String);

/// A file with its content, or the entries of a directory.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(in crate::http) enum FileOrDirectory {
    /// A file, a symbolic link or a submodule.
    File(Box<api::Contents>),
    /// The entries of a directory, without their content.
    Directory(Vec<api::Contents>),
}
