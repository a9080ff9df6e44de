//! The column names of all lists, which the configuration file can choose.

use farrier_common::api::{AccessToken, BackgroundTask, DeployKey, LogRecord, Release, Team};

use super::{artifacts, repositories, users};
use crate::ui::{
    audit::AuditSummary,
    cache::CacheSummary,
    delivery::DeliverySummary,
    hook::HookSummary,
    list::Row,
    net::{Collaborator, CommitSummary, OrganizationMember},
    organization::OrganizationSummary,
    repo::RepositorySummary,
    runs::ListedRun,
    user::UserSummary,
};

/// Returns the column names of a list. Both names are those of the configuration file.
pub(crate) fn columns_of(list: &str) -> Vec<String> {
    fn titles<T: Row>(list: &str) -> Option<Vec<String>> {
        let titles = || T::COLUMNS.iter().map(|column| column.title.to_lowercase()).collect();
        (list == T::LIST).then(titles)
    }
    type Titles = fn(&str) -> Option<Vec<String>>;
    let lists: [Titles; 24] = [
        titles::<RepositorySummary>,
        titles::<repositories::content::FileRow>,
        titles::<CommitSummary>,
        titles::<repositories::branch_rows::BranchRow>,
        titles::<repositories::content::TagRow>,
        titles::<Release>,
        titles::<repositories::management::RuleRow>,
        titles::<Collaborator>,
        titles::<DeployKey>,
        titles::<repositories::management::MirrorRow>,
        titles::<HookSummary>,
        titles::<DeliverySummary>,
        titles::<AuditSummary>,
        titles::<CacheSummary>,
        titles::<UserSummary>,
        titles::<AccessToken>,
        titles::<users::KeyRow>,
        titles::<OrganizationSummary>,
        titles::<Team>,
        titles::<OrganizationMember>,
        titles::<artifacts::tree::Node>,
        titles::<ListedRun>,
        titles::<BackgroundTask>,
        titles::<LogRecord>,
    ];
    lists.iter().find_map(|titles| titles(list)).unwrap_or_default()
}
