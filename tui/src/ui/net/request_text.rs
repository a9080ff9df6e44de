//! Descriptions of requests, for progress and errors.

use super::Request;
use crate::{transfer::copy::Content, ui::bulk};

impl Request {
    /// Describes the request, to follow "while" or "could not".
    #[expect(clippy::too_many_lines, reason = "one line for each request")]
    pub(crate) fn doing(&self) -> String {
        match self {
            Self::Status => "loading the status".to_owned(),
            Self::Series(_) => "loading the metrics".to_owned(),
            Self::StartDaemon(starter) => format!("starting {}", starter.program.display()),
            Self::Repositories => "listing repositories".to_owned(),
            Self::ChangedRepositories => "listing changed repositories".to_owned(),
            Self::FindRepositories(text) => format!("searching for repositories with {text}"),
            Self::Repository(path) | Self::LoadRepository(path) => format!("loading {path}"),
            Self::CreateRepository { owner, request } => format!("creating {owner}/{}", request.name),
            Self::EditRepository(path, _) => format!("changing {path}"),
            Self::SaveRepository(save) => format!("changing {}", save.path),
            Self::MigrateRepository(request) => format!("importing {}/{}", request.repo_owner, request.repo_name),
            Self::DeleteRepository(path) => format!("deleting {path}"),
            Self::RepositoryCounts(path) => format!("counting objects of {path}"),
            Self::ArtifactsOf(path) => format!("listing artifacts of {path}"),
            Self::Tasks => "listing tasks".to_owned(),
            Self::CancelTask(id) => format!("cancelling task {id}"),
            Self::Directory { repo, path, .. } if path.is_empty() => format!("listing files of {repo}"),
            Self::Directory { repo, path, .. } => format!("listing {path} of {repo}"),
            Self::FileContent { repo, path, .. } => format!("loading {path} of {repo}"),
            Self::Commits { repo, .. } => format!("listing commits of {repo}"),
            Self::Commit(path, sha) => format!("loading commit {} of {path}", sha.get(..7).unwrap_or(sha)),
            Self::Tags(path) => format!("listing tags of {path}"),
            Self::DeleteTag(path, name) => format!("deleting tag {name} of {path}"),
            Self::Branches(path) => format!("listing branches of {path}"),
            Self::CreateBranch(path, request) => format!("creating {} in {path}", request.new_branch_name),
            Self::DeleteBranch(path, name) => format!("deleting {name} of {path}"),
            Self::Manage(path, request) => request.doing(path),
            Self::Hooks(_) | Self::FailingHooks => "listing hooks".to_owned(),
            Self::HookJson(hooks) => format!("loading {}", bulk::counted(hooks.len(), "hook")),
            Self::HookEvents => "listing hook events".to_owned(),
            Self::CreateHook(_) => "creating the hook".to_owned(),
            Self::CheckName(path) => format!("checking the name {path}"),
            Self::CheckBranchFilter(_) => "checking the branch filter".to_owned(),
            Self::CheckMigration(request) => format!("checking {}", request.clone_addr),
            Self::LoadHook(_, id) => format!("loading hook {id}"),
            Self::SaveHook(save) => format!("changing hook {}", save.id),
            Self::EditHook(_, id, _) => format!("changing hook {id}"),
            Self::DeleteHook(_, id) => format!("deleting hook {id}"),
            Self::TestHook(_, id) => format!("testing hook {id}"),
            Self::ApplyHook(id) => format!("copying hook {id}"),
            Self::Recoverable(_) => "counting failed deliveries".to_owned(),
            Self::Batch(batch) => format!("{} {}", batch.doing, bulk::counted(batch.items.len(), batch.noun)),
            Self::Recover(id) => format!("redelivering failed deliveries of hook {id}"),
            Self::Deliveries { .. } => "listing deliveries".to_owned(),
            Self::LastDeliveries(hook) => format!("listing deliveries of hook {hook}"),
            Self::DeliveryGroups(by) => format!("grouping deliveries by {by}"),
            Self::DeliveryResults(..) => "loading results of deliveries".to_owned(),
            Self::Delivery(id) => format!("loading delivery {id}"),
            Self::PreviousDelivery(.., id) => format!("loading the delivery before {id}"),
            Self::Redeliver(ids) => format!("redelivering {}", ids.len()),
            Self::Replay(replay) => format!("replaying delivery {}", replay.guid),
            Self::Events { .. } => "following events".to_owned(),
            Self::OwnOrganizations => "listing your organizations".to_owned(),
            Self::Users => "listing users".to_owned(),
            Self::Tokens(user) => format!("listing tokens of {user}"),
            Self::AccountKeys(user, request) => request.doing(user),
            Self::Organization(request) => request.doing(),
            Self::CreateUser(request) => format!("creating {}", request.username),
            Self::EditUser(user, _) => format!("changing {user}"),
            Self::DeleteUser(user) => format!("deleting {user}"),
            Self::CreateToken(user, _) => format!("creating a token of {user}"),
            Self::DeleteToken { name, .. } => format!("revoking token {name}"),
            Self::DeletedRepositories => "listing deleted repositories".to_owned(),
            Self::DeletedArtifacts => "listing deleted artifacts".to_owned(),
            Self::Audit { .. } => "listing the audit log".to_owned(),
            Self::Logs(..) => "listing log records".to_owned(),
            Self::Caches => "listing cache entries".to_owned(),
            Self::CacheUsage => "reading the cache usage".to_owned(),
            Self::DeleteCache { name, .. } => format!("deleting {name}"),
            Self::RestoreRepository { name, .. } | Self::RestoreArtifact { name, .. } => format!("restoring {name}"),
            Self::PurgeRepository { name, .. } | Self::PurgeArtifact { name, .. } => {
                format!("deleting {name} permanently")
            }
            Self::Runs(Some(path)) => format!("listing runs of {path}"),
            Self::Runs(None) | Self::CompletedRuns | Self::RunList { .. } => "listing runs".to_owned(),
            Self::CancelRun(id) => format!("cancelling run {id}"),
            Self::RunArtifacts(id) => format!("listing artifacts of run {id}"),
            Self::EditArtifacts(edits) => format!("setting the expiry of {}", bulk::counted(edits.len(), "artifact")),
            Self::SignedAddress(_, id) => format!("signing the URL of artifact {id}"),
            Self::ZipContent { name, .. } => format!("listing the content of {name}"),
            Self::DeleteArtifacts(ids) => format!("deleting {}", bulk::counted(ids.len(), "artifact")),
            Self::Download { name, .. } => format!("downloading {name}"),
            Self::Archive { repo, content: Content::Reference { reference, format }, .. } => {
                format!("downloading {reference} of {repo} as {format}")
            }
            Self::Archive { repo, content: Content::All, .. } => format!("downloading all of {repo}"),
        }
    }
}
