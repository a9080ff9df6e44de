//! The OpenAPI description matches the API exactly.

mod schemathesis;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use farrierd::http::ROUTES;
use serde_json::{Map, Value};

use crate::{
    access_matrix,
    support::{TestDaemon, send},
};

/// Path prefixes of other protocols, which are not described.
const OTHER_PROTOCOLS: [&str; 8] =
    ["/twirp", "/_blob/", "/_apis/", "/{owner}/", "/metrics", "/.well-known/", "/_internal/", "/api/actions_pipeline/"];

async fn description(daemon: &TestDaemon) -> Value {
    let answer = send(&daemon.tcp(), http::Method::GET, "/openapi.json", &[], String::new()).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/json;charset=utf-8"));
    answer.json()
}

/// All operations by method and path.
fn operations(description: &Value) -> BTreeMap<(&str, &str), &Map<String, Value>> {
    let paths = description["paths"].as_object().expect("an object");
    let operations = paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().expect("an object");
        methods.iter().map(move |(method, operation)| {
            ((method.as_str(), path.as_str()), operation.as_object().expect("an object"))
        })
    });
    operations.collect()
}

/// The path of a route as the description writes it.
fn described(path: &str) -> String {
    path.replace("{*", "{")
}

#[tokio::test]
async fn the_description_equals_the_snapshot() {
    let daemon = TestDaemon::start().await;
    let mut description = description(&daemon).await;
    assert_eq!(description["servers"], serde_json::json!([{ "url": daemon.url }]));
    description["servers"][0]["url"] = "ROOT".into();
    let mut text = String::new();
    lay_out(&mut text, &description, 0);
    insta::assert_snapshot!("openapi", text);
}

/// Formats JSON with one line per parameter, response and field, so that changes are readable.
fn lay_out(text: &mut String, value: &Value, depth: usize) {
    const ON_ONE_LINE: usize = 5;
    let Value::Object(fields) = value else { return text.push_str(&value.to_string()) };
    if depth == ON_ONE_LINE || fields.is_empty() {
        return text.push_str(&value.to_string());
    }
    let indent = "  ".repeat(depth);
    for (n, (name, field)) in fields.iter().enumerate() {
        text.push_str(if n == 0 { "{\n" } else { ",\n" });
        let _ = write!(text, "{indent}  {}: ", Value::from(name.as_str()));
        lay_out(text, field, depth + 1);
    }
    let _ = write!(text, "\n{indent}}}");
}

#[tokio::test]
async fn exactly_the_existing_routes_are_described() {
    let daemon = TestDaemon::start().await;
    let description = description(&daemon).await;
    let described_routes: BTreeSet<(String, String)> =
        operations(&description).keys().map(|(method, path)| ((*method).to_owned(), (*path).to_owned())).collect();
    let is_download =
        |path: &str| path.contains("}/releases/download/") || path.starts_with("/{owner}/{repo}/archive/");
    let other = |path: &str| !is_download(path) && OTHER_PROTOCOLS.iter().any(|other| path.starts_with(other));
    let routes = ROUTES.iter().filter(|route| !other(route.1));
    let routes: BTreeSet<_> = routes.map(|(method, path)| ((*method).to_owned(), described(path))).collect();
    assert_eq!(described_routes, routes);
}

#[tokio::test]
async fn every_operation_has_a_name_summary_tag_and_responses() {
    let daemon = TestDaemon::start().await;
    let description = description(&daemon).await;
    let tags: Vec<_> = description["tags"].as_array().expect("a list").iter().map(|tag| &tag["name"]).collect();
    let mut names = BTreeSet::new();
    for (at, operation) in operations(&description) {
        let name = operation["operationId"].as_str().expect("text");
        assert!(names.insert(name), "{at:?}: two operations are called {name}");
        assert!(operation["summary"].as_str().is_some_and(|text| text.ends_with('.')), "{at:?}: no summary");
        let own = operation["tags"].as_array().expect("a list");
        assert!(own.len() == 1 && tags.contains(&&own[0]), "{at:?}: {own:?}");
        for parameter in operation["parameters"].as_array().expect("a list") {
            assert!(parameter["description"].as_str().is_some_and(|text| !text.is_empty()), "{at:?}: {parameter}");
            let here = at.1.contains(&format!("{{{}}}", parameter["name"].as_str().expect("text")));
            assert_eq!(here, parameter["in"] == "path", "{at:?}: {parameter}");
        }
        let responses = operation["responses"].as_object().expect("an object");
        assert!(responses.keys().any(|status| status.as_str() < "400"), "{at:?}: no successful response");
        for (status, response) in responses {
            let described =
                response.get("$ref").is_some() || response["description"].as_str().is_some_and(|text| !text.is_empty());
            assert!(described, "{at:?}: {status} is not described");
        }
    }
    for reference in references(&description) {
        let found = description.pointer(reference.strip_prefix('#').expect("a local reference"));
        assert!(found.is_some(), "{reference} does not exist");
    }
}

/// All `$ref` values in `value`.
fn references(value: &Value) -> Vec<&str> {
    match value {
        Value::Object(fields) => {
            let own = fields.get("$ref").and_then(Value::as_str);
            own.into_iter().chain(fields.values().flat_map(references)).collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

/// The access matrix lists the statuses of every route. The description must contain them.
#[tokio::test]
async fn every_status_in_the_access_matrix_is_described() {
    let daemon = TestDaemon::start().await;
    let description = description(&daemon).await;
    let operations = operations(&description);
    let mut missing = Vec::new();
    for ((method, path), statuses) in access_matrix::table() {
        let path = described(path);
        let Some(operation) = operations.get(&(method, path.as_str())) else { continue };
        let unknown = statuses.iter().filter(|status| *status != "-" && operation["responses"].get(*status).is_none());
        missing.extend(unknown.map(|status| format!("{method} {path}: {status}")));
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[tokio::test]
async fn every_response_schema_lists_its_required_fields() {
    let daemon = TestDaemon::start().await;
    let description = description(&daemon).await;
    let mut open = Vec::new();
    let mut left: Vec<&str> = operations(&description)
        .values()
        .flat_map(|operation| references(&operation["responses"]))
        .filter(|reference| reference.contains("/schemas/"))
        .collect();
    let mut observed = BTreeSet::new();
    while let Some(reference) = left.pop() {
        if !observed.insert(reference) {
            continue;
        }
        let schema = description.pointer(&reference[1..]).expect("an existing schema");
        left.extend(references(schema));
        if schema.get("properties").is_some_and(Value::is_object)
            && schema["required"].as_array().is_none_or(Vec::is_empty)
        {
            open.push(reference);
        }
    }
    assert!(open.is_empty(), "missing in the list of answers in http/openapi/schemas.rs: {open:?}");
}

#[tokio::test]
async fn the_documentation_page_and_the_old_path_are_served() {
    let daemon = TestDaemon::start().await;
    let tcp = daemon.tcp();
    let get = |path| send(&tcp, http::Method::GET, path, &[], String::new());
    assert_eq!(get("/swagger.v1.json").await.json(), description(&daemon).await);
    let page = get("/api/swagger").await;
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    assert!(page.header("content-security-policy").starts_with("default-src 'none'"), "{page:?}");
    let text = page.text();
    for elsewhere in ["http://", "https://", "src=", "@import", "//cdn"] {
        assert!(!text.contains(elsewhere), "the page refers to {elsewhere}");
    }
}
