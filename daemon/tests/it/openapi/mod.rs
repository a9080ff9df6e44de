//! The API's description: it says what the daemon does, all of it and nothing else.

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

/// Below these stand other protocols.
const OTHER_PROTOCOLS: [&str; 4] = ["/twirp", "/_blob/", "/{owner}/", "/metrics"];

/// Answers 404 although its path has other methods: not built, so not described.
const NOT_BUILT: (&str, &str) = ("post", "/api/v1/repos/{owner}/{repo}/forks");

async fn description(daemon: &TestDaemon) -> Value {
    let answer = send(&daemon.tcp(), http::Method::GET, "/openapi.json", &[], String::new()).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/json;charset=utf-8"));
    answer.json()
}

/// `(method, path)` of each operation, and the operation.
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

/// The route's path as the description writes it.
fn described(path: &str) -> String {
    path.replace("{*", "{")
}

#[tokio::test]
async fn the_description_is_what_was_agreed() {
    let daemon = TestDaemon::start().await;
    let mut description = description(&daemon).await;
    assert_eq!(description["servers"], serde_json::json!([{ "url": daemon.url }]));
    description["servers"][0]["url"] = "ROOT".into();
    let mut text = String::new();
    lay_out(&mut text, &description, 0);
    insta::assert_snapshot!("openapi", text);
}

/// JSON with a line for each parameter, answer and field, so that a change can be read.
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
async fn every_route_is_described_and_nothing_else() {
    let daemon = TestDaemon::start().await;
    let description = description(&daemon).await;
    let said: BTreeSet<(String, String)> =
        operations(&description).keys().map(|(method, path)| ((*method).to_owned(), (*path).to_owned())).collect();
    let other = |path: &str| OTHER_PROTOCOLS.iter().any(|other| path.starts_with(other));
    let routes = ROUTES.iter().filter(|route| **route != NOT_BUILT && !other(route.1));
    let routes: BTreeSet<_> = routes.map(|(method, path)| ((*method).to_owned(), described(path))).collect();
    assert_eq!(said, routes);
}

#[tokio::test]
async fn every_operation_is_complete() {
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
        assert!(responses.keys().any(|status| status.as_str() < "400"), "{at:?}: never goes well");
        for (status, response) in responses {
            let described =
                response.get("$ref").is_some() || response["description"].as_str().is_some_and(|text| !text.is_empty());
            assert!(described, "{at:?}: {status} is not described");
        }
    }
    for reference in references(&description) {
        let found = description.pointer(reference.strip_prefix('#').expect("a local reference"));
        assert!(found.is_some(), "{reference} leads nowhere");
    }
}

/// Every `$ref` in `value`.
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

/// What is known about who gets what from every route is in the description, too.
#[tokio::test]
async fn every_status_that_people_get_is_described() {
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
async fn strict_clients_find_every_field_of_an_answer_required() {
    let daemon = TestDaemon::start().await;
    let description = description(&daemon).await;
    let mut open = Vec::new();
    let mut left: Vec<&str> = operations(&description)
        .values()
        .flat_map(|operation| references(&operation["responses"]))
        .filter(|reference| reference.contains("/schemas/"))
        .collect();
    let mut seen = BTreeSet::new();
    while let Some(reference) = left.pop() {
        if !seen.insert(reference) {
            continue;
        }
        let schema = description.pointer(&reference[1..]).expect("it leads somewhere");
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
async fn the_page_and_the_older_address_answer() {
    let daemon = TestDaemon::start().await;
    let tcp = daemon.tcp();
    let get = |path| send(&tcp, http::Method::GET, path, &[], String::new());
    assert_eq!(get("/swagger.v1.json").await.json(), description(&daemon).await);
    let page = get("/api/swagger").await;
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    assert!(page.header("content-security-policy").starts_with("default-src 'none'"), "{page:?}");
    let text = page.text();
    for elsewhere in ["http://", "https://", "src=", "@import", "//cdn"] {
        assert!(!text.contains(elsewhere), "the page names {elsewhere}");
    }
}
