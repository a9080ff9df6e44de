//! Counts the branches and tags of an import source without fetching objects.

use super::{Git, GitError, ImportSource};

/// Limit of the list of refs, bytes.
const REFS_MAX_BYTES: usize = 64 << 20;
/// `ls-remote` needs no repository. No repository has this number.
const NO_REPOSITORY: u64 = 0;

/// A summary of a source's refs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceSummary {
    /// Number of branches.
    pub branches: usize,
    /// Number of tags.
    pub tags: usize,
    /// The branch that `HEAD` points to.
    pub head: Option<String>,
    /// Whether the object format is SHA-256.
    pub sha256: bool,
}

impl Git {
    /// Runs `ls-remote` against a source. Fails if it does not exist, does not answer or denies access.
    pub async fn source_summary(&self, source: &ImportSource) -> Result<SourceSummary, GitError> {
        let call = self.call(NO_REPOSITORY, ["ls-remote", "--symref"]).output_max_bytes(REFS_MAX_BYTES);
        let patterns = [source.url(), "HEAD", "refs/heads/*", "refs/tags/*"];
        let listed = source.allow(call).operands(patterns).run().await?;
        Ok(parse_ls_remote(&String::from_utf8_lossy(&listed.stdout)))
    }
}

/// Parses the output of `ls-remote --symref`.
pub fn parse_ls_remote(listed: &str) -> SourceSummary {
    let mut summary = SourceSummary::default();
    for (left, name) in listed.lines().filter_map(|line| line.split_once('\t')) {
        if let Some(branch) = left.strip_prefix("ref: refs/heads/") {
            summary.head = Some(branch.to_owned());
            continue;
        }
        summary.sha256 |= left.len() == 64;
        // Annotated tags are listed twice; the second line ends with `^{}` and names the peeled object.
        match name {
            _ if name.starts_with("refs/heads/") => summary.branches += 1,
            _ if name.starts_with("refs/tags/") && !name.ends_with("^{}") => summary.tags += 1,
            _ => {}
        }
    }
    summary
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_and_tags_are_counted_once() {
        let id = "a1".repeat(20);
        let listed = format!(
            "ref: refs/heads/trunk\tHEAD\n{id}\tHEAD\n{id}\trefs/heads/trunk\n{id}\trefs/heads/x\n{id}\trefs/tags/v1\n{id}\trefs/tags/v1^{{}}\n"
        );
        let expected = SourceSummary { branches: 2, tags: 1, head: Some("trunk".into()), sha256: false };
        assert_eq!(parse_ls_remote(&listed), expected);
        assert_eq!(parse_ls_remote(""), SourceSummary::default());
        assert!(parse_ls_remote(&format!("{}\trefs/heads/a\n", "0".repeat(64))).sha256);
    }
}
