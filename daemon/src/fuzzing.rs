//! Checks that must hold for every input of a parser.
//!
//! Each check takes arbitrary bytes and panics if a property does not hold. The fuzz targets in `daemon/fuzz`
//! call the checks, and so does a test that runs them with the seeds and some thousand mutations of the seeds.

mod git;
mod hooks;
mod lfs;
mod path;
mod signatures;
mod ssh_command;
mod ssh_key;

use std::fmt::Debug;

pub use self::{
    git::{fetch_request, packed_refs, pkt_line, push_commands, ref_name, source_refs},
    hooks::{branch_filter, hook_config, media_type},
    lfs::lfs_address,
    path::path,
    signatures::{gpg_key, object_signature},
    ssh_command::ssh_command,
    ssh_key::ssh_key,
};
pub use crate::{
    git::fuzzing::{pack, pack_delta},
    http::fuzzing::{authorization, conditional_headers, host, lfs_batch, list_query, rest_json},
    webhook::fuzzing::receiver_response,
};

use farrier_proto::results::{
    CreateArtifactRequest, DeleteArtifactRequest, FinalizeArtifactRequest, GetSignedArtifactUrlRequest,
    ListArtifactsRequest,
};
use http::HeaderValue;
use percent_encoding::percent_decode_str;
use prost::Message;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    clock::Millis,
    config::{Config, DefaultPaths, file},
    http::artifact::{
        block_list, disposition,
        range::{self, RequestedRange},
        twirp,
    },
    model::{
        runtime_token::Claims,
        secret::SigningKey,
        signed_url::{Grant, Operation},
    },
};

/// A check. Panics if a property does not hold for `input`.
pub type Check = fn(input: &[u8]);

/// All checks with the names of their fuzz targets.
pub const CHECKS: [(&str, Check); 32] = [
    ("signed_url", signed_url),
    ("block_list", block_list),
    ("twirp_json", twirp_json),
    ("range", range),
    ("disposition", disposition),
    ("config", config),
    ("runtime_token", runtime_token),
    ("pkt_line", pkt_line),
    ("fetch_request", fetch_request),
    ("ref_name", ref_name),
    ("push_commands", push_commands),
    ("path", path),
    ("twirp_protobuf", twirp_protobuf),
    ("source_refs", source_refs),
    ("packed_refs", packed_refs),
    ("receiver_response", receiver_response),
    ("branch_filter", branch_filter),
    ("hook_config", hook_config),
    ("media_type", media_type),
    ("list_query", list_query),
    ("authorization", authorization),
    ("conditional_headers", conditional_headers),
    ("host", host),
    ("rest_json", rest_json),
    ("ssh_command", ssh_command),
    ("ssh_key", ssh_key),
    ("gpg_key", gpg_key),
    ("object_signature", object_signature),
    ("lfs_address", lfs_address),
    ("lfs_batch", lfs_batch),
    ("pack", pack),
    ("pack_delta", pack_delta),
];

/// The current time in all checks, milliseconds since the epoch.
const NOW_MS: Millis = 1_764_000_000_000;

/// The grants whose URLs are signed with the key of [`signed_url`]. The seeds contain these URLs.
const GRANTS: [Grant; 2] = [
    Grant { operation: Operation::Write, artifact: 12, generation: 3, expires_secs: 1_764_000_060, issued_to: None },
    Grant { operation: Operation::Read, artifact: 7, generation: 1, expires_secs: 99_999_999_999, issued_to: None },
];

/// Checks signed URLs: an accepted URL grants exactly what was signed.
pub fn signed_url(input: &[u8]) {
    let key = SigningKey::derive(b"fuzzing", "signed-url");
    let Ok(text) = std::str::from_utf8(input) else { return };
    let (path, query) = text.split_once('?').unwrap_or((text, ""));
    let mut segments = path.split('/').skip(2);
    let (artifact, generation) = (segments.next().unwrap_or_default(), segments.next().unwrap_or_default());
    for operation in [Operation::Read, Operation::Write] {
        let Ok(grant) = Grant::verify(&key, operation, artifact, generation, query, NOW_MS) else { continue };
        assert!(GRANTS.contains(&grant), "{text:?} grants {grant:?}, which was not signed");
        assert_eq!(grant.operation, operation, "{text:?}");
        assert_eq!((grant.artifact.to_string(), grant.generation.to_string()), (artifact.into(), generation.into()));
    }
}

/// Returns the valid URLs for [`signed_url`].
pub fn valid_signed_urls() -> Vec<String> {
    let key = SigningKey::derive(b"fuzzing", "signed-url");
    GRANTS.iter().map(|grant| grant.path_and_query(&key, "archive.zip")).collect()
}

/// Checks block lists: a parsed list parses to the same list when it is written again.
pub fn block_list(input: &[u8]) {
    let Ok(ids) = block_list::block_ids(input) else { return };
    assert!(ids.len() * "<Latest/>".len() <= input.len(), "more ids than elements fit");
    let mut written = "<BlockList>".to_owned();
    for id in &ids {
        written.extend(["<Latest>", &in_xml(id), "</Latest>"]);
    }
    written += "</BlockList>";
    assert_eq!(block_list::block_ids(written.as_bytes()).as_ref(), Ok(&ids), "{written}");
}

/// Escapes all characters that have a meaning in XML or that XML parsers normalize.
fn in_xml(text: &str) -> String {
    let escape = |c: char| match c {
        '<' | '>' | '&' | '"' | '\'' | '\r' | '\n' | '\t' => format!("&#{};", u32::from(c)),
        c => c.into(),
    };
    text.chars().map(escape).collect()
}

/// Checks JSON messages of every type: a parsed message survives encoding and decoding in JSON and protobuf.
pub fn twirp_json(input: &[u8]) {
    message::<CreateArtifactRequest>(input);
    message::<FinalizeArtifactRequest>(input);
    message::<ListArtifactsRequest>(input);
    message::<GetSignedArtifactUrlRequest>(input);
    message::<DeleteArtifactRequest>(input);
}

fn message<M: Message + Default + PartialEq + Debug + Serialize + DeserializeOwned>(input: &[u8]) {
    let Ok(message) = twirp::read_json::<M>(input) else { return };
    assert!(input.trim_ascii_start().starts_with(b"{"), "only an object is a message");
    let json = serde_json::to_vec(&message).expect("messages are plain data");
    assert_eq!(twirp::read_json::<M>(&json).as_ref(), Ok(&message), "{}", String::from_utf8_lossy(&json));
    assert_eq!(M::decode(message.encode_to_vec().as_slice()).as_ref(), Ok(&message));
}

/// Checks protobuf messages of every type: a decoded message survives encoding and decoding.
pub fn twirp_protobuf(input: &[u8]) {
    protobuf::<CreateArtifactRequest>(input);
    protobuf::<FinalizeArtifactRequest>(input);
    protobuf::<ListArtifactsRequest>(input);
    protobuf::<GetSignedArtifactUrlRequest>(input);
    protobuf::<DeleteArtifactRequest>(input);
}

fn protobuf<M: Message + Default + PartialEq + Debug>(input: &[u8]) {
    let Ok(message) = M::decode(input) else { return };
    let written = message.encode_to_vec();
    assert_eq!(M::decode(written.as_slice()).as_ref(), Ok(&message), "{}", input.escape_ascii());
}

/// Checks range headers. The first eight bytes are the size of the content; the parsed range is within it.
pub fn range(input: &[u8]) {
    let Some((size, header)) = input.split_first_chunk() else { return };
    let size = u64::from_le_bytes(*size);
    let Ok(header) = std::str::from_utf8(header) else { return };
    match range::parse(header, size) {
        RequestedRange::Whole | RequestedRange::Unsatisfiable => {}
        RequestedRange::Part(part) => {
            assert!(part.start < part.end && part.end <= size, "{header:?} of {size}: {part:?}");
            let plain = format!("bytes={}-{}", part.start, part.end - 1);
            assert_eq!(range::parse(&plain, size), RequestedRange::Part(part), "{header:?} of {size}");
        }
    }
}

/// Checks file names in `Content-Disposition`: both forms decode to the name, and the forms contain only safe
/// characters.
pub fn disposition(input: &[u8]) {
    let Ok(name) = std::str::from_utf8(input) else { return };
    let header = disposition::attachment(name);
    assert!(HeaderValue::from_str(&header).is_ok(), "{header:?} is not a valid header");
    let (plain, extended) = header
        .strip_prefix("attachment; filename=\"")
        .and_then(|rest| rest.split_once("\"; filename*=UTF-8''"))
        .expect("two forms");
    for form in [plain, extended] {
        let safe = form.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte));
        assert!(safe, "{form:?} could be read as something else");
        assert_eq!(percent_decode_str(form).decode_utf8().as_deref(), Ok(name));
    }
}

/// Checks configuration files: an accepted configuration is within the limits, and applying the file again
/// changes nothing.
pub fn config(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let mut config = Config::defaults(&DefaultPaths::from_env(|_| Ok("/home/u".into())));
    if let Err(problems) = file::apply(text, &mut config) {
        assert!(!problems.is_empty(), "rejected without a problem: {text:?}");
        assert!(problems.iter().all(|problem| !problem.reason.is_empty()), "{problems:?}");
        return;
    }
    assert!(config.data_dir.is_absolute() && config.socket.path.is_absolute(), "{text:?}");
    assert!(config.server.max_connections > 0 && config.artifacts.max_uploads > 0, "{text:?}");
    for base in [&config.server.root_url, &config.artifacts.base_url].into_iter().flatten() {
        assert!(base.host().is_some() && base.query().is_none() && base.password().is_none(), "{text:?}");
    }
    let mut again = config.clone();
    assert_eq!(file::apply(text, &mut again), Ok(()), "{text:?}");
    assert_eq!(again, config, "{text:?}");
}

/// Checks runtime tokens: an accepted token has exactly the claims that were signed.
pub fn runtime_token(input: &[u8]) {
    let Ok(token) = std::str::from_utf8(input) else { return };
    let key = SigningKey::derive(b"fuzzing", "runtime-token");
    if let Some(claims) = Claims::verify(token, &key, NOW_MS) {
        assert_eq!(claims, valid_claims(), "{token:?}");
    }
    let other = SigningKey::derive(b"fuzzing", "signed-url");
    assert_eq!(Claims::verify(token, &other, NOW_MS), None, "another key never fits");
}

/// Returns the valid token for [`runtime_token`].
pub fn valid_runtime_token() -> String {
    valid_claims().sign(&SigningKey::derive(b"fuzzing", "runtime-token"))
}

fn valid_claims() -> Claims {
    Claims::new(21, 49, NOW_MS, NOW_MS / 1_000 + 60, "a".into())
}
