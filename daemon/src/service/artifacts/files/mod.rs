//! Artifacts of version 3 of the protocol, which consist of separately uploaded files.
//!
//! Chunks of files become blocks of the upload, each with a trailer (`trailer`). When the client sets the size of
//! the artifact, the daemon writes the files into one zip archive, which becomes the content. Downloads of a file
//! read a part of the archive.

mod assemble;
mod chunk;
mod limits;
mod read;
mod trailer;

pub use self::{
    assemble::finalize,
    chunk::{Chunk, receive},
    read::{FileLocation, StoredFile, StoredFiles, file, list_files},
};

pub(super) use self::limits::count_chunk;

/// The version of the protocol, as rows record it.
pub const VERSION: i32 = 3;

/// Returns the path of a file in the archive, from the path that the client sends: the name of the artifact, then the
/// path with slashes or backslashes. Returns `None` for paths that could leave the directory of a download.
pub fn path_in_archive(artifact: &str, item: &str) -> Option<String> {
    let path = item.replace('\\', "/");
    let path = path.strip_prefix(artifact)?.strip_prefix('/')?;
    is_path_in_archive(path).then(|| path.to_owned())
}

/// Returns whether `path` has a valid length and stays in the directory of a download.
fn is_path_in_archive(path: &str) -> bool {
    const PATH_MAX_BYTES: usize = 4_096;
    let is_plain = |part: &str| !matches!(part, "" | "." | "..") && part.chars().all(|c| !c.is_control());
    path.len() <= PATH_MAX_BYTES && path.split('/').all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_below_the_artifact_are_accepted() {
        for (item, expected) in [
            ("old/d/x.json", Some("d/x.json")),
            ("old\\d\\ä b.txt", Some("d/ä b.txt")),
            ("old/x", Some("x")),
            ("old", None),
            ("old/", None),
            ("other/x", None),
            ("oldx", None),
            ("old/../x", None),
            ("old/d/./x", None),
            ("old//x", None),
            ("old/d\\..\\x", None),
            ("old/a\nb", None),
            ("/old/x", None),
        ] {
            assert_eq!(path_in_archive("old", item).as_deref(), expected, "{item}");
        }
        assert_eq!(path_in_archive("old", &format!("old/{}", "x".repeat(5_000))), None);
    }
}
