//! Keys of cache entries: which keys are valid, and which entries a lookup tries.

/// Longest key, in characters. The limit of GitHub.
const KEY_MAX_CHARS: usize = 512;
/// Longest version, in bytes. Clients send a hash or a short text.
const VERSION_MAX_BYTES: usize = 512;
/// Most restore keys of a lookup. The limit of GitHub's client.
const RESTORE_KEYS_MAX: usize = 10;

/// Why a key, a version or a list of restore keys is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The key is empty or too long.
    #[error("must have 1 to {KEY_MAX_CHARS} characters")]
    Length,
    /// The key has a comma, which separates keys in version 1 of the protocol, or a control character.
    #[error("must not contain a comma or a control character")]
    Character,
    /// The version is empty or too long.
    #[error("must have 1 to {VERSION_MAX_BYTES} bytes")]
    Version,
    /// The lookup has too many restore keys.
    #[error("at most {RESTORE_KEYS_MAX} restore keys are allowed")]
    RestoreKeys,
}

/// Checks the key of an entry or of a lookup.
pub fn check_key(key: &str) -> Result<(), KeyError> {
    if key.is_empty() || key.chars().count() > KEY_MAX_CHARS {
        return Err(KeyError::Length);
    }
    if key.chars().any(|c| c == ',' || c.is_control()) { Err(KeyError::Character) } else { Ok(()) }
}

/// Checks the version of an entry or of a lookup.
pub fn check_version(version: &str) -> Result<(), KeyError> {
    if version.is_empty() || version.len() > VERSION_MAX_BYTES { Err(KeyError::Version) } else { Ok(()) }
}

/// One step of a lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// The entry with this key.
    Exact(String),
    /// The newest entry whose key begins with this text.
    Prefix(String),
}

/// How a lookup uses its first key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyUse {
    /// As a prefix only if there are restore keys. Clients of version 2 that send no restore keys would otherwise get
    /// the content of another key, and clients that want a prefix repeat the key as a restore key.
    PrefixWithRestoreKeys,
    /// Always as a prefix, too.
    Prefix,
}

/// Returns the steps of a lookup in their order: each key exactly, then as a prefix. Empty restore keys are skipped.
/// The first step that finds an entry ends the lookup in a ref.
pub fn probes(key: &str, restore_keys: &[String], key_use: KeyUse) -> Result<Vec<Probe>, KeyError> {
    check_key(key)?;
    let restore_keys: Vec<&str> = restore_keys.iter().map(String::as_str).filter(|key| !key.is_empty()).collect();
    if restore_keys.len() > RESTORE_KEYS_MAX {
        return Err(KeyError::RestoreKeys);
    }
    let mut probes = vec![Probe::Exact(key.to_owned())];
    if key_use == KeyUse::Prefix || !restore_keys.is_empty() {
        probes.push(Probe::Prefix(key.to_owned()));
    }
    for restore_key in restore_keys {
        check_key(restore_key)?;
        if restore_key != key {
            probes.push(Probe::Exact(restore_key.to_owned()));
            probes.push(Probe::Prefix(restore_key.to_owned()));
        }
    }
    Ok(probes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks `probes` up in `entries`, which are sorted from the oldest to the newest.
    fn find<'e>(entries: &[&'e str], key: &str, restore_keys: &[&str], key_use: KeyUse) -> Option<&'e str> {
        let restore_keys: Vec<String> = restore_keys.iter().map(|&key| key.to_owned()).collect();
        let probes = probes(key, &restore_keys, key_use).expect("valid keys");
        probes.iter().find_map(|probe| {
            let mut newest_first = entries.iter().rev().copied();
            newest_first.find(|entry| match probe {
                Probe::Exact(key) => entry == key,
                Probe::Prefix(prefix) => entry.starts_with(prefix.as_str()),
            })
        })
    }

    #[test]
    fn exact_keys_win_over_prefixes_and_restore_keys_are_tried_in_order() {
        use KeyUse::{Prefix, PrefixWithRestoreKeys as Exact};
        let entries = ["npm-1", "npm-12", "npm-1-old", "go-1", "go-2", "npm-1-new"];
        for (key, restore_keys, key_use, found) in [
            ("npm-1", &[][..], Exact, Some("npm-1")),
            ("npm", &[][..], Exact, None),
            ("npm", &[][..], Prefix, Some("npm-1-new")),
            ("npm-1", &[][..], Prefix, Some("npm-1")),
            ("npm", &["npm"][..], Exact, Some("npm-1-new")),
            ("npm-1-", &["go-"][..], Exact, Some("npm-1-new")),
            ("rust", &["go-", "npm-"][..], Exact, Some("go-2")),
            ("rust", &["npm-12", "go-"][..], Exact, Some("npm-12")),
            ("rust", &["", "npm-1"][..], Exact, Some("npm-1")),
            ("NPM-1", &["Go-"][..], Exact, None),
            ("rust", &[""][..], Exact, None),
        ] {
            assert_eq!(find(&entries, key, restore_keys, key_use), found, "{key} {restore_keys:?} {key_use:?}");
        }
    }

    #[test]
    fn keys_of_clients_are_valid_and_others_are_refused() {
        let longest = "é".repeat(512);
        for good in ["linux-npm-44", "sccache/4/d/7/44", "a b+c%2F.", "日本", "index-#7", &longest] {
            assert_eq!(check_key(good), Ok(()), "{good}");
        }
        assert_eq!(check_key(""), Err(KeyError::Length));
        assert_eq!(check_key(&format!("{longest}x")), Err(KeyError::Length));
        for bad in ["a,b", "a\0", "a\nb", "\u{7f}"] {
            assert_eq!(check_key(bad), Err(KeyError::Character), "{bad:?}");
        }
        assert_eq!(check_version("sccache-v0.16.0"), Ok(()));
        assert_eq!(
            (check_version(""), check_version(&"v".repeat(513))),
            (Err(KeyError::Version), Err(KeyError::Version))
        );
    }

    #[test]
    fn a_lookup_has_at_most_ten_restore_keys() {
        let keys = |count: usize| (0..count).map(|n| format!("k{n}")).collect::<Vec<_>>();
        assert_eq!(probes("k", &keys(10), KeyUse::Prefix).map(|probes| probes.len()), Ok(22));
        assert_eq!(probes("k", &keys(11), KeyUse::Prefix), Err(KeyError::RestoreKeys));
        assert_eq!(probes("k", &["a,b".to_owned()], KeyUse::Prefix), Err(KeyError::Character));
    }
}
