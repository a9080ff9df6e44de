//! Requests about the SSH keys and OpenPGP keys of a user.

use farrier_common::{
    api::{CreateKey, GpgKey, PublicKey},
    client::{Client, ClientError, Pages},
};
use serde::de::DeserializeOwned;

use super::{Answer, Request};

/// A request about keys. `is_own`: whether the user is the caller. Only administrators change the keys of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyRequest {
    /// SSH keys and OpenPGP keys.
    List,
    AddSsh {
        is_own: bool,
        key: Box<CreateKey>,
    },
    /// `title` is for messages only.
    DeleteSsh {
        is_own: bool,
        id: i64,
        title: String,
    },
    /// Deletes an OpenPGP key of the caller. `key` is for messages only.
    DeleteGpg {
        id: i64,
        key: String,
    },
}

impl KeyRequest {
    /// Returns whether it changes something on the daemon.
    pub(super) fn changes(&self) -> bool {
        *self != Self::List
    }

    /// Describes the request, to follow "while" or "could not".
    pub(super) fn doing(&self, user: &str) -> String {
        match self {
            Self::List => format!("listing keys of {user}"),
            Self::AddSsh { key, .. } => format!("adding SSH key {} to {user}", key.title),
            Self::DeleteSsh { title, .. } => format!("deleting SSH key {title} of {user}"),
            Self::DeleteGpg { key, .. } => format!("deleting OpenPGP key {key} of {user}"),
        }
    }

    /// Describes the result of a change.
    pub(crate) fn done(&self, user: &str) -> String {
        match self {
            Self::List => String::new(),
            Self::AddSsh { key, .. } => format!("SSH key {} added to {user}", key.title),
            Self::DeleteSsh { title, .. } => format!("SSH key {title} of {user} deleted"),
            Self::DeleteGpg { key, .. } => format!("OpenPGP key {key} of {user} deleted"),
        }
    }
}

/// Handles a request.
pub(super) async fn answer(client: &Client, request: Request) -> Result<Answer, ClientError> {
    let Request::AccountKeys(user, request) = request else { return Ok(Answer::Done) };
    let managed = |is_own: bool| (!is_own).then_some(user.as_str());
    match request {
        KeyRequest::List => {
            let ssh = all(client.ssh_keys(Some(user.as_str())), |key: &PublicKey| key.id).await?;
            let gpg = all(client.gpg_keys(Some(&user)), |key: &GpgKey| key.id).await?;
            return Ok(Answer::AccountKeys(ssh, gpg));
        }
        KeyRequest::AddSsh { is_own, key } => drop(client.add_ssh_key(managed(is_own), &key).await?),
        KeyRequest::DeleteSsh { is_own, id, .. } => client.delete_ssh_key(managed(is_own), id).await?,
        KeyRequest::DeleteGpg { id, .. } => client.delete_gpg_key(id).await?,
    }
    Ok(Answer::Done)
}

/// Reads all pages of a short list.
async fn all<T: DeserializeOwned>(mut pages: Pages<'_>, id: impl Fn(&T) -> i64) -> Result<Vec<T>, ClientError> {
    let mut found = Vec::new();
    while let Some(page) = pages.next(|page: Vec<T>| (0, page), &id).await? {
        found.extend(page);
    }
    Ok(found)
}
