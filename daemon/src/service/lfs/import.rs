//! Copies the LFS objects of an imported repository from its source.
//!
//! An object is requested in parts, written to a marked file and hashed on the way. It is recorded like an upload,
//! while the row of the repository says that the import is running. An import that fails removes the objects with the
//! row, or they are removed with the repository. Mirrors copy the objects of new commits in the same way.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use farrier_proto::store::{AssetMark, LfsObject, Repository, RequestBody};
use http::{HeaderName, HeaderValue, Method, header};
use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::{
    BatchObject, MISSING_REPOSITORY, is_intact, largest, parse_oid, quota_exceeded, quota_left, rows,
    sink::ObjectSink,
    upload::{NewLfsEntry, record},
};
use crate::{
    config::WebhookConfig,
    model::delivery_failure::FailureClass,
    service::{Context, Error, disk_space::DiskSpace, marked_uploads::MarkedUpload},
    store::{Tx, ids::IdKind, lfs::unreferenced::set_unreferenced, releases::assets, repositories},
    webhook::{Client, Header, Limits, Link, ReceiverResponse, WebhookRequest, tls::Trust},
};

/// The content type of requests and responses.
const JSON: &str = "application/vnd.git-lfs+json";
/// Objects in one request.
const OBJECTS_AT_ONCE: usize = 100;
/// Bytes of one request for an object. They are held in memory.
const PART_BYTES: u64 = 8 << 20;
/// Largest response to a batch request.
const BATCH_MAX_BYTES: usize = 4 << 20;
/// Time limit of one request.
const TIMEOUT: Duration = Duration::from_secs(300);

static ACCEPT: [HeaderName; 1] = [header::ACCEPT];
static AUTHORIZATION: [HeaderName; 1] = [header::AUTHORIZATION];
static CONTENT_TYPE: [HeaderName; 1] = [header::CONTENT_TYPE];
static RANGE: [HeaderName; 1] = [header::RANGE];

/// The LFS service of the source of an import.
#[derive(Clone)]
pub struct LfsSource {
    /// The address below which `objects/batch` is.
    pub endpoint: Url,
    /// The value of `Authorization` for it.
    pub authorization: Option<HeaderValue>,
}

/// What was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportedObjects {
    /// Objects that the repository has now.
    pub copied: u64,
    /// Objects that the source does not have.
    pub missing: u64,
}

#[derive(Deserialize)]
struct BatchAnswer {
    #[serde(default)]
    objects: Vec<AnsweredObject>,
}

#[derive(Deserialize)]
struct AnsweredObject {
    oid: String,
    #[serde(default)]
    actions: BTreeMap<String, AnsweredAction>,
}

#[derive(Deserialize)]
struct AnsweredAction {
    href: String,
    #[serde(default)]
    header: BTreeMap<String, String>,
}

/// Copies `objects` to a repository. Connects only to hosts in `migration.allowed_hosts`.
pub async fn import(
    context: &Context,
    repository: u64,
    added_by: u64,
    source: &LfsSource,
    objects: &[BatchObject],
) -> Result<ImportedObjects, Error> {
    let mut importer = Importer::new(context, repository, added_by, source);
    let mut imported = ImportedObjects::default();
    for some in objects.chunks(OBJECTS_AT_ONCE) {
        let mut wanted = Vec::new();
        for object in some {
            if keep(context, repository, &object.oid).await? {
                imported.copied += 1;
            } else {
                wanted.push(*object);
            }
        }
        if wanted.is_empty() {
            continue;
        }
        for (object, action) in importer.batch(&wanted).await? {
            match action {
                Some(action) => {
                    importer.copy(&object, &action).await?;
                    imported.copied += 1;
                }
                None => imported.missing += 1,
            }
        }
    }
    Ok(imported)
}

/// Removes the objects of a repository whose import failed. Their bytes are removed a day later.
///
/// No client has ever seen them: nothing but the import could add objects to the repository.
pub async fn forget_import(context: &Context, repository: u64) -> Result<(), Error> {
    let now = context.now_ms();
    while !context.store.write(async |tx: Tx| rows::delete_some(&tx, repository, OBJECTS_AT_ONCE, now).await).await? {}
    Ok(())
}

struct Importer<'a> {
    context: &'a Context,
    repository: u64,
    added_by: u64,
    source: &'a LfsSource,
    client: Client,
    link: Option<Link>,
}

impl<'a> Importer<'a> {
    fn new(context: &'a Context, repository: u64, added_by: u64, source: &'a LfsSource) -> Self {
        let allowed_hosts = context.config.migration.allowed_hosts.clone();
        // The proxy is for hooks; git connects directly, too.
        let config = WebhookConfig { allowed_hosts, proxy_url: None, ..context.config.webhook.clone() };
        Self { context, repository, added_by, source, client: Client::new(&config), link: None }
    }

    /// Asks for the addresses of objects. `None`: the source does not have the object.
    async fn batch(&mut self, objects: &[BatchObject]) -> Result<Vec<(BatchObject, Option<AnsweredAction>)>, Error> {
        let listed: Vec<_> =
            objects.iter().map(|object| json!({ "oid": hex::encode(object.oid), "size": object.size })).collect();
        let body = json!({ "operation": "download", "transfers": ["basic"], "objects": listed }).to_string();
        let mut url = self.source.endpoint.clone();
        url.path_segments_mut()
            .map_err(|()| failed("its address is not valid"))?
            .pop_if_empty()
            .extend(["objects", "batch"]);
        let json = |names: &'static [HeaderName]| Header { names, value: HeaderValue::from_static(JSON) };
        let mut headers = vec![json(&ACCEPT), json(&CONTENT_TYPE)];
        headers.extend(self.source.authorization.clone().map(|value| Header { names: &AUTHORIZATION, value }));
        let request =
            WebhookRequest { method: Method::POST, url, headers, body: Bytes::from(body), kind: RequestBody::Json };
        let response = self.send(&request, BATCH_MAX_BYTES).await?;
        if response.status != 200 || response.cut {
            return Err(failed(&format!("it answered the list of objects with the status {}", response.status)));
        }
        let answer: BatchAnswer =
            serde_json::from_slice(&response.body).map_err(|_| failed("its list of objects is not valid"))?;
        let mut actions: BTreeMap<[u8; 32], AnsweredAction> = BTreeMap::new();
        for mut object in answer.objects {
            if let (Some(oid), Some(action)) = (parse_oid(&object.oid), object.actions.remove("download")) {
                actions.insert(oid, action);
            }
        }
        Ok(objects.iter().map(|object| (*object, actions.remove(&object.oid))).collect())
    }

    /// Copies one object. It is durable when this returns.
    async fn copy(&mut self, object: &BatchObject, action: &AnsweredAction) -> Result<(), Error> {
        let context = self.context;
        if object.size > largest(context) {
            return Err(Error::TooLarge { limit: largest(context) });
        }
        let read = context.store.read().await?;
        let repository = repositories::get(&read, self.repository).await?.filter(|row| !row.deleted);
        let repository: Repository = repository.ok_or(MISSING_REPOSITORY)?;
        if object.size > quota_left(context, &read, &repository).await? {
            return Err(quota_exceeded(context));
        }
        let known = rows::object(&read, &object.oid).await?;
        drop(read);
        let is_stored = match &known {
            Some(row) => is_intact(context, row).await?,
            None => false,
        };
        let entry = NewLfsEntry {
            repository: self.repository,
            oid: object.oid,
            size: object.size,
            added_by: self.added_by,
            is_import: true,
        };
        // Also if the pool has the object: only bytes that were received give a repository the right to it.
        if is_stored {
            self.receive(object, action, ObjectSink::compared()).await?;
            return record(context, &entry, None, None).await;
        }
        let row = LfsObject {
            id: context.store.next_id(IdKind::Artifact).await?,
            file: context.store.next_id(IdKind::BlockFile).await?,
            size: object.size,
            unreferenced_ms: 0,
        };
        let space = DiskSpace::claim_for_upload(context, object.size).await?;
        let mark = AssetMark {
            repository_id: self.repository,
            since_ms: context.now_ms(),
            begun_by: Some(context.node.this_start()),
        };
        context
            .store
            .write(async |tx: Tx| {
                assets::mark(&tx, row.id, &mark);
                Ok::<_, Error>(())
            })
            .await?;
        let mut upload = MarkedUpload::new(context, row.id);
        self.receive(object, action, ObjectSink::stored(context, &row, space)).await?;
        record(context, &entry, Some(&row), known.as_ref()).await?;
        upload.recorded();
        Ok(())
    }

    async fn receive(
        &mut self,
        object: &BatchObject,
        action: &AnsweredAction,
        mut sink: ObjectSink,
    ) -> Result<(), Error> {
        let url = Url::parse(&action.href).map_err(|_| failed("the address of an object is not valid"))?;
        let mut received = 0;
        while received < object.size {
            let part = (object.size - received).min(PART_BYTES);
            let bytes = self.part(&url, action, received, part, object.size).await?;
            received += bytes.len() as u64;
            sink.write(self.context, bytes).await?;
        }
        if sink.finish().await? != object.oid {
            return Err(failed(&format!("it sent other bytes for the object {}", hex::encode(object.oid))));
        }
        Ok(())
    }

    /// Returns `length` bytes of an object from `from` on.
    async fn part(
        &mut self,
        url: &Url,
        action: &AnsweredAction,
        from: u64,
        length: u64,
        size: u64,
    ) -> Result<Bytes, Error> {
        let range = format!("bytes={from}-{}", from + length - 1);
        let value = |text: &str| HeaderValue::from_str(text).map_err(|_| failed("a header of an object is not valid"));
        let mut headers = vec![Header { names: &RANGE, value: value(&range)? }];
        for (name, text) in &action.header {
            if name.eq_ignore_ascii_case("authorization") {
                headers.push(Header { names: &AUTHORIZATION, value: value(text)? });
            }
        }
        let (method, url) = (Method::GET, url.clone());
        let request = WebhookRequest { method, url, headers, body: Bytes::new(), kind: RequestBody::Json };
        let limit = usize::try_from(length).unwrap_or(usize::MAX);
        let response = self.send(&request, limit).await?;
        let is_part = response.status == 206 || (response.status == 200 && length == size);
        if !is_part || response.cut || response.body.len() as u64 != length {
            let status = response.status;
            return Err(failed(&format!(
                "it answered the request for {length} bytes of an object with status {status}"
            )));
        }
        Ok(response.body.into())
    }

    async fn send(&mut self, request: &WebhookRequest, response_bytes: usize) -> Result<ReceiverResponse, Error> {
        let limits = Limits { timeout: TIMEOUT, response_bytes, follow_redirects: true };
        let trust = Trust::default();
        let sent = self.client.send(&mut self.link, request, &trust, limits).await;
        sent.map_err(|failure| match failure.class {
            // The reason of the client names the setting of hooks.
            FailureClass::Blocked => failed("the host is not allowed; see migration.allowed_hosts"),
            _ => failed(&failure.reason),
        })
    }
}

/// Notes that a commit that names an object of a repository follows. Returns `false` if the repository does not have
/// it.
async fn keep(context: &Context, repository: u64, oid: &[u8; 32]) -> Result<bool, Error> {
    match rows::entry(&context.store.read().await?, repository, oid).await? {
        None => return Ok(false),
        Some(entry) if entry.unreferenced_ms == 0 => return Ok(true),
        Some(_) => {}
    }
    context.store.write(async |tx: Tx| Ok(set_unreferenced(&tx, repository, oid, 0).await?)).await
}

fn failed(reason: &str) -> Error {
    Error::invalid("lfs_endpoint", format!("the LFS objects of the source cannot be copied: {reason}"))
}
