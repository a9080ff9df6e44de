//! What a source holds, asked without fetching anything.

use super::{Git, GitError, Source};

/// Listing the refs of a source.
const REFS_MAX_BYTES: usize = 64 << 20;
/// No repository: none has this number.
const NO_REPOSITORY: u64 = 0;

/// What a source says it has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Branches.
    pub branches: usize,
    /// Tags.
    pub tags: usize,
    /// The branch that its `HEAD` names.
    pub head: Option<String>,
    /// Whether its objects are named with SHA-256.
    pub sha256: bool,
}

impl Git {
    /// Asks a source for its branches and tags: whether it is there, answers, and lets us in.
    pub async fn survey(&self, source: &Source) -> Result<Survey, GitError> {
        let call = self.call(NO_REPOSITORY, ["ls-remote", "--symref"]).output_max_bytes(REFS_MAX_BYTES);
        let patterns = [source.url(), "HEAD", "refs/heads/*", "refs/tags/*"];
        let listed = source.open(call).operands(patterns).run().await?;
        Ok(understand(&String::from_utf8_lossy(&listed.stdout)))
    }
}

fn understand(listed: &str) -> Survey {
    let mut survey = Survey::default();
    for (left, name) in listed.lines().filter_map(|line| line.split_once('\t')) {
        if let Some(branch) = left.strip_prefix("ref: refs/heads/") {
            survey.head = Some(branch.to_owned());
            continue;
        }
        survey.sha256 |= left.len() == 64;
        // A tag that is an object of its own is listed a second time, with what it names.
        match name {
            _ if name.starts_with("refs/heads/") => survey.branches += 1,
            _ if name.starts_with("refs/tags/") && !name.ends_with("^{}") => survey.tags += 1,
            _ => {}
        }
    }
    survey
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
        let expected = Survey { branches: 2, tags: 1, head: Some("trunk".into()), sha256: false };
        assert_eq!(understand(&listed), expected);
        assert_eq!(understand(""), Survey::default());
        assert!(understand(&format!("{}\trefs/heads/a\n", "0".repeat(64))).sha256);
    }
}
