//! Completes the description of an operation: shared errors, headers of lists, security requirements.

use serde_json::{Map, Value, json};

use super::{OwnerText, RouteDescription, captures, schemas};

/// Errors that many operations share: status, name, description.
const SHARED_ERRORS: &[(&str, &str, &str)] = &[
    ("307", "moved", "The owner or the repository in the path was renamed; `Location` is the new address."),
    ("401", "unauthorized", "The credentials are wrong, or the request needs credentials."),
    ("403", "forbidden", "The caller lacks the permission, the token lacks a scope, or the account is closed."),
    ("404", "notFound", "The object does not exist or is not visible to the caller."),
    ("412", "changed", "The object was changed after the client read the entity tag in `If-Match`."),
    ("413", "tooLarge", "The body is larger than `server.max_body_bytes`."),
    ("422", "invalid", "The body is not a JSON object, or a field is not valid; `field` names it."),
    (
        "429",
        "throttled",
        "Too many failed sign-ins from this address, or too much work of one kind at the same time by this account or address; `Retry-After` says when to try again.",
    ),
    ("500", "internal", "Internal error; the server log has the cause."),
    (
        "503",
        "unavailable",
        "The store is not available, or a limit for all callers is reached. Try again later; limits send `Retry-After`.",
    ),
];

const SCHEMES: [&str; 3] = ["AuthorizationHeaderToken", "BearerToken", "BasicAuth"];

/// Returns the complete operation of a route.
pub(super) fn finished(described: RouteDescription) -> Value {
    let RouteDescription { method, path, id, owner, is_deprecated, mut paths, .. } = described;
    let mut operation = take_operation(&mut paths, method);
    if let Some(owner) = owner {
        fill(&mut operation, &owner);
    }
    if let Some(id) = id {
        operation.insert("operationId".into(), json!(id));
    }
    if is_deprecated {
        operation.insert("deprecated".into(), json!(true));
    }
    let checks_credentials = operation.get("security") != Some(&json!([{}]));
    let signed_in = method != "get" || operation.contains_key("security");
    let parameters = parameters(path, &operation);
    let is_list = parameters.iter().any(|parameter| parameter["name"] == "page");
    operation.insert("parameters".into(), json!(parameters));
    add_shared_errors(&mut operation, path, checks_credentials);
    describe_responses(&mut operation, is_list);
    if checks_credentials {
        let schemes = SCHEMES.iter().map(|name| json!({ *name: [] }));
        let anonymous = (!signed_in).then(|| json!({}));
        operation.insert("security".into(), anonymous.into_iter().chain(schemes).collect());
    }
    Value::Object(operation)
}

/// Takes the operation out of a `paths` object that has one path with the method of the route.
fn take_operation(paths: &mut Value, method: &str) -> Map<String, Value> {
    let item = paths.as_object_mut().and_then(|paths| paths.values_mut().next());
    match item.and_then(|methods| methods.get_mut(method)).map(Value::take) {
        Some(Value::Object(operation)) => operation,
        _ => Map::new(),
    }
}

/// Replaces the placeholders in the operation of a handler for hooks of all kinds of owners.
fn fill(operation: &mut Map<String, Value>, owner: &OwnerText) {
    let placeholders = [
        ("operationId", "{owner}", owner.prefix),
        ("summary", "{hooks}", owner.hooks),
        ("summary", "{hook}", owner.hook),
    ];
    for (field, placeholder, text) in placeholders {
        if let Some(Value::String(known)) = operation.get_mut(field) {
            *known = known.replace(placeholder, text);
        }
    }
    operation.insert("tags".into(), json!([owner.tag]));
}

/// Returns the parameters of the path, then those that the handler declares for the query and the headers.
fn parameters(path: &str, operation: &Map<String, Value>) -> Vec<Value> {
    let captures = path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
    let mut all: Vec<Value> = captures.map(captures::parameter).collect();
    let declared = operation.get("parameters").and_then(Value::as_array).cloned().unwrap_or_default();
    for mut parameter in declared.into_iter().filter(|parameter| parameter["in"] != "path") {
        schemas::without_null(&mut parameter["schema"]);
        schemas::list_words(&mut parameter["schema"]);
        all.push(parameter);
    }
    all
}

/// Adds the shared errors that are possible because of the path, the body, `If-Match` and the credentials.
fn add_shared_errors(operation: &mut Map<String, Value>, path: &str, checks_credentials: bool) {
    let has_body = operation.contains_key("requestBody");
    let parameters = operation.get("parameters").and_then(Value::as_array);
    let is_conditional = parameters.is_some_and(|all| all.iter().any(|parameter| parameter["name"] == "If-Match"));
    let names_owner = ["{owner}", "{org}", "{name}"].iter().any(|capture| path.contains(capture));
    let responses = operation.entry("responses").or_insert_with(|| json!({}));
    for (status, name, _) in SHARED_ERRORS {
        let applies = match *status {
            "307" => names_owner,
            "412" => is_conditional,
            "413" | "422" => has_body,
            _ => checks_credentials,
        };
        if applies && responses.get(status).is_none() {
            responses[*status] = json!({ "$ref": format!("#/components/responses/{name}") });
        }
    }
}

/// Adds default descriptions, the body of errors, and the headers of lists and redirects.
fn describe_responses(operation: &mut Map<String, Value>, is_list: bool) {
    let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
    for (status, response) in responses.into_iter().flatten() {
        if response.get("$ref").is_some() {
            continue;
        }
        if response["description"].as_str().is_none_or(str::is_empty) {
            response["description"] = json!(default_description(status));
        }
        if status.as_str() >= "400" && response.get("content").is_none() {
            response["content"] = error_content();
        }
        if status == "200" && is_list {
            let total = json!({ "type": "integer", "minimum": 0 });
            response["headers"] = json!({
                "X-Total-Count": { "description": "Number of items on all pages.", "required": true, "schema": total },
                "Link": { "description": "Addresses of the next, last, first and previous page.", "schema": { "type": "string" } },
            });
        }
        if status == "302" {
            response["headers"] = json!({ "Location": { "required": true, "schema": { "type": "string" } } });
        }
    }
}

fn default_description(status: &str) -> &'static str {
    match status {
        "201" => "Created.",
        "202" => "Accepted; the work continues in the background.",
        "204" => "Success, without a body.",
        "206" => "The requested range.",
        "302" => "Redirect to the address in `Location`.",
        "304" => "Not modified.",
        "503" => "The daemon cannot handle requests.",
        _ => "Success.",
    }
}

fn error_content() -> Value {
    json!({ "application/json": { "schema": { "$ref": "#/components/schemas/ErrorBody" } } })
}

/// Returns the shared errors, as components that operations refer to.
pub(super) fn shared_errors() -> Value {
    let component = |(_, name, about): &(&str, &str, &str)| {
        ((*name).to_owned(), json!({ "description": about, "content": error_content() }))
    };
    Value::Object(SHARED_ERRORS.iter().map(component).collect())
}

/// Returns the authentication methods.
pub(super) fn security_schemes() -> Value {
    let [token, bearer, basic] = SCHEMES;
    json!({
        token: {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "The word `token`, a space, and an access token.",
        },
        bearer: { "type": "http", "scheme": "bearer", "description": "An access token." },
        basic: { "type": "http", "scheme": "basic", "description": "Account name and password, or account name and access token." },
    })
}
