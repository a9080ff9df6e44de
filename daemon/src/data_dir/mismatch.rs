//! The report for an operator about a store and data that do not belong together.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::{
    compare::{PairingProblem, StoreState},
    disk::{DirectoryKind, DirectoryState, DiskState},
    file::FileState,
};
use crate::store::ids::IdKind;

/// Why store and data do not belong together, and the commands that resolve it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    /// The problems, one sentence each.
    pub problems: Vec<String>,
    /// The state of the store and of each directory, one line each.
    pub facts: Vec<String>,
    #[serde(skip)]
    data_dir: PathBuf,
    /// Whether all problems are sequences, which `check-data --repair` raises.
    #[serde(skip)]
    pub(crate) is_repairable: bool,
}

impl std::error::Error for Mismatch {}

impl Mismatch {
    pub(super) fn new(
        data_dir: &Path,
        file: &Path,
        store: Option<&StoreState>,
        disk: &DiskState,
        problems: &[PairingProblem],
    ) -> Self {
        let mut facts = vec![store_fact(file, store)];
        facts.extend(disk.directories.iter().map(directory_fact));
        let is_repairable = problems.iter().all(|problem| matches!(problem, PairingProblem::IdsAhead(_)));
        let problems = problems.iter().map(|problem| sentence(problem, file, disk)).collect();
        Self { problems, facts, data_dir: data_dir.to_owned(), is_repairable }
    }
}

fn sentence(problem: &PairingProblem, store: &Path, disk: &DiskState) -> String {
    let of = |kind: &DirectoryKind| {
        let directory = disk.directories.iter().find(|directory| directory.kind == *kind);
        directory.map_or_else(String::new, |directory| directory.path.display().to_string())
    };
    let store = store.display();
    match problem {
        PairingProblem::NoStore => format!("the store {store} does not exist, but its data directory contains data"),
        PairingProblem::NeverPaired(kind) => {
            format!(
                "the store {store} has no identity, but {} has one: the store is new or belongs to other data",
                of(kind)
            )
        }
        PairingProblem::OtherIdentity(kind) => format!("{} belongs to another store than {store}", of(kind)),
        PairingProblem::StoreOlder(kind) => format!("the store {store} is older than {}", of(kind)),
        PairingProblem::DataOlder(kind) => format!("{} is older than the store {store}", of(kind)),
        PairingProblem::IdsAhead(kind) => format!(
            "the store {store} would assign ids again that {} uses; farrierd check-data --repair repairs this",
            of(kind)
        ),
        PairingProblem::NoIdentityFile(kind) => {
            format!("{} has no identity file, so it may not be the data of the store {store}", of(kind))
        }
        PairingProblem::Gone(DirectoryKind::Repositories) => {
            format!("{} is missing or empty, but the store has repositories", of(&DirectoryKind::Repositories))
        }
        PairingProblem::Gone(DirectoryKind::Artifacts) => {
            format!("{} is missing or empty, but the store has artifacts", of(&DirectoryKind::Artifacts))
        }
        PairingProblem::UnreadableFile(kind, reason) => {
            format!("the identity file {}/{} cannot be read: {reason}", of(kind), super::FILE)
        }
    }
}

fn store_fact(path: &Path, store: Option<&StoreState>) -> String {
    let Some(store) = store else { return format!("store {}: does not exist", path.display()) };
    // A store on a server has no file.
    let file = path.metadata().map_or_else(
        |_| String::new(),
        |about| {
            let changed = about.modified().ok().and_then(|at| jiff::Timestamp::try_from(at).ok());
            let changed = changed.map_or_else(|| "unknown".to_owned(), second);
            format!("{} bytes, changed {changed}, ", about.len())
        },
    );
    let identity = store.identity.as_ref().map_or_else(
        || "no identity".to_owned(),
        |identity| format!("identity {}, mark {}", hex::encode(&identity.id), identity.pending),
    );
    let (repository, artifact) = (store.next_id(IdKind::Repository), store.next_id(IdKind::Artifact));
    format!(
        "store {}: {file}{identity}, repository ids below {repository}, artifact ids below {artifact}",
        path.display()
    )
}

fn directory_fact(directory: &DirectoryState) -> String {
    let (name, path) = (directory.kind.directory(), directory.path.display());
    let identity = match &directory.file {
        FileState::Missing if !directory.path.exists() => return format!("{name} {path}: does not exist"),
        FileState::Missing => "no identity file".to_owned(),
        FileState::Unreadable(_) => "identity file unreadable".to_owned(),
        FileState::File(file) => format!(
            "identity {}, mark {}, written {}, {} ids below {}",
            file.id,
            file.mark,
            file.written,
            directory.kind.ids().name(),
            file.next_id(directory.kind.ids())
        ),
    };
    format!("{name} {path}: entries: {}, {identity}", directory.count())
}

fn second(at: jiff::Timestamp) -> String {
    at.round(jiff::Unit::Second).unwrap_or(at).to_string()
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { problems, facts, data_dir, .. } = self;
        let dir = data_dir.display();
        writeln!(f, "the store and the data in {dir} do not belong together; nothing was changed")?;
        for problem in problems {
            writeln!(f, "  problem: {problem}")?;
        }
        for fact in facts {
            writeln!(f, "  found: {fact}")?;
        }
        writeln!(f, "If a file or directory was moved or replaced by mistake, put it back and start again. Else run,")?;
        writeln!(f, "as the user of the daemon, one of these. None of them deletes anything:")?;
        let command = format!("  farrierd --data-dir {dir}");
        writeln!(f, "{command} check-data               report all problems; change nothing")?;
        writeln!(f, "{command} restore STORE_FILE       put a copy of the right store back")?;
        writeln!(f, "{command} check-data --adopt       keep store and data; repositories without a row in the")?;
        writeln!(f, "    store become private repositories of admin")?;
        write!(f, "{command} check-data --set-aside   keep the store; move data without a row to set-aside")
    }
}
