//! Keys of users, organizations and tokens.

use super::Builder;
use crate::store::engine::Key;

/// `u/<uid>`
pub fn user(id: u64) -> Key {
    Builder::new("u").id(id).build()
}

/// `ow/<lower name>`: the names of users and organizations, which share one name space.
pub fn owner_name(name: &str) -> Key {
    Builder::new("ow").text(name).build()
}

/// `ue/<lower e-mail>`
pub fn user_email(email: &str) -> Key {
    Builder::new("ue").text(email).build()
}

/// `t/<sha256 of the token>`
pub fn token(hash: &[u8; 32]) -> Key {
    Builder::new("t").raw(hash).build()
}

/// Returns the prefix of `t/`.
pub fn tokens() -> Key {
    Builder::new("t").build()
}

/// `tu/<uid>/<tid>`
pub fn user_token(user: u64, token: u64) -> Key {
    Builder::new("tu").id(user).id(token).build()
}

/// Returns the prefix of `tu/<uid>/`.
pub fn user_tokens(user: u64) -> Key {
    Builder::new("tu").id(user).build()
}

/// `o/<oid>`
pub fn org(id: u64) -> Key {
    Builder::new("o").id(id).build()
}

/// Returns the prefix of `o/`.
pub fn orgs() -> Key {
    Builder::new("o").build()
}

/// Returns the prefix of `u/`.
pub fn users() -> Key {
    Builder::new("u").build()
}

/// Returns the prefix of `ow/`: users and organizations by name.
pub fn owner_names() -> Key {
    Builder::new("ow").build()
}

/// `om/<oid>/<uid>`
pub fn org_member(org: u64, user: u64) -> Key {
    Builder::new("om").id(org).id(user).build()
}

/// Returns the prefix of `om/<oid>/`.
pub fn org_members(org: u64) -> Key {
    Builder::new("om").id(org).build()
}

/// `ou/<uid>/<oid>`: the inverse index of `om`.
pub fn user_org(user: u64, org: u64) -> Key {
    Builder::new("ou").id(user).id(org).build()
}

/// Returns the prefix of `ou/<uid>/`.
pub fn user_orgs(user: u64) -> Key {
    Builder::new("ou").id(user).build()
}

/// `wr/<lower old name>` → owner: the redirect of a renamed user or organization.
pub fn owner_redirect(name: &str) -> Key {
    Builder::new("wr").text(name).build()
}
