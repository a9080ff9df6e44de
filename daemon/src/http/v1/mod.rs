//! `/api/v1`: the REST API for Gitea-family clients. One module per resource.

pub(super) mod admin;
pub(super) mod artifacts;
pub(super) mod branch_protections;
pub(super) mod browse;
pub(super) mod caches;
pub(super) mod collaborators;
pub(super) mod deliveries;
pub(super) mod deploy_keys;
pub(super) mod forks;
pub(super) mod hooks;
mod ignored;
pub(super) mod interests;
pub(super) mod members;
pub(super) mod migrations;
pub(super) mod orgs;
pub(super) mod repositories;
pub(super) mod repository_lists;
pub(super) mod repository_teams;
pub(super) mod runs;
pub(super) mod service;
pub(super) mod settings;
pub(super) mod ssh_keys;
pub(super) mod tag_protections;
pub(super) mod teams;
pub(super) mod tokens;
pub(super) mod topics;
pub(super) mod users;
