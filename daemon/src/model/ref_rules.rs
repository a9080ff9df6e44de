//! Decides what the rules of a repository allow. Does no I/O.
//!
//! A branch has the rule with the lowest priority whose pattern matches its name. A tag may be changed if any of the
//! matching tag rules names the user.

mod pattern;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

use farrier_proto::store::{BranchRule, RuleList, TagRule};

pub use self::pattern::{FilePatterns, NamePattern, PATTERN_MAX_BYTES, is_plain};

/// What a change does to a ref.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// Creates the ref.
    Create,
    /// Moves the ref.
    Move,
    /// Deletes the ref.
    Delete,
}

/// A list of a branch rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// Who may push.
    Push,
    /// Who may push with force.
    ForcePush,
    /// Who may merge. Only shown to clients.
    Merge,
}

impl ListKind {
    /// Returns the list of a rule, if the rule uses it.
    pub fn of(self, rule: &BranchRule) -> Option<&RuleList> {
        let list = match self {
            Self::Push => &rule.push_list,
            Self::ForcePush => &rule.force_push_list,
            Self::Merge => &rule.merge_list,
        };
        list.as_ref().filter(|list| list.enabled)
    }
}

/// Which lists of a rule name the caller. A list that the rule does not use names everybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// [`ListKind::Push`]
    pub push: bool,
    /// [`ListKind::ForcePush`]
    pub force_push: bool,
    /// [`ListKind::Merge`]
    pub merge: bool,
}

/// What a rule allows a caller who may write to the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BranchRights {
    /// The caller may push.
    pub push: bool,
    /// The caller may also push with force.
    pub force_push: bool,
    /// The caller may merge.
    pub merge: bool,
}

impl BranchRights {
    /// Returns the rights that `rule` gives a caller.
    pub fn of(rule: &BranchRule, named: Named) -> Self {
        let push = rule.push && named.push;
        Self { push, force_push: push && rule.force_push && named.force_push, merge: named.merge }
    }
}

/// A branch rule that is ready to be compared with names.
#[derive(Clone, Debug)]
pub struct CompiledBranchRule {
    /// The rule.
    pub row: BranchRule,
    pattern: NamePattern,
    /// Compiled when a change of a branch needs it: a push can change many branches, and a list of branches needs none.
    files: OnceLock<Result<Option<Arc<FilePatterns>>, String>>,
}

impl CompiledBranchRule {
    /// Compiles the pattern of a rule.
    pub fn new(row: BranchRule) -> Self {
        let pattern = NamePattern::of_branches(&row.pattern).unwrap_or(NamePattern::Every);
        Self { row, pattern, files: OnceLock::new() }
    }

    /// Returns whether the rule applies to the branch `name`.
    pub fn applies_to(&self, name: &str) -> bool {
        self.pattern.matches(name)
    }

    /// Returns the protected files. `None`: no file is protected. An error if the stored patterns cannot be compiled.
    fn files(&self) -> Result<Option<Arc<FilePatterns>>, &'static str> {
        let compiled = self.files.get_or_init(|| {
            let files = FilePatterns::parse(&self.row.protected_file_patterns, &self.row.unprotected_file_patterns);
            files.map(|files| files.map(Arc::new))
        });
        compiled.clone().map_err(|_| "the patterns of its files are not valid")
    }
}

/// A tag rule that is ready to be compared with names.
#[derive(Clone, Debug)]
pub struct CompiledTagRule {
    /// The rule.
    pub row: TagRule,
    pattern: NamePattern,
}

impl CompiledTagRule {
    /// Compiles the pattern of a rule.
    pub fn new(row: TagRule) -> Self {
        let pattern = NamePattern::of_tags(&row.pattern).unwrap_or(NamePattern::Every);
        Self { row, pattern }
    }

    /// Returns whether the rule applies to the tag `name`.
    pub fn applies_to(&self, name: &str) -> bool {
        self.pattern.matches(name)
    }
}

/// What must be known about the objects of a change before it is allowed.
#[derive(Clone, Debug)]
pub struct ObjectCheck {
    /// The branch may lose no commits.
    pub no_force: bool,
    /// The files that may not be changed.
    pub files: Option<Arc<FilePatterns>>,
    /// The signatures of all new commits must be verified.
    pub signed: bool,
}

/// The decision about the change of a branch, as far as it needs no objects.
#[derive(Clone, Debug)]
pub enum RefDecision {
    /// The change is allowed.
    Allowed,
    /// The change is refused, with a reason for the person who pushes.
    Refused(String),
    /// The objects decide.
    Depends(ObjectCheck),
}

/// Decides about a change of the branch `name`, to which `rule` applies.
pub fn decide_branch(rule: &CompiledBranchRule, rights: BranchRights, name: &str, kind: ChangeKind) -> RefDecision {
    let refused = |what: &str| RefDecision::Refused(format!("branch {name} is protected: {what}"));
    if kind == ChangeKind::Delete {
        return refused("it cannot be deleted");
    }
    if !rule.row.push {
        return refused("nobody may push to it");
    }
    if !rights.push {
        return refused("only listed users, teams and deploy keys may push to it");
    }
    let no_force = kind == ChangeKind::Move && !rights.force_push;
    let files = match rule.files() {
        Ok(files) => files,
        Err(problem) => return refused(problem),
    };
    let signed = rule.row.require_signed_commits;
    if no_force || files.is_some() || signed {
        RefDecision::Depends(ObjectCheck { no_force, files, signed })
    } else {
        RefDecision::Allowed
    }
}

/// Returns why a change of the tag `name` is refused. `matching`: for each rule that applies to the tag, its pattern
/// and whether it names the caller.
pub fn decide_tag<'a>(name: &str, matching: impl IntoIterator<Item = (&'a str, bool)>) -> Option<String> {
    let mut refused_by = None;
    for (pattern, is_named) in matching {
        if is_named {
            return None;
        }
        refused_by = refused_by.or(Some(pattern));
    }
    let pattern = refused_by?;
    Some(format!("tag {name} is protected by the rule {pattern}: only listed users and teams may change it"))
}

impl ObjectCheck {
    /// Returns whether a change that has passed this check passes `other` as well.
    pub fn covers(&self, other: &Self) -> bool {
        let covers_files = other.files.is_none() || self.files == other.files;
        covers_files && (self.no_force || !other.no_force) && (self.signed || !other.signed)
    }

    /// Returns why the branch `name` may not lose commits.
    pub fn forced(name: &str) -> String {
        format!("branch {name} is protected: force pushes are not allowed")
    }

    /// Returns why the branch `name` may not get these changed files; `None` if it may.
    pub fn refuses_files<'a>(&self, name: &str, changed: impl IntoIterator<Item = &'a [u8]>) -> Option<String> {
        let files = self.files.as_ref()?;
        let mut paths = changed.into_iter().map(String::from_utf8_lossy);
        let path = paths.find(|path| files.protects(path))?;
        let path: String = path.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        Some(format!("branch {name} is protected: the file {path} may not be changed"))
    }
}
