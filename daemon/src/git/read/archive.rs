//! A commit's tree as one file.

use super::Reader;
use crate::git::{GitError, GitProcess};

/// What an archive is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `git archive --format=zip`
    Zip,
    /// `git archive --format=tar`, to be compressed by the daemon: its bytes do not depend on the
    /// installed git then.
    TarGz,
    /// The history as a file that git can clone.
    Bundle,
}

impl Format {
    /// The ending of file names.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Zip => "zip",
            Self::TarGz => "tar.gz",
            Self::Bundle => "bundle",
        }
    }

    /// The media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Zip => "application/zip",
            Self::TarGz => "application/gzip",
            Self::Bundle => "application/x-git-bundle",
        }
    }

    /// Splits `main.tar.gz` into the name and the format.
    pub fn split(name: &str) -> Option<(&str, Self)> {
        [Self::Zip, Self::TarGz, Self::Bundle].into_iter().find_map(|format| {
            let stem = name.strip_suffix(format.ending())?.strip_suffix('.')?;
            (!stem.is_empty()).then_some((stem, format))
        })
    }
}

/// What stands before the pack of a bundle: the commit as `HEAD` and as one branch, so that a
/// clone of it has something to check out. The bytes depend on nothing but the commit.
pub fn bundle_header(commit: &str) -> String {
    let kind = if commit.len() == 64 { "# v3 git bundle\n@object-format=sha256\n" } else { "# v2 git bundle\n" };
    format!("{kind}{commit} HEAD\n{commit} refs/heads/bundle\n\n")
}

impl Reader {
    /// Starts to write the tree of the commit with the id `commit`, everything below `prefix/`.
    /// A tar file is not compressed; of a bundle this is the pack.
    pub async fn archive(&self, commit: &str, format: Format, prefix: &str) -> Result<GitProcess, GitError> {
        let kind = match format {
            Format::Zip => "--format=zip",
            Format::TarGz => "--format=tar",
            Format::Bundle => return self.pack(commit).await,
        };
        let call = self.git.call(self.repository, ["archive", kind]).args([format!("--prefix={prefix}/")]);
        // Times in a zip file are local ones.
        call.env("TZ", "UTC").args([commit]).stream().await
    }

    /// Starts to write all branches, all tags and `HEAD` with everything that they reach as a file that
    /// git can clone. There must be something.
    pub async fn bundle(&self) -> Result<GitProcess, GitError> {
        self.git.call(self.repository, ["bundle", "create", "--quiet", "-", "--all"]).stream().await
    }

    /// One thread: with several, the same pack is not the same bytes.
    async fn pack(&self, commit: &str) -> Result<GitProcess, GitError> {
        let args = ["pack-objects", "--stdout", "--revs", "--delta-base-offset", "--threads=1", "--quiet"];
        let mut process = self.git.stream(self.repository, args).await?;
        if let Some(mut input) = process.stdin() {
            use tokio::io::AsyncWriteExt as _;
            // A pipe takes one line at once; git's status says what a failure means.
            let _ = input.write_all(format!("{commit}\n").as_bytes()).await;
        }
        Ok(process)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_archives() {
        for (name, expected) in [
            ("main.zip", Some(("main", Format::Zip))),
            ("feature/x.tar.gz", Some(("feature/x", Format::TarGz))),
            ("v1.0.bundle", Some(("v1.0", Format::Bundle))),
            ("main.rar", None),
            ("main.gz", None),
            (".zip", None),
            ("mainzip", None),
        ] {
            assert_eq!(Format::split(name), expected, "{name}");
        }
    }
}
