//! Keys of mirrors.

use super::Builder;
use crate::store::engine::{Key, Range};

/// `mp/<rid>/<name>`: a push mirror, or with an empty name the source of a pull mirror.
pub fn mirror_remote(repository: u64, name: &str) -> Key {
    Builder::new("mp").id(repository).exact(name).build()
}

/// Returns the prefix of `mp/<rid>/`.
pub fn mirror_remotes_of(repository: u64) -> Key {
    Builder::new("mp").id(repository).build()
}

/// Returns the prefix of `mp/`: the remotes of all mirrors.
pub fn mirror_remotes() -> Key {
    Builder::new("mp").build()
}

/// `mq/<due>/<rid>/<name>`: mirrors by the time of their next run.
pub fn mirror_due(due_ms: i64, repository: u64, name: &str) -> Key {
    Builder::new("mq").time(due_ms).id(repository).exact(name).build()
}

/// Returns the range of `mq/`.
pub fn mirrors_due() -> Range {
    Range::prefix(Builder::new("mq").build())
}

/// Returns the repository and the name in a key of `mq/`.
pub fn mirror_due_parts(key: &[u8]) -> Option<(u64, &str)> {
    let (repository, name) = key.get(3 + 8..)?.split_first_chunk::<8>()?;
    Some((u64::from_be_bytes(*repository), std::str::from_utf8(name.strip_suffix(b"\0")?).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_due_mirror_are_read_from_its_key() {
        for (due_ms, name) in [(-5, ""), (7, "remote_mirror_a")] {
            assert_eq!(mirror_due_parts(&mirror_due(due_ms, 9, name)), Some((9, name)));
            assert_eq!(crate::store::keys::leading_time(&mirror_due(due_ms, 9, name)), Some(due_ms));
        }
        assert_eq!(mirror_due_parts(b"mq\0short"), None);
    }
}
