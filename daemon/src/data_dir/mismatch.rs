//! The report of a store and data that do not belong together, for the operator who has to decide.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::{
    file::Found,
    judge::{Problem, StoreSide},
    look::{Look, Side, SideKind},
};
use crate::store::ids::IdKind;

/// What was found, and which commands decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    /// What does not fit, one sentence each.
    pub problems: Vec<String>,
    /// What the store and the directories say of themselves, one line each.
    pub facts: Vec<String>,
    #[serde(skip)]
    data_dir: PathBuf,
    /// All that is wrong are sequences, which `check-data --repair` raises.
    #[serde(skip)]
    pub(crate) is_repairable: bool,
}

impl std::error::Error for Mismatch {}

impl Mismatch {
    pub(super) fn new(
        data_dir: &Path,
        file: &Path,
        store: Option<&StoreSide>,
        look: &Look,
        problems: &[Problem],
    ) -> Self {
        let mut facts = vec![store_fact(file, store)];
        facts.extend(look.sides.iter().map(side_fact));
        let is_repairable = problems.iter().all(|problem| matches!(problem, Problem::IdsAhead(_)));
        let problems = problems.iter().map(|problem| sentence(problem, file, look)).collect();
        Self { problems, facts, data_dir: data_dir.to_owned(), is_repairable }
    }
}

fn sentence(problem: &Problem, store: &Path, look: &Look) -> String {
    let of = |kind: &SideKind| {
        let side = look.sides.iter().find(|side| side.kind == *kind);
        side.map_or_else(String::new, |side| side.path.display().to_string())
    };
    let store = store.display();
    match problem {
        Problem::NoStore => format!("the store {store} does not exist, but there is data beside it"),
        Problem::NeverPaired(kind) => {
            format!("the store {store} has no identity, but {} has one: the store is new or from elsewhere", of(kind))
        }
        Problem::OtherIdentity(kind) => format!("{} belongs to another store than {store}", of(kind)),
        Problem::StoreOlder(kind) => format!("the store {store} is older than {}", of(kind)),
        Problem::DataOlder(kind) => format!("{} is older than the store {store}", of(kind)),
        Problem::IdsAhead(kind) => format!(
            "ids that {} has would be given again by the store {store}; farrierd check-data --repair mends that",
            of(kind)
        ),
        Problem::NoIdentityFile(kind) => {
            format!("{} has no identity file, so it may not be the data of the store {store}", of(kind))
        }
        Problem::Gone(SideKind::Repositories) => {
            format!("{} is missing or empty, but the store has repositories", of(&SideKind::Repositories))
        }
        Problem::Gone(SideKind::Artifacts) => {
            format!("{} is missing or empty, but the store has artifacts", of(&SideKind::Artifacts))
        }
        Problem::UnreadableFile(kind, reason) => {
            format!("the identity file {}/{} cannot be read: {reason}", of(kind), super::FILE)
        }
    }
}

fn store_fact(path: &Path, store: Option<&StoreSide>) -> String {
    let Some(store) = store else { return format!("store {}: does not exist", path.display()) };
    let (bytes, changed) = match path.metadata() {
        Ok(about) => (about.len(), about.modified().ok().and_then(|at| jiff::Timestamp::try_from(at).ok())),
        Err(_) => (0, None),
    };
    let changed = changed.map_or_else(|| "unknown".to_owned(), second);
    let identity = store.identity.as_ref().map_or_else(
        || "no identity".to_owned(),
        |identity| format!("identity {}, mark {}", hex::encode(&identity.id), identity.pending),
    );
    let (repository, artifact) = (store.next_id(IdKind::Repository), store.next_id(IdKind::Artifact));
    format!(
        "store {}: {bytes} bytes, changed {changed}, {identity}, repository ids below {repository}, artifact ids below {artifact}",
        path.display()
    )
}

fn side_fact(side: &Side) -> String {
    let (name, path) = (side.kind.directory(), side.path.display());
    let identity = match &side.file {
        Found::Missing if !side.path.exists() => return format!("{name} {path}: does not exist"),
        Found::Missing => "no identity file".to_owned(),
        Found::Unreadable(_) => "identity file unreadable".to_owned(),
        Found::File(file) => format!(
            "identity {}, mark {}, written {}, {} ids below {}",
            file.id,
            file.mark,
            file.written,
            side.kind.ids().name(),
            file.next_id(side.kind.ids())
        ),
    };
    format!("{name} {path}: {} in it, {identity}", side.count())
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
        writeln!(f, "{command} check-data               report what fits and what does not; change nothing")?;
        writeln!(f, "{command} restore STORE_FILE       put a copy of the right store back")?;
        writeln!(f, "{command} check-data --adopt       keep store and data as they are; repositories that the")?;
        writeln!(f, "    store does not know become private repositories of admin")?;
        write!(f, "{command} check-data --set-aside   keep the store; move what it does not know to set-aside")
    }
}
