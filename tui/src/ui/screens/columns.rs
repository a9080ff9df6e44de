//! The column names of all lists, which the configuration file can choose.

use farrier_common::api::{
    AccessToken, AuditEntry, BackgroundTask, Delivery, DeployKey, FoundCacheEntry, FoundRun, Hook, LogRecord,
    Organization, Release, Team, User,
};

use super::{artifacts, repositories, users};
use crate::ui::{
    list::Row,
    net::{Collaborator, OrganizationMember},
    repo::RepositorySummary,
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
        titles::<repositories::content::CommitRow>,
        titles::<repositories::branch_rows::BranchRow>,
        titles::<repositories::content::TagRow>,
        titles::<Release>,
        titles::<repositories::management::RuleRow>,
        titles::<Collaborator>,
        titles::<DeployKey>,
        titles::<repositories::management::MirrorRow>,
        titles::<Hook>,
        titles::<Delivery>,
        titles::<AuditEntry>,
        titles::<FoundCacheEntry>,
        titles::<User>,
        titles::<AccessToken>,
        titles::<users::KeyRow>,
        titles::<Organization>,
        titles::<Team>,
        titles::<OrganizationMember>,
        titles::<artifacts::tree::Node>,
        titles::<FoundRun>,
        titles::<BackgroundTask>,
        titles::<LogRecord>,
    ];
    lists.iter().find_map(|titles| titles(list)).unwrap_or_default()
}
