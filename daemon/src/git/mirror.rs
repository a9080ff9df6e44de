//! Fetches from the source of a mirror, and pushes to the remotes of push mirrors.
//!
//! A fetch moves no refs. Its objects are stored in a workspace, and are copied to the repository only when the fetch
//! is complete and passed git's checks. So a source that fails, stalls or sends damaged objects leaves nothing behind.

use std::{collections::BTreeMap, fmt::Write as _};

use tokio::io::AsyncWriteExt as _;

use super::{
    Git, GitError, ImportSource, IncomingPack, PublishError, Workspace,
    import::{parse_ls_remote, receive_into},
    ref_name::{self, RefKind},
    source::tolerant_checks,
};
use crate::shares::Holder;

/// Limit of the list of refs of a source, bytes.
const REFS_MAX_BYTES: usize = 64 << 20;
/// Refspecs of a push: all branches and tags, also those that were moved or deleted.
const PUSHED: [&str; 2] = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
/// Header that counts the mirrors through which a push came.
pub const DEPTH_HEADER: &str = "x-farrier-mirror-depth";

/// The branches and tags of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteRefs {
    /// The branch that `HEAD` points to, or a guess if the source does not advertise one.
    pub head: Option<String>,
    /// Whether the object format is SHA-256.
    pub sha256: bool,
    /// Full names with object ids. Names that farrier does not accept are left out.
    pub refs: BTreeMap<String, String>,
}

impl Git {
    /// Returns the branches and tags of a source.
    pub async fn remote_refs(&self, repository: u64, source: &ImportSource) -> Result<RemoteRefs, GitError> {
        let call = self.call(repository, ["ls-remote", "--symref"]).output_max_bytes(REFS_MAX_BYTES);
        let listed = source.allow(call).operands([source.url(), "HEAD", "refs/heads/*", "refs/tags/*"]).run().await?;
        Ok(parse(&String::from_utf8_lossy(&listed.stdout)))
    }

    /// Fetches `wanted` (full names with object ids) from a source and returns a pack of the objects that the
    /// repository does not have. `known`: the object ids of the repository's branches and tags. Moves no refs.
    ///
    /// The objects get the current time, so the pruning keeps them until refs were moved to them.
    pub async fn fetch_objects(
        &self,
        repository: u64,
        source: &ImportSource,
        wanted: &BTreeMap<String, String>,
        known: &[String],
        (max_bytes, holder): (u64, Holder),
    ) -> Result<IncomingPack, PublishError> {
        let workspace = Workspace::create(self.clone(), repository, None, None).await?;
        let fetched = fetch_into(&workspace, source, wanted, max_bytes, holder).await;
        let packed = match fetched {
            Ok(()) => workspace.pack_revisions(repository, revisions(wanted, known), &tolerant_checks()).await,
            Err(error) => Err(error.into()),
        };
        match packed {
            Ok(packed) => Ok(packed.with(workspace)),
            Err(error) => {
                workspace.remove().await;
                Err(error)
            }
        }
    }

    /// Pushes all branches and tags to `remote`, and deletes those that the repository does not have. `depth`: the
    /// number of mirrors through which the pushed changes came, including this one.
    pub async fn push_to_mirror(
        &self,
        repository: u64,
        remote: &ImportSource,
        depth: u32,
        holder: Holder,
    ) -> Result<(), GitError> {
        let call =
            self.call(repository, ["push", "--prune", "--no-verify", "--no-progress", "--recurse-submodules=no"]);
        let call = remote.allow(call).config("http.extraHeader", format!("{DEPTH_HEADER}: {depth}"));
        let process = call.operands([remote.url()]).args(PUSHED).stream(holder).await?;
        let exit = process.wait().await?;
        match exit.status {
            Some(0) => Ok(()),
            status => Err(GitError::Failed { command: exit.command, status, stderr: exit.stderr }),
        }
    }
}

async fn fetch_into(
    workspace: &Workspace,
    source: &ImportSource,
    wanted: &BTreeMap<String, String>,
    max_bytes: u64,
    holder: Holder,
) -> Result<(), GitError> {
    let call = workspace.call([
        "fetch",
        "--no-progress",
        "--no-write-fetch-head",
        "--no-tags",
        "--no-recurse-submodules",
        "--no-auto-maintenance",
        "--stdin",
    ]);
    let mut process = source.allow(call).operands([source.url()]).stream(holder).await?;
    let names = wanted.keys().fold(String::new(), |text, name| text + name + "\n");
    if let Some(mut stdin) = process.stdin() {
        // Git reads the list before it connects. If it has ended already, its exit status says why.
        let _ = stdin.write_all(names.as_bytes()).await;
        let _ = stdin.shutdown().await;
    }
    receive_into(process, workspace.directory(), max_bytes, |_, _| {}).await
}

/// Returns the list of objects to copy: everything that `wanted` reaches and `known` does not.
fn revisions(wanted: &BTreeMap<String, String>, known: &[String]) -> String {
    let mut list = String::new();
    for id in wanted.values() {
        let _ = writeln!(list, "{id}");
    }
    for id in known {
        let _ = writeln!(list, "^{id}");
    }
    list
}

/// Parses the output of `ls-remote --symref`.
fn parse(listed: &str) -> RemoteRefs {
    let advertised = parse_ls_remote(listed);
    let pairs = listed.lines().filter_map(|line| line.split_once('\t'));
    // A peeled tag ends with `^{}`, which no valid name does.
    let valid = pairs.filter(|(id, name)| {
        let is_listed = ref_name::is_valid(name) && ref_name::kind(name) != RefKind::Other;
        is_listed && ref_name::is_object_id(id) && !ref_name::is_zero(id)
    });
    RemoteRefs {
        head: advertised.head,
        sha256: advertised.sha256,
        refs: valid.map(|(id, name)| (name.to_owned(), id.to_owned())).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_and_tags_of_a_source_are_read_and_other_names_are_left_out() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let listed = format!(
            "ref: refs/heads/main\tHEAD\n{a}\tHEAD\n{a}\trefs/heads/main\n{b}\trefs/tags/v1\n{a}\trefs/tags/v1^{{}}\n\
             {a}\trefs/heads/-x\n{a}\trefs/farrier/x\nbad\trefs/heads/y\n{a}\trefs/heads/../config\n"
        );
        let found = parse(&listed);
        assert_eq!(found.head.as_deref(), Some("main"));
        let names: Vec<_> = found.refs.keys().map(String::as_str).collect();
        assert_eq!((names, found.refs["refs/tags/v1"].as_str()), (vec!["refs/heads/main", "refs/tags/v1"], b.as_str()));
        assert_eq!(revisions(&found.refs, std::slice::from_ref(&a)), format!("{a}\n{b}\n^{a}\n"));
    }
}
