//! `farrier key` and `farrier repo deploy-key`: lists, adds and deletes SSH keys.

use std::{io::Read as _, path::Path};

use farrier_common::{
    api::{CreateKey, DeployKey, PublicKey},
    client::{Client, RepositoryPath},
};
use serde::Serialize;

use super::{confirm, list};
use crate::{
    args::{self, KeyFile},
    blocking,
    exit::Failure,
    output::{Output, Table, time},
};

/// Longest text of a key. The daemon refuses longer ones.
const TEXT_MAX_BYTES: u64 = 16 << 10;

#[derive(Serialize)]
struct Keys<T> {
    total_count: usize,
    keys: Vec<T>,
}

pub(super) async fn run(command: args::SshKey, client: &Client, output: &Output) -> Result<(), Failure> {
    match command {
        args::SshKey::List { user, limit } => {
            let pages = client.ssh_keys(user.as_deref());
            let all = list::first(limit.items(), pages, |page: Vec<PublicKey>| page, |key| key.id).await;
            let all = all.map_err(Failure::call("listing keys"))?;
            list::show(output, all, |key| key.id, table, |total_count, keys| Keys { total_count, keys })
        }
        args::SshKey::Add { key, user } => {
            let request = request(key, false).await?;
            let doing = format!("adding key {}", request.title);
            let added = client.add_ssh_key(user.as_deref(), &request).await.map_err(Failure::call(doing))?;
            output.object(&added, &added.id.to_string(), || format!("Key {} added: {}", added.id, added.fingerprint))
        }
        args::SshKey::Delete { key, user, yes } => delete(&key, user.as_deref(), yes, client, output).await,
    }
}

async fn delete(key: &str, user: Option<&str>, yes: bool, client: &Client, output: &Output) -> Result<(), Failure> {
    let pages = client.ssh_keys(user);
    let all = list::collect(pages, |page: Vec<PublicKey>| page, |key| key.id).await;
    let all = all.map_err(Failure::call("listing keys"))?;
    let found = named(&all, key, |key| (key.id, &key.title))?;
    confirm::deletion(&format!("Key {} {}", found.title, found.fingerprint), &found.title, yes).await?;
    let doing = format!("deleting key {}", found.title);
    client.delete_ssh_key(user, found.id).await.map_err(Failure::call(doing))?;
    deleted(found.id, &found.title, output)
}

pub(super) async fn run_deploy(command: args::DeployKey, client: &Client, output: &Output) -> Result<(), Failure> {
    match command {
        args::DeployKey::List { repo, limit } => {
            let pages = client.deploy_keys(&repo);
            let all = list::first(limit.items(), pages, |page: Vec<DeployKey>| page, |key| key.id).await;
            let all = all.map_err(Failure::call(format!("listing deploy keys of {repo}")))?;
            list::show(output, all, |key| key.id, deploy_table, |total_count, keys| Keys { total_count, keys })
        }
        args::DeployKey::Add { repo, key, write } => {
            let request = request(key, !write).await?;
            let doing = format!("adding deploy key {} to {repo}", request.title);
            let added = client.add_deploy_key(&repo, &request).await.map_err(Failure::call(doing))?;
            let access = access(&added);
            output.object(&added, &added.id.to_string(), || {
                format!("Deploy key {} added to {repo}, {access}: {}", added.id, added.fingerprint)
            })
        }
        args::DeployKey::Delete { repo, key, yes } => delete_deploy_key(&repo, &key, yes, client, output).await,
    }
}

async fn delete_deploy_key(
    repo: &RepositoryPath,
    key: &str,
    yes: bool,
    client: &Client,
    output: &Output,
) -> Result<(), Failure> {
    let all = list::collect(client.deploy_keys(repo), |page: Vec<DeployKey>| page, |key| key.id).await;
    let all = all.map_err(Failure::call(format!("listing deploy keys of {repo}")))?;
    let found = named(&all, key, |key| (key.id, &key.title))?;
    let what = format!("Deploy key {} {} of {repo}", found.title, found.fingerprint);
    confirm::deletion(&what, &found.title, yes).await?;
    let doing = format!("deleting deploy key {} of {repo}", found.title);
    client.delete_deploy_key(repo, found.id).await.map_err(Failure::call(doing))?;
    deleted(found.id, &found.title, output)
}

fn deleted(id: i64, title: &str, output: &Output) -> Result<(), Failure> {
    output.object(&serde_json::json!({ "deleted": id }), &id.to_string(), || format!("Key {title} deleted"))
}

/// Returns the key with this id or, if there is none, with this title.
fn named<'a, T>(all: &'a [T], which: &str, parts: impl Fn(&T) -> (i64, &String)) -> Result<&'a T, Failure> {
    let id = which.parse::<i64>().ok();
    let by_id = all.iter().find(|key| Some(parts(key).0) == id);
    let found = by_id.or_else(|| all.iter().find(|key| parts(key).1 == which));
    found.ok_or_else(|| Failure::NotFound(format!("there is no key {which}")))
}

/// Reads the public key for a request. Refuses a private key, so that it does not leave this machine.
async fn request(args: KeyFile, read_only: bool) -> Result<CreateKey, Failure> {
    let KeyFile { file, title } = args;
    let shown = file.display().to_string();
    let key = blocking::run(move || read(&file, TEXT_MAX_BYTES, "a public key")).await?;
    if args::is_private_key(&key) {
        return Err(Failure::Usage(format!("{shown} is a private key; give the file that ends with .pub")));
    }
    let comment = || key.trim().splitn(3, ' ').nth(2).map(|comment| comment.trim().to_owned());
    let title = title.or_else(comment).filter(|title| !title.is_empty() && !title.contains('\n'));
    let title = title.ok_or_else(|| Failure::Usage(format!("{shown} has no comment; give a title with --title")))?;
    Ok(CreateKey { title, key, read_only })
}

/// Reads a text of at most `max_bytes` from a file, or with `-` from standard input. `what`: the expected text.
pub(super) fn read(file: &Path, max_bytes: u64, what: &str) -> Result<String, Failure> {
    let mut text = String::new();
    let read = if file == Path::new("-") {
        std::io::stdin().take(max_bytes + 1).read_to_string(&mut text)
    } else {
        std::fs::File::open(file).and_then(|open| open.take(max_bytes + 1).read_to_string(&mut text))
    };
    read.map_err(|source| match source.kind() {
        std::io::ErrorKind::InvalidData => Failure::Usage(format!("{} is not text; give {what}", file.display())),
        _ => Failure::io(format!("reading {}", file.display()), source),
    })?;
    if text.len() as u64 > max_bytes {
        return Err(Failure::Usage(format!("{} is too long for {what}", file.display())));
    }
    Ok(text)
}

fn table(all: &[PublicKey]) -> String {
    let mut table = Table::new(["ID", "ADDED", "LAST USED", "TITLE", "FINGERPRINT"]);
    for key in all {
        // A key that was never used has the time at which it was added.
        let used = if key.last_used_at == key.created_at { "never".to_owned() } else { time(&key.last_used_at) };
        table.row([key.id.to_string(), time(&key.created_at), used, key.title.clone(), key.fingerprint.clone()]);
    }
    table.render()
}

fn deploy_table(all: &[DeployKey]) -> String {
    let mut table = Table::new(["ID", "ADDED", "ACCESS", "TITLE", "FINGERPRINT"]);
    for key in all {
        let (added, access) = (time(&key.created_at), access(key).to_owned());
        table.row([key.id.to_string(), added, access, key.title.clone(), key.fingerprint.clone()]);
    }
    table.render()
}

fn access(key: &DeployKey) -> &'static str {
    if key.read_only { "read" } else { "write" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_by_id_before_title() {
        let all = [(7, "8".to_owned()), (8, "laptop".to_owned())];
        let found = |which| named(&all, which, |key| (key.0, &key.1)).map(|key| key.0).ok();
        assert_eq!([found("7"), found("8"), found("laptop"), found("9")], [Some(7), Some(8), Some(8), None]);
    }
}
