//! `POST …/info/lfs/objects/batch`: addresses for the upload or download of objects.

use std::collections::BTreeMap;

use axum::{
    extract::{Path, Request, State},
    response::Response,
};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    JSON,
    access::{AllowedLfsRequest, Need, identify},
    body,
    failure::LfsFailure,
    json,
};
use crate::{
    http::{AppState, origin},
    model::lfs_address::LfsOperation,
    serve::Peer,
    service::lfs::{self, BatchObject, BatchOperation, ObjectProblem, ObjectState},
};

/// Most objects of a request. git-lfs sends 100.
const OBJECTS_MAX: usize = 1_000;

/// The body of a request.
#[derive(Deserialize)]
pub(in crate::http) struct BatchRequest {
    operation: String,
    #[serde(default)]
    hash_algo: Option<String>,
    #[serde(default)]
    objects: Option<Vec<RequestedObject>>,
}

/// An object as the client wrote it. A wrong type of a field concerns only this object.
#[derive(Deserialize)]
pub(in crate::http) struct RequestedObject {
    #[serde(default)]
    pub(in crate::http) oid: Value,
    #[serde(default)]
    pub(in crate::http) size: Value,
}

impl BatchRequest {
    /// Returns the objects, each with its parsed form if it is valid.
    pub(in crate::http) fn parsed(self) -> Vec<(RequestedObject, Option<BatchObject>)> {
        let with_parsed = |sent: RequestedObject| {
            let parsed = sent.parse();
            (sent, parsed)
        };
        self.objects.unwrap_or_default().into_iter().map(with_parsed).collect()
    }
}

#[derive(Serialize)]
struct BatchResponse {
    transfer: &'static str,
    hash_algo: &'static str,
    objects: Vec<ShownObject>,
}

#[derive(Serialize)]
struct ShownObject {
    oid: Value,
    size: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    authenticated: Option<bool>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    actions: BTreeMap<&'static str, ShownAction>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ShownProblem>,
}

#[derive(Serialize)]
struct ShownAction {
    href: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    header: BTreeMap<&'static str, &'static str>,
    expires_in: u64,
}

#[derive(Serialize)]
struct ShownProblem {
    code: u16,
    message: String,
}

/// Handles the request.
pub(in crate::http) async fn batch(
    State(state): State<AppState>,
    Path(repository): Path<(String, String)>,
    request: Request,
) -> Result<Response, LfsFailure> {
    let (parts, content) = request.into_parts();
    // The operation is in the body, which callers without any right must not make the daemon read.
    let client = identify(&state, &parts, &repository.0).await?;
    let readable = client.allow(&state, &parts, &repository, Need::Download).await?;
    let base = origin::base(&state, &parts.headers, parts.extensions.get::<Peer>());
    let input: BatchRequest = body(&state, &parts, content).await?;
    let (operation, allowed) = match input.operation.as_str() {
        "download" => (BatchOperation::Download, readable),
        "upload" => (BatchOperation::Upload, client.allow(&state, &parts, &repository, Need::Upload).await?),
        _ => return Err(LfsFailure::unprocessable("operation must be upload or download")),
    };
    if input.hash_algo.as_deref().is_some_and(|name| !name.is_empty() && name != "sha256") {
        return Err(LfsFailure::new(StatusCode::CONFLICT, "the only hash_algo is sha256"));
    }
    let requested = input.parsed();
    if requested.len() > OBJECTS_MAX {
        let message = format!("a request has at most {OBJECTS_MAX} objects");
        return Err(LfsFailure::new(StatusCode::PAYLOAD_TOO_LARGE, message));
    }
    let valid: Vec<BatchObject> = requested.iter().filter_map(|(_, object)| *object).collect();
    let mut states = lfs::batch(&state, &allowed.found.repository, operation, &valid).await?.into_iter();
    let addresses = Addresses { state: &state, allowed: &allowed, base };
    let objects = requested.into_iter().map(|(requested, object)| match object {
        Some(object) => addresses.shown(requested, &object, states.next()),
        None => {
            requested.refused(422, "oid must be 64 lower-case hexadecimal digits, and size a number of bytes".into())
        }
    });
    let objects = objects.collect();
    Ok(json(StatusCode::OK, &BatchResponse { transfer: "basic", hash_algo: "sha256", objects }))
}

impl RequestedObject {
    fn parse(&self) -> Option<BatchObject> {
        Some(BatchObject { oid: lfs::parse_oid(self.oid.as_str()?)?, size: self.size.as_u64()? })
    }

    fn refused(self, code: u16, message: String) -> ShownObject {
        let error = Some(ShownProblem { code, message });
        ShownObject { oid: self.oid, size: self.size, authenticated: None, actions: BTreeMap::new(), error }
    }
}

/// Creates the addresses of one response.
struct Addresses<'a> {
    state: &'a AppState,
    allowed: &'a AllowedLfsRequest,
    base: String,
}

impl Addresses<'_> {
    fn shown(&self, requested: RequestedObject, object: &BatchObject, state: Option<ObjectState>) -> ShownObject {
        let actions = match state {
            Some(ObjectState::Upload) => BTreeMap::from([
                ("upload", self.action(LfsOperation::Upload, object)),
                ("verify", self.action(LfsOperation::Verify, object)),
            ]),
            Some(ObjectState::Download) => BTreeMap::from([("download", self.action(LfsOperation::Download, object))]),
            Some(ObjectState::Present) | None => BTreeMap::new(),
            Some(ObjectState::Refused(problem)) => {
                let (code, message) = shown_problem(problem);
                return requested.refused(code, message);
            }
        };
        ShownObject { oid: requested.oid, size: requested.size, authenticated: Some(true), actions, error: None }
    }

    fn action(&self, operation: LfsOperation, object: &BatchObject) -> ShownAction {
        let Self { state, allowed, base } = self;
        let query = lfs::sign(state, &allowed.identity, allowed.found.repository.id, operation, object);
        let (oid, path) = (hex::encode(object.oid), allowed.found.path());
        let (end, header) = match operation {
            // The oid is in the body, too, but the address is for this object only.
            LfsOperation::Verify => (format!("verify?oid={oid}&{query}"), BTreeMap::from([("Accept", JSON)])),
            LfsOperation::Download | LfsOperation::Upload => (format!("objects/{oid}?{query}"), BTreeMap::new()),
        };
        let expires_in = state.config.lfs.address.as_secs();
        ShownAction { href: format!("{base}/{path}.git/info/lfs/{end}"), header, expires_in }
    }
}

fn shown_problem(problem: ObjectProblem) -> (u16, String) {
    match problem {
        ObjectProblem::Missing => (404, "the object does not exist".into()),
        ObjectProblem::Lost => (410, "the bytes of the object were lost; push it again".into()),
        ObjectProblem::OtherSize { size } => (422, format!("the object has {size} bytes")),
        ObjectProblem::TooLarge { limit } => (422, format!("an object has at most {limit} bytes")),
        ObjectProblem::Quota { limit } => {
            (507, format!("the repositories of an owner may have at most {limit} bytes of LFS objects"))
        }
    }
}
