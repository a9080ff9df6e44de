//! What can be asked of the daemon, as values: tests compare them, and nothing happens until the
//! network gets one.

use farrier_common::{
    api::{CreateBranch, CreateRepository, EditRepository, MigrateRepository},
    client::RepositoryPath,
};

/// One question or one wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// What the daemon says of itself, and what is wrong with it.
    Status,
    /// All repositories that the caller sees.
    Repositories,
    CreateRepository {
        owner: String,
        wanted: Box<CreateRepository>,
    },
    EditRepository(RepositoryPath, Box<EditRepository>),
    MigrateRepository(Box<MigrateRepository>),
    DeleteRepository(RepositoryPath),
    Branches(RepositoryPath),
    CreateBranch(RepositoryPath, Box<CreateBranch>),
    DeleteBranch(RepositoryPath, String),
    /// Runs, their jobs and their artifacts.
    Runs(RepositoryPath),
    DeleteArtifacts(RepositoryPath, Vec<i64>),
    Download {
        repo: RepositoryPath,
        id: i64,
        name: String,
    },
}

impl Ask {
    /// What it is, to follow "while" or "could not".
    pub(crate) fn doing(&self) -> String {
        match self {
            Self::Status => "asking for the status".to_owned(),
            Self::Repositories => "listing repositories".to_owned(),
            Self::CreateRepository { owner, wanted } => format!("making {owner}/{}", wanted.name),
            Self::EditRepository(path, _) => format!("changing {path}"),
            Self::MigrateRepository(wanted) => format!("fetching {}/{}", wanted.repo_owner, wanted.repo_name),
            Self::DeleteRepository(path) => format!("deleting {path}"),
            Self::Branches(path) => format!("listing branches of {path}"),
            Self::CreateBranch(path, wanted) => format!("making {} in {path}", wanted.new_branch_name),
            Self::DeleteBranch(path, name) => format!("deleting {name} of {path}"),
            Self::Runs(path) => format!("listing runs of {path}"),
            Self::DeleteArtifacts(_, ids) if ids.len() == 1 => format!("deleting artifact {}", ids[0]),
            Self::DeleteArtifacts(_, ids) => format!("deleting {} artifacts", ids.len()),
            Self::Download { name, .. } => format!("downloading {name}"),
        }
    }
}
