//! Keys of starred and watched repositories.

use farrier_proto::store::Visibility;

use super::Builder;
use crate::store::{engine::Key, interests::InterestKind};

/// `su/<uid>/<kind>/<rid>`
pub fn interest(user: u64, kind: InterestKind, repository: u64) -> Key {
    Builder::new("su").id(user).raw(&[kind as u8]).id(repository).build()
}

/// Returns the prefix of `su/<uid>/<kind>/`.
pub fn interests_of_kind(user: u64, kind: InterestKind) -> Key {
    Builder::new("su").id(user).raw(&[kind as u8]).build()
}

/// Returns the prefix of `su/<uid>/`.
pub fn interests(user: u64) -> Key {
    Builder::new("su").id(user).build()
}

/// `st/<rid>/<kind>/<class>/<uid>`: the accounts that starred or watch a repository, by their visibility.
pub fn interested(repository: u64, kind: InterestKind, class: Visibility, user: u64) -> Key {
    let class = u8::try_from(i32::from(class)).unwrap_or(u8::MAX);
    Builder::new("st").id(repository).raw(&[kind as u8, class]).id(user).build()
}

/// Returns the prefix of `st/<rid>/<kind>/<class>/`.
pub fn interested_of_class(repository: u64, kind: InterestKind, class: Visibility) -> Key {
    let class = u8::try_from(i32::from(class)).unwrap_or(u8::MAX);
    Builder::new("st").id(repository).raw(&[kind as u8, class]).build()
}

/// Returns the prefix of `st/<rid>/`.
pub fn all_interested(repository: u64) -> Key {
    Builder::new("st").id(repository).build()
}

/// Returns the kind and the repository in a key of `su`.
pub fn interest_parts(key: &[u8]) -> Option<(InterestKind, u64)> {
    let (rest, repository) = key.split_last_chunk::<8>()?;
    Some((InterestKind::of_byte(*rest.last()?)?, u64::from_be_bytes(*repository)))
}

/// Returns the key in `su` for a key of `st`.
pub fn interest_of_interested(key: &[u8]) -> Option<Key> {
    let (rest, user) = key.split_last_chunk::<8>()?;
    let [kind, _] = *rest.last_chunk::<2>()?;
    Some(interest(u64::from_be_bytes(*user), InterestKind::of_byte(kind)?, super::first_id(key)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_keys_of_an_interest_refer_to_each_other() {
        for kind in InterestKind::ALL {
            assert_eq!(interest_parts(&interest(3, kind, 7)), Some((kind, 7)));
            let inverse = interested(7, kind, Visibility::Private, 3);
            assert_eq!(interest_of_interested(&inverse), Some(interest(3, kind, 7)));
        }
    }
}
