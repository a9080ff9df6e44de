//! Which fields are always there, and which may be `null`.
//!
//! The types of the API are lenient when they are read, so what their derived schemas say of fields
//! that must be there is less than what the daemon writes. What an empty answer holds is what every
//! answer holds: the types themselves leave out what may be absent.

use std::collections::BTreeSet;

use farrier_common::api;
use serde_json::{Map, Value, json};

/// An empty answer of each type that the daemon writes, by the type's name.
macro_rules! answers {
    ($($name:ident)*) => {
        [$((stringify!($name), serde_json::to_value(api::$name::default()).expect("plain data"))),*]
    };
}

/// Settles the schemas of a document: answers have exactly the fields that the daemon writes, and
/// bodies of requests may have `null` wherever a field may be absent.
pub(super) fn settle(schemas: &mut Map<String, Value>, bodies: &BTreeSet<String>) {
    let answers = answers![
        AccessToken Amount AnnotatedTag ApiSettings AppliedHook ArchiveDownloads Artifact ArtifactJob ArtifactLimits ArtifactRun Artifacts
        AttachmentSettings BackgroundTask BackgroundTasks BegunJob Blob Branch CheckedBranch CheckedBranchFilter CheckedMigration CollaboratorPermission Commit CommitDetails CommitFile
        CommitMeta CommitStats Compare Contents ContentsLinks CurrentToken DeletedArtifact DeletedArtifacts Delivery DeliveryAttempt DeliveryDetail DeliveryRequest DeliveryResponse
        DiskStatus ErrorBody Event Events FoundArtifact FoundJob FoundRun FoundUsers
        GitObject GitReference GitignoreTemplate Health HealthCheck Hook HookConfigKey HookEvent HookEventHeaders HookType Job JobLease Jobs Kept LabelTemplate License LicenseEntry ListenerStatus LogFilter
        MetricsSeries MigrationProgress Note OrgPermissions Organization PayloadCommit PayloadUser Permissions RecoveredDeliveries Repository
        RestorableArtifact RestorableRepository SetAside SetAsideItem
        RepositorySearch RepositorySettings Run Runs SettingAdvice Signature Status Step StoreStatus Tag Task TaskList TaskPhase Team
        TokenRepository TokenUser Tree TreeEntry UiSettings User Verification
    ];
    for schema in schemas.values_mut() {
        for (_, property) in properties(schema) {
            list_words(property);
            // What an absent field means, its description says; the values that types begin with do not.
            property.as_object_mut().map(|property| property.remove("default"));
        }
    }
    for (name, empty) in &answers {
        if let (Some(schema), Value::Object(empty)) = (schemas.get_mut(*name), empty) {
            settle_answer(schema, empty);
        }
    }
    for name in bodies {
        let is_answer = answers.iter().any(|(answer, _)| answer == name);
        if let Some(schema) = schemas.get_mut(name).filter(|_| !is_answer) {
            settle_body(schema);
        }
    }
}

/// A pattern that only lists words becomes the list: the attributes beside fields have no word for it.
pub(super) fn list_words(schema: &mut Value) {
    let words = schema["pattern"].as_str().and_then(|pattern| pattern.strip_prefix("^(")?.strip_suffix(")$"));
    let Some(words) = words.map(|words| words.split('|').map(Value::from).collect::<Vec<_>>()) else { return };
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("pattern");
        schema.insert("enum".into(), Value::Array(words));
    }
}

fn settle_answer(schema: &mut Value, empty: &Map<String, Value>) {
    for (name, property) in properties(schema) {
        if !empty.get(name).is_some_and(Value::is_null) {
            without_null(property);
        }
    }
    schema["required"] = empty.keys().map(String::as_str).collect();
}

fn settle_body(schema: &mut Value) {
    let required: Vec<Value> = schema["required"].as_array().cloned().unwrap_or_default();
    for (name, property) in properties(schema) {
        if required.iter().any(|known| known == name) {
            without_null(property);
        } else {
            with_null(property);
        }
    }
}

fn properties(schema: &mut Value) -> impl Iterator<Item = (&String, &mut Value)> {
    schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten()
}

/// Name of the schema that the body of a request has.
pub(super) fn of_body(operation: &Value) -> Option<String> {
    let reference = operation.pointer("/requestBody/content/application~1json/schema/$ref")?.as_str()?;
    reference.rsplit('/').next().map(str::to_owned)
}

/// Takes `null` out of what a value may be.
pub(super) fn without_null(schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else { return };
    if let Some(Value::Array(kinds)) = schema.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [one] = &mut kinds[..] {
            let one = one.take();
            schema.insert("type".into(), one);
        }
    }
    let Some(Value::Array(choices)) = schema.get_mut("oneOf") else { return };
    choices.retain(|choice| choice["type"] != "null");
    if let [Value::Object(one)] = &mut choices[..] {
        // What is said about the field stays beside the reference.
        let one = std::mem::take(one);
        schema.remove("oneOf");
        schema.extend(one);
    }
}

fn with_null(schema: &mut Value) {
    if let Some(Value::String(kind)) = schema.get("type") {
        schema["type"] = json!([kind, "null"]);
    }
    if let Some(Value::Array(words)) = schema.get_mut("enum") {
        words.push(Value::Null);
    }
}
