//! The kinds of forms: the request that each sends, and the checks while it is filled in.

use std::{collections::BTreeMap, sync::Arc};

use farrier_common::client::{HookOwner, RepositoryPath, Token};

use super::{
    artifacts::form as artifact_form,
    deleted::form as restore_form,
    deliveries::{
        replay::{self, ReplaySource},
        signature::{self, SignedText},
    },
    hooks::form as hook_form,
    organizations::{form as team_form, organization_form},
    repositories::{form as repo_form, management::form as management_form},
    users::{form as user_form, token_form},
};
use crate::ui::{
    form::Form,
    net::{Answer, OrganizationKey, OrganizationRequest, Reconnect, Request, TeamKey},
    redacted::Redacted,
};

/// What a submitted form does.
#[derive(Debug)]
pub(crate) enum FormAction {
    Request(Request),
    /// Only checks whether the request would succeed.
    Check(Request),
    Reconnect(Reconnect),
    /// Only shows this result.
    Report(String),
    /// Asks before a request is sent, and keeps the form open.
    Ask {
        title: String,
        lines: Vec<String>,
        verb: &'static str,
        request: Request,
    },
}

/// Identifies a form and the object that it edits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FormKind {
    CreateRepository,
    EditRepository(RepositoryPath),
    Migrate,
    CreateBranch(RepositoryPath),
    CreateTag(RepositoryPath),
    AddCollaborator(RepositoryPath),
    /// The repository, and the name of the collaborator.
    ChangeCollaborator(RepositoryPath, String),
    AddDeployKey(RepositoryPath),
    /// The number is the highest ID of the existing hooks.
    CreateHook(HookOwner, i64),
    EditHook(HookOwner, i64),
    /// Sets when artifacts expire.
    EditArtifacts(Vec<i64>),
    /// The ID of a deleted repository, and its former name.
    RestoreRepository(i64, String),
    CreateUser,
    CreateOrganization,
    EditOrganization(OrganizationKey),
    /// Creates a team in the organization with this name.
    CreateTeam(String),
    /// The team, and its rights in the units that the form does not show.
    EditTeam(TeamKey, BTreeMap<String, String>),
    AddTeamMember(TeamKey),
    AddTeamRepository(TeamKey),
    /// Creates a token of the account with this name.
    CreateToken(String),
    /// Adds an SSH key to the account with this name, and whether that is the caller.
    AddKey(String, bool),
    /// Sets the access token for the next requests; sends no request itself.
    Token,
    /// Compares the signature of a delivery with a secret; sends no request itself.
    CheckSignature(Arc<SignedText>),
    /// Sends a delivery once to another URL, or with another payload.
    Replay(Arc<ReplaySource>),
}

impl FormKind {
    /// Returns the action of the submitted form, or the name of an invalid field and the reason.
    pub(crate) fn action(&self, form: &Form) -> Result<FormAction, (&'static str, String)> {
        Ok(FormAction::Request(match self {
            Self::CreateRepository => repo_form::create_request(form),
            Self::EditRepository(path) => repo_form::edit_request(path, form)?,
            Self::Migrate => {
                let request = repo_form::migrate_request(form)?;
                if form.pressed() == repo_form::CHECK {
                    return Ok(FormAction::Check(Request::CheckMigration(request)));
                }
                Request::MigrateRepository(request)
            }
            Self::CreateBranch(path) => repo_form::create_branch_request(path, form),
            Self::CreateTag(path) => repo_form::create_tag_request(path, form),
            Self::AddCollaborator(path) => management_form::collaborator_request(path, form.text("user"), form),
            Self::ChangeCollaborator(path, user) => management_form::collaborator_request(path, user, form),
            Self::AddDeployKey(path) => management_form::deploy_key_request(path, form),
            Self::CreateHook(owner, above) => hook_form::create_request(owner, *above, form)?,
            Self::EditHook(owner, id) => hook_form::edit_request(owner, *id, form)?,
            Self::RestoreRepository(id, repository) => restore_form::request(*id, repository, form),
            Self::EditArtifacts(ids) => artifact_form::form_request(ids, form)?,
            Self::CreateUser => user_form::user_request(form),
            Self::CreateOrganization => organization_form::create_request(form),
            Self::EditOrganization(org) => organization_form::edit_request(org, form)?,
            Self::CreateTeam(org) => team_form::create_request(org, form)?,
            Self::EditTeam(team, others) => team_form::edit_request(team, others, form)?,
            Self::AddTeamMember(team) => team_form::member_request(team, form),
            Self::AddTeamRepository(team) => team_form::repository_request(team, form)?,
            Self::CreateToken(login) => token_form::request(login, form)?,
            Self::AddKey(login, is_own) => user_form::key_request(login, *is_own, form),
            Self::Token => {
                let token = Token::new(form.text("token")).map_err(|error| ("token", error.to_string()))?;
                return Ok(FormAction::Reconnect(Reconnect::WithToken(token)));
            }
            Self::CheckSignature(signed) => return signature::check(signed, form),
            Self::Replay(source) => return replay::ask(source, form),
        }))
    }

    /// Returns whether submitting the form may change something on the daemon, now or with later requests.
    pub(crate) fn changes(&self) -> bool {
        !matches!(self, Self::CheckSignature(_))
    }

    /// Updates other fields after a field was changed.
    pub(crate) fn changed(&self, form: &mut Form, name: &str) {
        if let Self::CreateHook(..) | Self::EditHook(..) = self {
            hook_form::changed(form, name);
        }
    }

    /// Updates other fields after a field lost the focus.
    pub(crate) fn field_left(&self, form: &mut Form, name: &str) {
        if let Self::Migrate = self {
            repo_form::field_left(form, name);
        }
    }

    /// Returns whether a field has no effect with the current values of the others.
    pub(crate) fn hides(&self, form: &Form, name: &str) -> bool {
        match self {
            Self::CreateHook(..) | Self::EditHook(..) => hook_form::hides(form, name),
            Self::Migrate => repo_form::hides(form, name),
            Self::CreateTeam(_) | Self::EditTeam(..) => team_form::hides(form, name),
            _ => false,
        }
    }

    /// Returns a text for the user's editor, and the name of the field for a file that the edited text replaces.
    pub(crate) fn text_to_edit<'a>(&'a self, form: &Form) -> Option<(&'static str, &'a Redacted)> {
        match self {
            Self::Replay(source) => replay::text_to_edit(source, form),
            _ => None,
        }
    }

    /// Returns why a text from the editor cannot be sent.
    pub(crate) fn bad_text(&self, text: &str) -> Option<String> {
        match self {
            Self::Replay(_) => replay::bad_payload(text),
            _ => None,
        }
    }

    /// Returns the repository that it changes and addresses by name.
    pub(crate) fn repository(&self) -> Option<&RepositoryPath> {
        match self {
            Self::EditRepository(path)
            | Self::CreateBranch(path)
            | Self::CreateTag(path)
            | Self::AddCollaborator(path)
            | Self::ChangeCollaborator(path, _)
            | Self::AddDeployKey(path)
            | Self::CreateHook(HookOwner::Repository(path), _) => Some(path),
            _ => None,
        }
    }

    /// Returns the request that loads the edited object.
    pub(crate) fn load(&self) -> Option<Request> {
        match self {
            Self::EditRepository(path) => Some(Request::LoadRepository(path.clone())),
            Self::EditHook(owner, id) => Some(Request::LoadHook(owner.clone(), *id)),
            Self::EditOrganization(org) => Some(Request::Organization(OrganizationRequest::Load(org.clone()))),
            Self::EditTeam(team, _) => Some(Request::Organization(OrganizationRequest::LoadTeam(team.clone()))),
            _ => None,
        }
    }

    /// Returns the field for the owner of the new repository.
    pub(crate) fn owner_field(&self) -> Option<&'static str> {
        match self {
            Self::CreateRepository | Self::RestoreRepository(..) => Some("owner"),
            Self::Migrate => Some("repo_owner"),
            _ => None,
        }
    }

    /// Returns the requests of a form that was opened.
    pub(crate) fn requests(&self) -> Vec<Request> {
        let organizations = self.owner_field().map(|_| Request::OwnOrganizations);
        self.load().into_iter().chain(organizations).collect()
    }

    /// Fills the form with the current state of the object, if the response contains it.
    pub(crate) fn loaded(&self, form: &mut Form, request: &Request, answer: &Answer) {
        match answer {
            Answer::Organizations(names) => {
                if let Some(name) = self.owner_field()
                    && let Some(field) = form.field_mut(name)
                {
                    field.offer(names);
                }
            }
            _ if self.load().as_ref() != Some(request) => {}
            Answer::LoadedHook(hook) => form.merge(&hook_form::values(&hook.value), hook.tag.clone()),
            // Another organization can have the name by now. The form stays unloaded then, and cannot be submitted.
            Answer::Organization(org) if matches!(self, Self::EditOrganization(key) if key.id == org.id) => {
                form.merge(&organization_form::values(org), None);
            }
            Answer::Team(team) => {
                form.merge(&team_form::values(team), None);
                if let Self::EditTeam(key, _) = self {
                    form.kind = Self::EditTeam(key.clone(), team_form::other_units(team));
                }
            }
            Answer::LoadedRepository(repo) => form.merge(&repo_form::values(&repo.value), repo.tag.clone()),
            _ => {}
        }
    }

    /// Returns a warning about the value of a field.
    pub(crate) fn warning(&self, form: &Form, name: &str) -> Option<String> {
        match self {
            Self::CreateHook(..) | Self::EditHook(..) => hook_form::warning(form, name),
            _ => None,
        }
    }

    /// Returns the request that checks the value of a field after it lost the focus.
    pub(crate) fn lookup(&self, form: &Form, name: &str) -> Option<Request> {
        match self {
            Self::CreateRepository | Self::RestoreRepository(..) => repo_form::lookup(form, name, "owner", "name"),
            Self::Migrate => repo_form::lookup(form, name, "repo_owner", "repo_name"),
            Self::CreateHook(owner, _) | Self::EditHook(owner, _) => hook_form::lookup(owner, form, name),
            _ => None,
        }
    }
}
