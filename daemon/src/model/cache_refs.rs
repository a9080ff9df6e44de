//! The refs whose cache entries a job can read and write.

/// The refs of a job, as full names such as `refs/heads/main`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheRefs {
    own: String,
    default: String,
    /// The scope of an isolated job.
    isolated: Option<String>,
}

impl CacheRefs {
    /// Returns the refs of a job of the branch, tag or full ref name `branch`. A job without a branch belongs to the
    /// default branch.
    ///
    /// A job reads the entries of its own ref and of the default branch, and writes those of its own ref. So a branch
    /// cannot replace what other branches restore, and the default branch never restores what a branch has written.
    pub fn of_job(branch: &str, default_branch: &str) -> Self {
        let default = full_name(default_branch);
        let own = if branch.is_empty() { default.clone() } else { full_name(branch) };
        Self { own, default, isolated: None }
    }

    /// Returns the same refs for a job that its runner isolates, as that of Forgejo does with pull requests. The job
    /// reads the same entries and those of its scope, and writes only to that scope.
    ///
    /// A job can send any `key`. The name of the scope therefore contains the own ref of the job: it is the name of no
    /// ref, and jobs of other refs cannot use it. The name of a ref has no `:`.
    #[must_use]
    pub fn isolated(self, key: Option<&str>) -> Self {
        Self { isolated: key.map(|key| format!("isolated/{}:{key}", self.own)), ..self }
    }

    /// Returns the ref whose entries the job writes.
    pub fn own(&self) -> &str {
        self.isolated.as_ref().unwrap_or(&self.own)
    }

    /// Returns the refs whose entries the job reads, in the order of lookups.
    pub fn readable(&self) -> impl Iterator<Item = &str> {
        let default = Some(self.default.as_str()).filter(|default| *default != self.own);
        self.isolated.as_deref().into_iter().chain([self.own.as_str()]).chain(default)
    }
}

fn full_name(name: &str) -> String {
    if name.starts_with("refs/") { name.to_owned() } else { format!("refs/heads/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_reads_its_own_ref_then_the_default_branch_and_writes_its_own_ref() {
        for (branch, own, readable) in [
            ("main", "refs/heads/main", &["refs/heads/main"][..]),
            ("", "refs/heads/main", &["refs/heads/main"]),
            ("refs/heads/main", "refs/heads/main", &["refs/heads/main"]),
            ("feature", "refs/heads/feature", &["refs/heads/feature", "refs/heads/main"]),
            ("refs/tags/v1", "refs/tags/v1", &["refs/tags/v1", "refs/heads/main"]),
            ("refs/pull/7/merge", "refs/pull/7/merge", &["refs/pull/7/merge", "refs/heads/main"]),
            ("Main", "refs/heads/Main", &["refs/heads/Main", "refs/heads/main"]),
        ] {
            let refs = CacheRefs::of_job(branch, "main");
            assert_eq!(refs.own(), own, "{branch}");
            assert_eq!(refs.readable().collect::<Vec<_>>(), readable, "{branch}");
        }
    }

    #[test]
    fn an_isolated_job_writes_to_a_scope_that_is_not_a_ref() {
        let refs = CacheRefs::of_job("feature", "main").isolated(Some("refs/heads/main"));
        let scope = "isolated/refs/heads/feature:refs/heads/main";
        assert_eq!(refs.own(), scope);
        let readable = [scope, "refs/heads/feature", "refs/heads/main"];
        assert_eq!(refs.readable().collect::<Vec<_>>(), readable);
        assert_eq!(CacheRefs::of_job("isolated/x", "main").own(), "refs/heads/isolated/x");
        let other = CacheRefs::of_job("other", "main").isolated(Some("refs/heads/main"));
        assert!(!other.readable().any(|name| name == scope), "the scope belongs to one ref");
    }
}
