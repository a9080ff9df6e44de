//! One operation: what its handler says, and what holds for all of them.

use serde_json::{Map, Value, json};

use super::{Described, parameters, schemas};

/// Routes that share a handler with another one: method and path, and the operation's own name and
/// tag.
const ALIASES: &[(&str, &str, &str, &str)] = &[
    ("get", "/swagger.v1.json", "getSwagger", "miscellaneous"),
    ("get", "/api/v1/orgs/{org}/public_members", "orgListPublicMembers", "organization"),
    ("get", "/api/v1/orgs/{org}/public_members/{user}", "orgIsPublicMember", "organization"),
    ("post", "/api/v1/org/{name}/repos", "createOrgRepoDeprecated", "organization"),
    ("get", "/api/v1/repos/{owner}/{repo}/media/{*path}", "repoGetRawFileOrLFS", "repository"),
    ("get", "/api/v1/repos/{owner}/{repo}/stargazers", "repoListStargazers", "repository"),
    ("get", "/api/v1/repos/{owner}/{repo}/subscribers", "repoListSubscribers", "repository"),
    ("get", "/api/v1/repos/{owner}/{repo}/hooks/{id}/deliveries", "repoListHookDeliveries", "repository"),
    ("get", "/api/v1/orgs/{org}/hooks/{id}/deliveries", "orgListHookDeliveries", "organization"),
    ("get", "/api/v1/user/hooks/{id}/deliveries", "userListHookDeliveries", "user"),
    ("get", "/api/v1/repos/{owner}/{repo}/hooks/{id}/deliveries/{delivery}", "repoGetHookDelivery", "repository"),
    ("get", "/api/v1/orgs/{org}/hooks/{id}/deliveries/{delivery}", "orgGetHookDelivery", "organization"),
    ("get", "/api/v1/user/hooks/{id}/deliveries/{delivery}", "userGetHookDelivery", "user"),
    (
        "post",
        "/api/v1/repos/{owner}/{repo}/hooks/{id}/deliveries/{delivery}/attempts",
        "repoRedeliverHook",
        "repository",
    ),
    ("post", "/api/v1/orgs/{org}/hooks/{id}/deliveries/{delivery}/attempts", "orgRedeliverHook", "organization"),
    ("post", "/api/v1/user/hooks/{id}/deliveries/{delivery}/attempts", "userRedeliverHook", "user"),
    ("post", "/api/v1/repos/{owner}/{repo}/hooks/{id}/recover", "repoRecoverHook", "repository"),
    ("post", "/api/v1/orgs/{org}/hooks/{id}/recover", "orgRecoverHook", "organization"),
    ("post", "/api/v1/user/hooks/{id}/recover", "userRecoverHook", "user"),
    ("post", "/api/v1/repos/{owner}/{repo}/hooks/{id}/tests", "repoTestHook", "repository"),
    ("post", "/api/v1/orgs/{org}/hooks/{id}/tests", "orgTestHook", "organization"),
    ("post", "/api/v1/user/hooks/{id}/tests", "userTestHook", "user"),
    ("post", "/api/v1/repos/{owner}/{repo}/hooks/{id}/pings", "repoPingHook", "repository"),
    ("post", "/api/v1/orgs/{org}/hooks/{id}/pings", "orgPingHook", "organization"),
    ("post", "/api/v1/user/hooks/{id}/pings", "userPingHook", "user"),
    ("get", "/api/farrier/v1/hooks/{id}/deliveries", "farrierListHookDeliveries", "farrier"),
    ("get", "/api/farrier/v1/hooks/{id}/deliveries/{delivery}", "farrierGetHookDelivery", "farrier"),
    ("post", "/api/farrier/v1/hooks/{id}/deliveries/{delivery}/attempts", "farrierRedeliverHook", "farrier"),
    ("post", "/api/farrier/v1/hooks/{id}/recover", "farrierRecoverHook", "farrier"),
    ("post", "/api/farrier/v1/hooks/{id}/tests", "farrierTestHook", "farrier"),
    ("post", "/api/farrier/v1/hooks/{id}/pings", "farrierPingHook", "farrier"),
];
/// Older spellings of other routes.
const OLD: &[&str] = &["/api/v1/org/{name}/repos"];

/// Refusals that many operations share: status, name, what it means.
const REFUSALS: &[(&str, &str, &str)] = &[
    ("307", "moved", "What the path names has another name now; `Location` leads there."),
    ("401", "unauthorized", "The credentials are wrong, or somebody must sign in."),
    ("403", "forbidden", "The caller may not, the token lacks a scope, or the account is closed."),
    ("404", "notFound", "It does not exist, or the caller may not know that it does."),
    ("412", "changed", "The object was changed since the client read it with the tag in `If-Match`."),
    ("413", "tooLarge", "The body is larger than the daemon takes."),
    ("422", "invalid", "The body is no JSON object, or a field cannot be used; `field` says which."),
    ("429", "throttled", "Too many wrong credentials came from there; see `Retry-After`."),
    ("500", "internal", "Something failed that the client can do nothing about."),
    ("503", "unavailable", "The store is not available or too much is going on; the same request may succeed later."),
];

const SCHEMES: [&str; 3] = ["AuthorizationHeaderToken", "BearerToken", "BasicAuth"];

/// Finishes what the handler says of itself.
pub(super) fn finished(described: Described) -> Value {
    let Described { method, path, mut said, .. } = described;
    let mut operation = own(&mut said);
    if let Some((.., id, tag)) = ALIASES.iter().find(|alias| (alias.0, alias.1) == (method, path)) {
        operation.insert("operationId".into(), json!(id));
        operation.insert("tags".into(), json!([tag]));
    }
    if OLD.contains(&path) {
        operation.insert("deprecated".into(), json!(true));
    }
    let closed = operation.get("security") != Some(&json!([{}]));
    let signed_in = method != "get" || operation.contains_key("security");
    let parameters = parameters(path, &operation);
    let is_list = parameters.iter().any(|parameter| parameter["name"] == "page");
    operation.insert("parameters".into(), json!(parameters));
    add_refusals(&mut operation, path, closed);
    describe_answers(&mut operation, is_list);
    if closed {
        let all = SCHEMES.iter().map(|name| json!({ *name: [] }));
        let nobody = (!signed_in).then(|| json!({}));
        operation.insert("security".into(), nobody.into_iter().chain(all).collect());
    }
    Value::Object(operation)
}

/// The operation that stands below its path and method.
fn own(said: &mut Value) -> Map<String, Value> {
    let item = said.as_object_mut().and_then(|paths| paths.values_mut().next());
    let operation = item.and_then(Value::as_object_mut).and_then(|methods| methods.values_mut().next());
    match operation.map(Value::take) {
        Some(Value::Object(operation)) => operation,
        _ => Map::new(),
    }
}

/// What stands in the path, then what the handler says of the query and the headers.
fn parameters(path: &str, operation: &Map<String, Value>) -> Vec<Value> {
    let captures = path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
    let mut all: Vec<Value> = captures.map(parameters::of_path).collect();
    let said = operation.get("parameters").and_then(Value::as_array).cloned().unwrap_or_default();
    for mut parameter in said.into_iter().filter(|parameter| parameter["in"] != "path") {
        schemas::without_null(&mut parameter["schema"]);
        schemas::list_words(&mut parameter["schema"]);
        all.push(parameter);
    }
    all
}

/// Adds the refusals that follow from the path, the body and the credentials.
fn add_refusals(operation: &mut Map<String, Value>, path: &str, closed: bool) {
    let has_body = operation.contains_key("requestBody");
    let parameters = operation.get("parameters").and_then(Value::as_array);
    let is_conditional = parameters.is_some_and(|all| all.iter().any(|parameter| parameter["name"] == "If-Match"));
    let names_owner = ["{owner}", "{org}", "{name}"].iter().any(|capture| path.contains(capture));
    let responses = operation.entry("responses").or_insert_with(|| json!({}));
    for (status, name, _) in REFUSALS {
        let applies = match *status {
            "307" => names_owner,
            "412" => is_conditional,
            "413" | "422" => has_body,
            _ => closed,
        };
        if applies && responses.get(status).is_none() {
            responses[*status] = json!({ "$ref": format!("#/components/responses/{name}") });
        }
    }
}

/// Gives words to answers without any, the error body to refusals, headers to lists.
fn describe_answers(operation: &mut Map<String, Value>, is_list: bool) {
    let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
    for (status, response) in responses.into_iter().flatten() {
        if response.get("$ref").is_some() {
            continue;
        }
        if response["description"].as_str().is_none_or(str::is_empty) {
            response["description"] = json!(usual_words(status));
        }
        if status.as_str() >= "400" && response.get("content").is_none() {
            response["content"] = error_content();
        }
        if status == "200" && is_list {
            let total = json!({ "type": "integer", "minimum": 0 });
            response["headers"] = json!({
                "X-Total-Count": { "description": "Items on all pages.", "required": true, "schema": total },
                "Link": { "description": "The next, last, first and previous page.", "schema": { "type": "string" } },
            });
        }
        if status == "302" {
            response["headers"] = json!({ "Location": { "required": true, "schema": { "type": "string" } } });
        }
    }
}

fn usual_words(status: &str) -> &'static str {
    match status {
        "201" => "It is made.",
        "202" => "It has begun.",
        "204" => "Done; nothing more is to be said.",
        "206" => "The range that was asked for.",
        "302" => "`Location` leads there.",
        "304" => "The client has it already.",
        "503" => "Requests cannot be served.",
        _ => "What was asked for.",
    }
}

fn error_content() -> Value {
    json!({ "application/json": { "schema": { "$ref": "#/components/schemas/ErrorBody" } } })
}

/// The refusals that operations refer to.
pub(super) fn shared_refusals() -> Value {
    let one = |(_, name, about): &(&str, &str, &str)| {
        ((*name).to_owned(), json!({ "description": about, "content": error_content() }))
    };
    Value::Object(REFUSALS.iter().map(one).collect())
}

/// How callers say who they are.
pub(super) fn security_schemes() -> Value {
    let [token, bearer, basic] = SCHEMES;
    json!({
        token: {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "`token ` and an access token.",
        },
        bearer: { "type": "http", "scheme": "bearer", "description": "An access token." },
        basic: { "type": "http", "scheme": "basic", "description": "Name and password, or a token in its place." },
    })
}
