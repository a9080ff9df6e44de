//! Exports a commit as an archive, or the history as a bundle.

use super::RepositoryReader;
use crate::git::{GitError, GitProcess};

/// The file format of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchiveFormat {
    /// `git archive --format=zip`
    Zip,
    /// `git archive --format=tar`, compressed by the daemon so that the bytes do not depend on the installed
    /// git version.
    TarGz,
    /// A git bundle, which holds the history and can be cloned.
    Bundle,
}

impl ArchiveFormat {
    /// Returns the file name extension.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Zip => "zip",
            Self::TarGz => "tar.gz",
            Self::Bundle => "bundle",
        }
    }

    /// Returns the media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Zip => "application/zip",
            Self::TarGz => "application/gzip",
            Self::Bundle => "application/x-git-bundle",
        }
    }

    /// Splits a file name such as `main.tar.gz` into the stem and the format.
    pub fn split(name: &str) -> Option<(&str, Self)> {
        [Self::Zip, Self::TarGz, Self::Bundle].into_iter().find_map(|format| {
            let stem = name.strip_suffix(format.extension())?.strip_suffix('.')?;
            (!stem.is_empty()).then_some((stem, format))
        })
    }
}

/// Returns the header of a bundle. It lists the commit as `HEAD` and as one branch, so that a clone has a
/// branch to check out. The bytes depend only on the commit.
pub fn bundle_header(commit: &str) -> String {
    let kind = if commit.len() == 64 { "# v3 git bundle\n@object-format=sha256\n" } else { "# v2 git bundle\n" };
    format!("{kind}{commit} HEAD\n{commit} refs/heads/bundle\n\n")
}

impl RepositoryReader {
    /// Starts to write the tree of the commit `commit`, with every path below `prefix/`. A tar file is not
    /// compressed; for a bundle this writes only the pack, without [`bundle_header`].
    ///
    /// Placeholders such as `$Format:%H$` in files are not expanded, even if the commit's `.gitattributes` say so.
    pub async fn archive(&self, commit: &str, format: ArchiveFormat, prefix: &str) -> Result<GitProcess, GitError> {
        let kind = match format {
            ArchiveFormat::Zip => "--format=zip",
            ArchiveFormat::TarGz => "--format=tar",
            ArchiveFormat::Bundle => return self.pack(commit).await,
        };
        self.git.disable_export_subst(self.repository).await?;
        let call = self.git.call(self.repository, ["archive", kind]).args([format!("--prefix={prefix}/")]);
        // Zip files store local times.
        call.env("TZ", "UTC").args([commit]).stream(self.stream_holder()).await
    }

    /// Starts to write a bundle of `HEAD`, all branches, all tags and everything that they reach. Fails if the
    /// repository is empty.
    pub async fn bundle(&self) -> Result<GitProcess, GitError> {
        self.git.call(self.repository, ["bundle", "create", "--quiet", "-", "--all"]).stream(self.stream_holder()).await
    }

    /// Starts to write a pack of everything that `commit` reaches. Uses one thread, because with several
    /// threads the bytes differ between runs.
    async fn pack(&self, commit: &str) -> Result<GitProcess, GitError> {
        let args = ["pack-objects", "--stdout", "--revs", "--delta-base-offset", "--threads=1", "--quiet"];
        let mut process = self.git.call(self.repository, args).stream(self.stream_holder()).await?;
        if let Some(mut input) = process.stdin() {
            use tokio::io::AsyncWriteExt as _;
            // The pipe buffer holds one line, so this does not block. A failure shows in git's exit status.
            let _ = input.write_all(format!("{commit}\n").as_bytes()).await;
        }
        Ok(process)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archive_names_are_split_into_stem_and_format() {
        for (name, expected) in [
            ("main.zip", Some(("main", ArchiveFormat::Zip))),
            ("feature/x.tar.gz", Some(("feature/x", ArchiveFormat::TarGz))),
            ("v1.0.bundle", Some(("v1.0", ArchiveFormat::Bundle))),
            ("main.rar", None),
            ("main.gz", None),
            (".zip", None),
            ("mainzip", None),
        ] {
            assert_eq!(ArchiveFormat::split(name), expected, "{name}");
        }
    }
}
