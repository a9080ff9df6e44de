//! Keys of OpenPGP keys.

use super::Builder;
use crate::store::engine::Key;

/// `gk/<uid>/<key>`: an OpenPGP key of an account.
pub fn gpg_key(account: u64, id: u64) -> Key {
    Builder::new("gk").id(account).id(id).build()
}

/// Returns the prefix of `gk/<uid>/`.
pub fn gpg_keys_of_account(account: u64) -> Key {
    Builder::new("gk").id(account).build()
}

/// `gf/<OpenPGP key ID>/<uid>` → key: the account's key with this primary key or subkey.
pub fn gpg_key_of_part(key_id: u64, account: u64) -> Key {
    Builder::new("gf").id(key_id).id(account).build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::keys;

    #[test]
    fn keys_of_an_account_are_sorted_by_id_and_parts_lead_to_the_account() {
        assert!(gpg_key(1, 2) < gpg_key(1, 10) && gpg_key(1, u64::MAX) < gpg_key(2, 0));
        assert!(gpg_key(7, 3).starts_with(&gpg_keys_of_account(7)));
        assert_eq!(keys::trailing_ids(&gpg_key_of_part(u64::MAX, 7)), Some((u64::MAX, 7)));
    }
}
