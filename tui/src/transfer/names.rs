//! Derives file names from artifact names.
//!
//! A name from the daemon is never used as a path. It is reduced to one path component that is valid on every
//! file system.

use std::path::{Path, PathBuf};

/// Longest name, bytes. Leaves room for suffixes.
const NAME_MAX_BYTES: usize = 200;

/// Returns `name` as one safe path component.
pub(crate) fn file_name(name: &str) -> String {
    let base = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let mut clean: String = base.chars().map(|c| if c.is_control() { '_' } else { c }).collect();
    let end = clean.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= NAME_MAX_BYTES).last();
    clean.truncate(end.unwrap_or(0));
    match clean.trim() {
        "" | "." | ".." => "artifact".to_owned(),
        _ => clean,
    }
}

/// Returns the name under which an artifact is saved.
pub(crate) fn saved_name(name: &str, is_zip: bool) -> String {
    let clean = file_name(name);
    let ends = clean.len() >= 4 && clean.as_bytes()[clean.len() - 4..].eq_ignore_ascii_case(b".zip");
    if is_zip && !ends { clean + ".zip" } else { clean }
}

/// Returns the name of the part file. It contains the digest, so that a download is only continued with the
/// same content.
pub(crate) fn part_name(name: &str, id: i64, digest: &str) -> String {
    let digest: String =
        digest.trim_start_matches("sha256:").chars().filter(char::is_ascii_hexdigit).take(12).collect();
    format!("{}.{id}-{digest}.part", file_name(name))
}

/// The target of `-o`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// This file.
    File(PathBuf),
    /// A file in this directory, named after the artifact.
    Below(PathBuf),
}

/// Interprets `-o`. A path is a directory if it exists as one or ends with a slash.
pub(crate) fn target(output: Option<&Path>, is_directory: impl Fn(&Path) -> bool) -> Target {
    match output {
        None => Target::Below(PathBuf::from(".")),
        Some(path) if path.as_os_str().as_encoded_bytes().ends_with(b"/") || is_directory(path) => {
            Target::Below(path.to_owned())
        }
        Some(path) => Target::File(path.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn artifact_names_are_converted_to_safe_file_names() {
        let cases = [
            ("raw.txt", "raw.txt"),
            ("日本 語.log", "日本 語.log"),
            ("../../evil.txt", "evil.txt"),
            ("..\\evil.txt", "evil.txt"),
            ("/etc/passwd", "passwd"),
            ("a/", "artifact"),
            ("..", "artifact"),
            (".", "artifact"),
            ("", "artifact"),
            ("a\nb\x1b", "a_b_"),
        ];
        for (name, file) in cases {
            assert_eq!(file_name(name), file, "{name:?}");
        }
        assert_eq!(file_name(&"é".repeat(150)).len(), NAME_MAX_BYTES);
    }

    #[test]
    fn zip_files_get_the_zip_extension() {
        assert_eq!(saved_name("dist", true), "dist.zip");
        assert_eq!(saved_name("dist.ZIP", true), "dist.ZIP");
        assert_eq!(saved_name("dist.tar", false), "dist.tar");
        assert_eq!(saved_name("ü", true), "ü.zip");
    }

    #[test]
    fn part_files_are_named_after_id_and_digest() {
        assert_eq!(part_name("a/b", 7, "sha256:0123456789abcdef"), "b.7-0123456789ab.part");
        assert_eq!(part_name("b", 7, "../x"), "b.7-.part");
    }

    #[test]
    fn the_output_option_is_a_file_or_a_directory() {
        let is_directory = |path: &Path| path == Path::new("dir");
        let target = |output: Option<&str>| target(output.map(Path::new), is_directory);
        assert_eq!(target(None), Target::Below(".".into()));
        assert_eq!(target(Some("dir")), Target::Below("dir".into()));
        assert_eq!(target(Some("new/")), Target::Below("new/".into()));
        assert_eq!(target(Some("new")), Target::File("new".into()));
    }
}
