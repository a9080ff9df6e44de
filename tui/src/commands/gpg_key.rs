//! `farrier gpg-key`: lists, adds, verifies and deletes OpenPGP keys.

use std::path::{Path, PathBuf};

use farrier_common::{
    api::{CreateGpgKey, GpgKey, VerifyGpgKey},
    client::Client,
};
use jiff::Timestamp;
use serde::Serialize;

use super::{confirm, key, list};
use crate::{
    args::{self, AddGpgKey},
    blocking,
    exit::Failure,
    output::{Output, Table, time},
};

/// Longest text of a key or a signature. The daemon refuses longer ones.
const TEXT_MAX_BYTES: u64 = 256 << 10;

#[derive(Serialize)]
struct Keys {
    total_count: usize,
    keys: Vec<GpgKey>,
}

pub(super) async fn run(command: args::GpgKey, client: &Client, output: &Output) -> Result<(), Failure> {
    match command {
        args::GpgKey::List { user, limit } => {
            let pages = client.gpg_keys(user.as_deref());
            let all = list::first(limit.items(), pages, |page: Vec<GpgKey>| page, |key| key.id).await;
            let all = all.map_err(Failure::call("listing OpenPGP keys"))?;
            list::show(output, all, |key| key.id, table, |total_count, keys| Keys { total_count, keys })
        }
        args::GpgKey::Add(args) => {
            let shown = args.file.display().to_string();
            let request = request(args).await?;
            let added = client.add_gpg_key(&request).await;
            let added = added.map_err(Failure::call(format!("adding the OpenPGP key in {shown}")))?;
            output.object(&added, &added.id.to_string(), || format!("OpenPGP key {} added: {}", added.id, added.key_id))
        }
        args::GpgKey::Token => {
            let token = client.gpg_key_token().await.map_err(Failure::call("reading the text to sign"))?;
            output.object(&serde_json::json!({ "token": token }), &token, || token.clone())
        }
        args::GpgKey::Verify { key, signature } => {
            let armored_signature = signature_in(signature).await?;
            let found = find(&key, client).await?;
            let request = VerifyGpgKey { key_id: found.key_id.clone(), armored_signature };
            let verified = client.verify_gpg_key(&request).await;
            let verified = verified.map_err(Failure::call(format!("verifying OpenPGP key {}", found.key_id)))?;
            let text = || format!("OpenPGP key {} verified: {}", verified.id, verified.key_id);
            output.object(&verified, &verified.id.to_string(), text)
        }
        args::GpgKey::Delete { key, yes } => delete(&find(&key, client).await?, yes, client, output).await,
    }
}

async fn delete(key: &GpgKey, yes: bool, client: &Client, output: &Output) -> Result<(), Failure> {
    let GpgKey { id, key_id, .. } = key;
    confirm::deletion(&format!("OpenPGP key {key_id} {}", addresses(key)), key_id, yes).await?;
    client.delete_gpg_key(*id).await.map_err(Failure::call(format!("deleting OpenPGP key {key_id}")))?;
    let document = serde_json::json!({ "deleted": id });
    output.object(&document, &id.to_string(), || format!("OpenPGP key {key_id} deleted"))
}

/// Returns the key of the caller with this ID in the list, or with this OpenPGP ID.
async fn find(which: &str, client: &Client) -> Result<GpgKey, Failure> {
    let all = list::collect(client.gpg_keys(None), |page: Vec<GpgKey>| page, |key| key.id).await;
    let all = all.map_err(Failure::call("listing OpenPGP keys"))?;
    let found = all.into_iter().find(|key| is_named(key, which));
    found.ok_or_else(|| Failure::NotFound(format!("there is no OpenPGP key {which}")))
}

/// Returns whether `which` is the ID of the key in the list, or its OpenPGP ID.
fn is_named(key: &GpgKey, which: &str) -> bool {
    let digits = which.strip_prefix("0x").unwrap_or(which);
    key.id.to_string() == which || key.key_id.eq_ignore_ascii_case(digits)
}

/// Reads the texts for a request.
async fn request(args: AddGpgKey) -> Result<CreateGpgKey, Failure> {
    let AddGpgKey { file, signature } = args;
    if file == Path::new("-") && signature.as_deref() == Some(Path::new("-")) {
        return Err(Failure::Usage("the key and the signature cannot both be read from standard input".into()));
    }
    let armored_public_key = text_in(file, "the output of gpg --armor --export").await?;
    let armored_signature = match signature {
        Some(file) => signature_in(file).await?,
        None => String::new(),
    };
    Ok(CreateGpgKey { armored_public_key, armored_signature })
}

async fn signature_in(file: PathBuf) -> Result<String, Failure> {
    text_in(file, "the output of gpg --armor --detach-sign").await
}

/// Reads a text from a file. Refuses a private key, so that it does not leave this machine. `what`: the expected text.
async fn text_in(file: PathBuf, what: &'static str) -> Result<String, Failure> {
    let shown = file.display().to_string();
    let text = blocking::run(move || key::read(&file, TEXT_MAX_BYTES, what)).await?;
    if text.contains("PRIVATE KEY BLOCK-----") {
        return Err(Failure::Usage(format!("{shown} is a private key; give {what}")));
    }
    Ok(text)
}

fn addresses(key: &GpgKey) -> String {
    key.emails.iter().map(|address| address.email.as_str()).collect::<Vec<_>>().join(", ")
}

fn table(all: &[GpgKey]) -> String {
    let mut table = Table::new(["ID", "KEY", "CREATED", "EXPIRES", "VERIFIED", "ADDRESSES"]);
    for key in all {
        // The zero time of the Gitea API means that the key never expires.
        let never = key.expires_at.parse::<Timestamp>().is_ok_and(|at| at.as_second() <= 0);
        let expires = if never { "never".to_owned() } else { time(&key.expires_at) };
        let verified = if key.verified { "yes" } else { "no" };
        table.row([
            key.id.to_string(),
            key.key_id.clone(),
            time(&key.created_at),
            expires,
            verified.to_owned(),
            addresses(key),
        ]);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_by_its_number_and_by_its_complete_openpgp_id() {
        let key = GpgKey { id: 7, key_id: "8C1F0B2E5A7D9034".into(), ..GpgKey::default() };
        for which in ["7", "8C1F0B2E5A7D9034", "0x8c1f0b2e5a7d9034"] {
            assert!(is_named(&key, which), "{which}");
        }
        // Other keys can have the same end.
        for which in ["", "8", "0x7", "5A7D9034", "ann"] {
            assert!(!is_named(&key, which), "{which}");
        }
    }
}
