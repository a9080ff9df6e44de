//! Git transfers: fetches and pushes, without the protocol that carries them.
//!
//! `http` and `ssh` authenticate the caller and move bytes. This module decides who may fetch or push, starts git, and
//! completes pushes. So both protocols have the same rules, limits and events.

pub mod access;
mod failure;
pub mod fetch;
pub mod fetch_answer;
mod input;
pub mod output;
pub mod push;
pub mod refs;
pub mod shared_fetch;
mod spool;
mod stall_timer;
mod write_space;

pub(super) use self::write_space::WriteSpace;
pub use self::{
    access::{Allowed, Denied, GitService},
    failure::TransferError,
    input::{CompleteInput, FETCH_MAX_BYTES, InputError, NoInput, TransferInput, push_limit},
};

/// Returns `text`, the protocol version that a client requests, if it may be put into git's environment: it has only
/// letters, digits, `:` and `=`.
pub fn protocol_version(text: &str) -> Option<&str> {
    let word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric());
    let pair = |pair: &str| match pair.split_once('=') {
        Some((key, value)) => word(key) && word(value),
        None => word(pair),
    };
    (text.len() <= 256 && text.split(':').all(pair)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::protocol_version;

    #[test]
    fn only_valid_git_protocol_values_are_passed_to_git() {
        for good in ["version=2", "version=1", "version=2:object=sha1", "a"] {
            assert_eq!(protocol_version(good), Some(good));
        }
        for bad in ["", "version=2;rm", "version=2:", "=2", "version=", "a=b=c", "version=2 x", "version=$(id)"] {
            assert_eq!(protocol_version(bad), None, "{bad}");
        }
        assert_eq!(protocol_version(&"a".repeat(257)), None);
    }
}
