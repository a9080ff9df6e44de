//! A socket that this user may not open: whose it is, and what opens it.
//!
//! Looks at the file system and at the list of groups, and changes neither.

use std::{os::unix::fs::MetadataExt as _, path::Path};

/// What to say of a path that is refused: the group that may use it and how to join it.
pub(crate) fn advice(path: &Path, user: Option<&str>) -> Option<String> {
    let groups = std::fs::read_to_string("/etc/group").ok()?;
    // A directory above it may be closed, too; what can be seen of it says who may enter.
    let (place, gid) = path.ancestors().find_map(|place| Some((place, place.metadata().ok()?.gid())))?;
    let group = name(&groups, gid)?;
    let user = user.unwrap_or("USER");
    Some(format!("{} belongs to group {group}: `usermod -aG {group} {user}`, then sign in again", place.display()))
}

/// The name of a group in the list of groups.
fn name(groups: &str, gid: u32) -> Option<&str> {
    groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(gid)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_named_by_its_number() {
        let groups = "root:x:0:\nfarrier:x:996:a,b\nodd\nfarriers:x:9960:";
        assert_eq!((name(groups, 996), name(groups, 0), name(groups, 7)), (Some("farrier"), Some("root"), None));
    }

    #[test]
    fn what_cannot_be_seen_is_asked_of_what_is_above_it() {
        let dir = tempfile::tempdir().unwrap();
        let said = advice(&dir.path().join("not/there.sock"), Some("ops")).unwrap();
        assert!(said.starts_with(&dir.path().display().to_string()) && said.contains(" ops`"), "{said}");
    }
}
