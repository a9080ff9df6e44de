//! Required fields and `null` in the schemas of the API's types.
//!
//! The API's types accept missing fields when they are read, so their derived schemas require too few fields. The
//! default value of a response type, serialized, has exactly the fields that every response has, because the types
//! skip optional fields that are empty.

use std::collections::BTreeSet;

use farrier_common::api;
use serde_json::{Map, Value, json};

/// The default value of each response type, serialized, by the name of the type.
macro_rules! responses {
    ($($name:ident)*) => {
        [$((stringify!($name), serde_json::to_value(api::$name::default()).expect("plain data"))),*]
    };
}

/// Completes the schemas of a document: responses require the fields that the daemon always writes, and request
/// bodies allow `null` for each optional field.
pub(super) fn complete(schemas: &mut Map<String, Value>, bodies: &BTreeSet<String>) {
    let responses = responses![
        AccessToken Amount AnnotatedTag ApiSettings AppliedHook ArchiveDownloads Artifact ArtifactJob
        ArtifactLimits ArtifactRun Artifacts Attachment AttachmentSettings AuditActor AuditEntry AuditObject
        BackgroundTask BackgroundTasks Backup BegunJob Blob Branch BranchProtection BucketStatus CacheEntry CacheUsage Caches
        ChangedFileResult ChangedFilesResult CheckedBranch CheckedBranchFilter CheckedMigration
        CollaboratorPermission CombinedStatus Commit CommitDetails CommitFile CommitMeta CommitStats
        CommitStatus Compare Contents ContentsLinks Cron CurrentToken DeletedArtifact DeletedArtifacts Delivery
        DeliveryAttempt DeliveryDetail DeliveryGroup DeliveryGroups DeliveryRequest DeliveryResponse
        DeliveryResults DeployKey DiskStatus Email ErrorBody Event Events FailingWorkflow FailingWorkflows FileCommit
        FoundArtifact FoundCacheEntry FoundJob FoundMirror FoundRun FoundTopics FoundUsers GitObject GitReference GitignoreTemplate GpgKey
        GpgKeyEmail Health HealthCheck Hook HookConfigKey HookEvent HookEventHeaders HookType InternalTracker
        InvalidTopics Job JobLease Jobs Kept LabelTemplate LfsCollectionFigures License LicenseEntry
        ListenerStatus LogField LogFilter LogObject LogRecord LogRecords MergedUpstream MetricsSeries
        MigrationProgress MirrorProgress NodeFigures NodeStatus Note OrgPermissions Organization OwnerStorage PayloadCommit
        PayloadUser Permissions PublicKey PushMirror QuotaStatus RecentFailures RecoveredDeliveries Release ReplayedDelivery
        Repository RepositorySearch RepositorySettings RepositoryTransfer RestorableArtifact
        RestorableRepository Run Runs SetAside SetAsideItem SettingAdvice Signature SshHostKey SshService Status
        Step StorageByOwner StorageSizes StoreServer StoreStatus SyncForkInfo Tag TagProtection Task TaskList TaskPhase Team
        TeamSearch TokenRepository TokenUser Topic Topics Tree TreeEntry UiSettings User UserSettings
        Verification WatchInfo WorkLimit
    ];
    for schema in schemas.values_mut() {
        for (_, property) in properties(schema) {
            list_words(property);
            // Removed because it is the default of the Rust type. The description says what an absent field means.
            property.as_object_mut().map(|property| property.remove("default"));
        }
    }
    for (name, empty) in &responses {
        if let (Some(schema), Value::Object(empty)) = (schemas.get_mut(*name), empty) {
            complete_response(schema, empty);
        }
    }
    for name in bodies {
        let is_response = responses.iter().any(|(response, _)| response == name);
        if let Some(schema) = schemas.get_mut(name).filter(|_| !is_response) {
            complete_body(schema);
        }
    }
}

/// Replaces a pattern of the form `^(a|b)$` by an `enum`, which the attributes of fields cannot express.
pub(super) fn list_words(schema: &mut Value) {
    let words = schema["pattern"].as_str().and_then(|pattern| pattern.strip_prefix("^(")?.strip_suffix(")$"));
    let Some(words) = words.map(|words| words.split('|').map(Value::from).collect::<Vec<_>>()) else { return };
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("pattern");
        schema.insert("enum".into(), Value::Array(words));
    }
}

fn complete_response(schema: &mut Value, empty: &Map<String, Value>) {
    for (name, property) in properties(schema) {
        if !empty.get(name).is_some_and(Value::is_null) {
            without_null(property);
        }
    }
    schema["required"] = empty.keys().map(String::as_str).collect();
}

fn complete_body(schema: &mut Value) {
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

/// Returns the name of the schema of an operation's request body.
pub(super) fn of_body(operation: &Value) -> Option<String> {
    let reference = operation.pointer("/requestBody/content/application~1json/schema/$ref")?.as_str()?;
    reference.rsplit('/').next().map(str::to_owned)
}

/// Removes `null` from the allowed types of a schema.
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
        // The field's description stays next to the reference.
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
