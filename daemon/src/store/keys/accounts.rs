//! Users, organisations and tokens.

use super::Builder;
use crate::store::engine::Key;

/// `u/<uid>`
pub fn user(id: u64) -> Key {
    Builder::new("u").id(id).done()
}

/// `ow/<lower name>`: the one name space of users and organisations.
pub fn owner_name(name: &str) -> Key {
    Builder::new("ow").text(name).done()
}

/// `ue/<lower e-mail>`
pub fn user_email(email: &str) -> Key {
    Builder::new("ue").text(email).done()
}

/// `t/<sha256 of the token>`
pub fn token(hash: &[u8; 32]) -> Key {
    Builder::new("t").raw(hash).done()
}

/// `tu/<uid>/<tid>`
pub fn user_token(user: u64, token: u64) -> Key {
    Builder::new("tu").id(user).id(token).done()
}

/// All of `tu/<uid>/`.
pub fn user_tokens(user: u64) -> Key {
    Builder::new("tu").id(user).done()
}

/// `o/<oid>`
pub fn org(id: u64) -> Key {
    Builder::new("o").id(id).done()
}

/// All of `o/`.
pub fn orgs() -> Key {
    Builder::new("o").done()
}

/// All of `u/`.
pub fn users() -> Key {
    Builder::new("u").done()
}

/// All of `ow/`: users and organisations by name.
pub fn owner_names() -> Key {
    Builder::new("ow").done()
}

/// `om/<oid>/<uid>`
pub fn org_member(org: u64, user: u64) -> Key {
    Builder::new("om").id(org).id(user).done()
}

/// All of `om/<oid>/`.
pub fn org_members(org: u64) -> Key {
    Builder::new("om").id(org).done()
}

/// `ou/<uid>/<oid>`: the other direction of `om`.
pub fn user_org(user: u64, org: u64) -> Key {
    Builder::new("ou").id(user).id(org).done()
}

/// All of `ou/<uid>/`.
pub fn user_orgs(user: u64) -> Key {
    Builder::new("ou").id(user).done()
}

/// `wr/<lower old name>` → owner: where a renamed user or organisation went.
pub fn owner_redirect(name: &str) -> Key {
    Builder::new("wr").text(name).done()
}
