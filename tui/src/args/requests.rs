//! Converts parsed arguments to request bodies, for the command line and the full screen.

use std::collections::BTreeMap;

use farrier_common::{
    api,
    client::HookOwner,
    defaults::{HOOK_CONTENT_TYPE, HOOK_IS_SYSTEM},
};

use super::{ArchiveRepo, Change, CreateHook, CreateRepo, EditHook, EditRepo, GenerateRepo, MigrateRepo};
use crate::transfer::copy::Content;

impl CreateRepo {
    pub(crate) fn request(self) -> api::CreateRepository {
        api::CreateRepository {
            name: self.repo.name,
            description: self.description,
            private: self.visibility.private(),
            default_branch: self.default_branch,
            auto_init: self.init,
            gitignores: self.gitignore,
            license: self.license,
            readme: self.readme,
            template: self.template,
            object_format_name: self.object_format.unwrap_or_default(),
            ..api::CreateRepository::default()
        }
    }
}

impl GenerateRepo {
    pub(crate) fn request(self) -> api::GenerateRepository {
        api::GenerateRepository {
            owner: self.repo.owner,
            name: self.repo.name,
            description: self.description,
            private: self.visibility.private(),
            default_branch: self.default_branch,
            git_content: !self.no_content,
            topics: self.topics,
            webhooks: self.webhooks,
            protected_branch: self.branch_rules,
            ..api::GenerateRepository::default()
        }
    }
}

impl EditRepo {
    /// Returns the request with the named fields only.
    pub(crate) fn request(self) -> api::EditRepository {
        api::EditRepository {
            name: self.name,
            description: self.description,
            website: self.website,
            private: self.private,
            template: self.template,
            archived: self.archived,
            default_branch: self.default_branch,
            mirror_interval: self.mirror_interval,
        }
    }
}

impl MigrateRepo {
    /// Returns the request. A secret without a user name is sent as a token.
    pub(crate) fn request(self, secret: String) -> api::MigrateRepository {
        let (password, token) =
            if self.username.is_empty() { (String::new(), secret) } else { (secret, String::new()) };
        api::MigrateRepository {
            clone_addr: self.from,
            repo_name: self.repo.name,
            repo_owner: self.repo.owner,
            auth_username: self.username,
            auth_password: password,
            auth_token: token,
            private: self.visibility.private(),
            description: self.description,
            lfs: self.lfs,
            lfs_endpoint: self.lfs_endpoint,
            mirror: self.mirror,
            mirror_interval: self.mirror_interval,
            ..api::MigrateRepository::default()
        }
    }
}

impl ArchiveRepo {
    /// Returns the content to save. Without `--format`, it is a tar.gz file. `default_branch` is that of the
    /// repository.
    pub(crate) fn content(&self, default_branch: &str) -> Content {
        let format = match self.format.as_deref() {
            Some("zip") => "zip",
            Some("bundle") => "bundle",
            _ => "tar.gz",
        };
        match &self.reference {
            None if format == "bundle" => Content::All,
            reference => {
                Content::Reference { reference: reference.clone().unwrap_or_else(|| default_branch.to_owned()), format }
            }
        }
    }
}

impl Change {
    fn config(&self, target: Option<String>, secret: Option<String>) -> BTreeMap<String, String> {
        let mut config: BTreeMap<String, String> = self.set.iter().cloned().collect();
        let named = [("url", target), ("secret", secret), ("content_type", self.content_type.clone())];
        config.extend(named.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
        config
    }
}

impl CreateHook {
    pub(crate) fn request(self, secret: Option<String>, authorization: Option<String>) -> api::CreateHook {
        let mut config = self.change.config(self.target, secret);
        config.entry("content_type".to_owned()).or_insert_with(|| HOOK_CONTENT_TYPE.to_owned());
        if self.owner.api() == HookOwner::Admin {
            let system = self.kind.system || (HOOK_IS_SYSTEM && !self.kind.default);
            config.insert("is_system_webhook".to_owned(), system.to_string());
        }
        api::CreateHook {
            r#type: self.kind_of_receiver,
            config: Some(config),
            events: self.change.events.unwrap_or_default(),
            events_exact: Vec::new(),
            branch_filter: self.change.branch_filter.unwrap_or_default(),
            authorization_header: authorization.unwrap_or_default(),
            active: !self.inactive,
            name: self.change.name.unwrap_or_default(),
        }
    }
}

impl EditHook {
    /// Returns the request with the named fields only.
    pub(crate) fn request(self, secret: Option<String>, authorization: Option<String>) -> api::EditHook {
        let config = self.change.config(self.target, secret);
        let full_name = |what: String| if what == "authorization" { "authorization_header".to_owned() } else { what };
        api::EditHook {
            config: (!config.is_empty()).then_some(config),
            events: self.change.events,
            branch_filter: self.change.branch_filter,
            authorization_header: authorization,
            name: self.change.name,
            clear: self.clear.into_iter().map(full_name).collect(),
            ..api::EditHook::default()
        }
    }
}
