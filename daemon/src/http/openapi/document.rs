//! Builds the complete OpenAPI document.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{
    Map, Value, json,
    value::{RawValue, to_raw_value},
};
use utoipa::{
    PartialSchema as _,
    openapi::{RefOr, Schema},
};

use super::{ROOT, operation, schemas};
use crate::http::router;

/// The tags that group operations, with their descriptions.
const TAGS: &[(&str, &str)] = &[
    ("miscellaneous", "Version, health and built-in templates."),
    ("settings", "Limits and features of this server."),
    ("user", "Accounts and their access tokens."),
    ("admin", "Administration of accounts and organizations."),
    ("organization", "Organizations, their members and repositories."),
    ("repository", "Repositories and their content."),
    ("actions", "Runs, jobs and artifacts of a repository."),
    ("farrier", "Functions that Gitea-family APIs do not have."),
];

const ABOUT: &str = "Git repositories, artifacts of workflow runs and webhooks. `/api/v1` is compatible with Gitea \
clients; `/api/farrier/v1` has the functions that only farrier offers.\n\n\
GET routes also accept HEAD. In request bodies, `null` means the same as an absent field, and unknown fields are \
ignored. Administrators can act as another account with the header `Sudo` or the parameter `?sudo=`. Slashes inside a \
path parameter can be sent raw or as `%2F`.";

/// The document to serialize. Operations are serialized one by one: as value trees, all of them together would take
/// thirty times as much memory.
#[derive(Serialize)]
struct Document {
    openapi: &'static str,
    info: Value,
    servers: Value,
    tags: Value,
    paths: BTreeMap<String, BTreeMap<&'static str, Box<RawValue>>>,
    components: Value,
}

/// Builds the document as JSON text, with [`ROOT`] in place of the base address.
pub(super) fn document() -> String {
    let plain = |schema| serde_json::to_value::<RefOr<Schema>>(schema).expect("plain data");
    let mut paths: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
    let mut found = Map::new();
    let mut bodies = BTreeSet::new();
    router::operations(|mut described| {
        for (name, schema) in std::mem::take(&mut described.schemas) {
            found.entry(name).or_insert_with(|| plain(schema));
        }
        let (path, method) = (described.path.replace("{*", "{"), described.method);
        let mut operation = operation::finished(described);
        if let Some(body) = schemas::of_body(&operation) {
            // A missing body is read as an empty object.
            operation["requestBody"]["required"] = found[&body].get("required").is_some().into();
            bodies.insert(body);
        }
        paths.entry(path).or_default().insert(method, to_raw_value(&operation).expect("plain data"));
    });
    found.insert("ErrorBody".into(), plain(farrier_common::api::ErrorBody::schema()));
    schemas::complete(&mut found, &bodies);
    let document = Document {
        openapi: "3.1.0",
        info: json!({
            "title": "farrier",
            "version": env!("CARGO_PKG_VERSION"),
            "description": ABOUT,
            "license": { "name": env!("CARGO_PKG_LICENSE"), "identifier": env!("CARGO_PKG_LICENSE") },
        }),
        servers: json!([{ "url": ROOT }]),
        tags: TAGS.iter().map(|(name, about)| json!({ "name": name, "description": about })).collect(),
        paths,
        components: json!({
            "schemas": found,
            "responses": operation::shared_errors(),
            "securitySchemes": operation::security_schemes(),
        }),
    };
    serde_json::to_string(&document).expect("plain data")
}
