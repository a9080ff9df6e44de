//! The document as a whole.

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

/// What operations are sorted by.
const TAGS: &[(&str, &str)] = &[
    ("miscellaneous", "The service itself, and the templates that it ships."),
    ("settings", "What clients ask before they begin."),
    ("user", "Accounts and their access tokens."),
    ("admin", "Administration of accounts and organisations."),
    ("organization", "Organisations, their members and repositories."),
    ("repository", "Repositories and what they hold."),
    ("actions", "Runs, jobs and artifacts of a repository."),
    ("farrier", "What the compatible API has no word for."),
];

const ABOUT: &str = "Git repositories, artifacts of workflow runs and webhooks. Below `/api/v1` stands what clients \
of the Gitea family speak, below `/api/farrier/v1` what only farrier has.\n\n\
GET routes answer HEAD, too. `null` in a body is the same as a field that is absent, and unknown fields are ignored. \
Administrators act as another account with the header `Sudo` or `?sudo=`. Slashes inside a parameter of a path may \
stand as they are or as `%2F`.";

/// The document as it is written. Operations are text already: as trees, all of them together would
/// take thirty times as much memory.
#[derive(Serialize)]
struct Document {
    openapi: &'static str,
    info: Value,
    servers: Value,
    tags: Value,
    paths: BTreeMap<String, BTreeMap<&'static str, Box<RawValue>>>,
    components: Value,
}

/// Makes the whole document, with [`ROOT`] for the base address.
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
            // No body at all is an empty object.
            operation["requestBody"]["required"] = found[&body].get("required").is_some().into();
            bodies.insert(body);
        }
        paths.entry(path).or_default().insert(method, to_raw_value(&operation).expect("plain data"));
    });
    found.insert("ErrorBody".into(), plain(farrier_common::api::ErrorBody::schema()));
    schemas::settle(&mut found, &bodies);
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
            "responses": operation::shared_refusals(),
            "securitySchemes": operation::security_schemes(),
        }),
    };
    serde_json::to_string(&document).expect("plain data")
}
