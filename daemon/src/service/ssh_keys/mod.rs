//! Public SSH keys of accounts, deploy keys of repositories, and to whom a key belongs.
//!
//! A key belongs to one account, or it is a deploy key of any number of repositories.

mod accounts;
mod deploy;
mod lookup;

use farrier_proto::store::SshKey;

pub use self::{
    accounts::{AccountKeys, create, create_for, delete, delete_for, get, of_user, own},
    deploy::{DeployKeyFilter, DeployKeyWithContent, create_deploy_key, delete_deploy_key, deploy_key, deploy_keys},
    lookup::{DeployAccess, KeyIdentity, deploy_access, deploy_caller, deploy_key_titles, identify, used},
};
use super::Error;
use crate::model::ssh_key::{self, PublicKey};

const TITLE_MAX_CHARS: usize = 255;
const MISSING: Error = Error::NotFound { what: "the key" };

/// Returns the key in a request for a new key, or why the request is refused.
fn checked(title: &str, key: &str) -> Result<PublicKey, Error> {
    if title.trim().is_empty() {
        return Err(Error::invalid("title", "Required"));
    }
    // The title is shown in terminals, also of other people.
    if title.chars().count() > TITLE_MAX_CHARS || title.chars().any(char::is_control) {
        return Err(Error::invalid("title", format!("must have at most {TITLE_MAX_CHARS} printable characters")));
    }
    if key.trim().is_empty() {
        return Err(Error::invalid("key", "Required"));
    }
    PublicKey::parse(key).map_err(|problem| Error::invalid("key", problem.to_string()))
}

/// Returns whether a content has this fingerprint, as OpenSSH shows it.
fn has_fingerprint(row: &SshKey, fingerprint: &str) -> bool {
    ssh_key::fingerprint(&row.blob) == fingerprint.trim_end_matches('=')
}
