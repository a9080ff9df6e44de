//! Explains why the user may not open a socket: who owns it, and which group can open it.
//!
//! Reads file metadata, `/etc/group` and `/etc/passwd`. Changes nothing.

use std::{os::unix::fs::MetadataExt as _, path::Path};

/// Returns the owner and the group of `path`, and the command that adds `user` to the group; `None` if the
/// group is unknown.
pub(crate) fn advice(path: &Path, user: Option<&str>) -> Option<String> {
    let groups = std::fs::read_to_string("/etc/group").ok()?;
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    // A parent directory may not be accessible either. The advice describes the nearest path whose metadata is
    // readable.
    let (nearest, metadata) = path.ancestors().find_map(|path| Some((path, path.metadata().ok()?)))?;
    let owner = name(&users, metadata.uid())
        .map_or_else(|| format!("user {}", metadata.uid()), |owner| format!("user {owner}"));
    let group = name(&groups, metadata.gid())?;
    Some(format!(
        "{} belongs to {owner}{}",
        nearest.display(),
        access_hint(metadata.mode(), group, user.unwrap_or("USER"))
    ))
}

/// The permission bits of the group.
const GROUP: u32 = 0o070;

/// Describes who may access a file with `mode` besides its owner, and how to join the group.
fn access_hint(mode: u32, group: &str, user: &str) -> String {
    if mode & GROUP == 0 {
        return " and is closed to all others".to_owned();
    }
    format!(" and group {group}: `usermod -aG {group} {user}`, then sign in again")
}

/// Returns the name for an id in the text of `/etc/group` or `/etc/passwd`.
fn name(list: &str, number: u32) -> Option<&str> {
    list.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(number)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_name_is_looked_up_by_its_id() {
        let groups = "root:x:0:\nfarrier:x:996:a,b\nodd\nfarriers:x:9960:";
        assert_eq!((name(groups, 996), name(groups, 0), name(groups, 7)), (Some("farrier"), Some("root"), None));
    }

    #[test]
    fn the_nearest_readable_ancestor_is_described() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(access_hint(0o140_600, "root", "ops"), " and is closed to all others");
        assert_eq!(access_hint(0o140_660, "g", "ops"), " and group g: `usermod -aG g ops`, then sign in again");
        let opened = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o750);
        std::fs::set_permissions(dir.path(), opened).unwrap();
        let text = advice(&dir.path().join("not/there.sock"), Some("ops")).unwrap();
        assert!(text.starts_with(&dir.path().display().to_string()) && text.contains(" ops`"), "{text}");
    }
}
