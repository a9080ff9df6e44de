//! Requests about organizations, their teams, members and repositories.

use std::{collections::HashSet, fmt};

use farrier_common::{
    api::{CreateOrg, CreateTeam, EditOrg, EditTeam, Organization, Repository, Team, User},
    client::{Client, ClientError, Pages, RepositoryPath},
};

use super::{Answer, Request, fetch::pages};
use crate::{
    exit::Failure,
    ui::{
        organization::{OrganizationCompactor, OrganizationSummary},
        repo::{RepositoryCompactor, RepositorySummary},
    },
};

/// An organization. The API identifies it by its name; with the number, the screen notices that another organization
/// has the name by now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OrganizationKey {
    pub(crate) id: i64,
    pub(crate) name: String,
}

/// A team. The API identifies it by its number; the names are for messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TeamKey {
    pub(crate) id: i64,
    pub(crate) org: String,
    pub(crate) name: String,
}

impl fmt::Display for TeamKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.org, self.name)
    }
}

/// A member of an organization or of a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OrganizationMember {
    pub(crate) id: i64,
    pub(crate) login: String,
    pub(crate) full_name: String,
    /// Whether the membership of the organization is public; `None` for the members of a team.
    pub(crate) is_public: Option<bool>,
}

impl OrganizationMember {
    fn new(user: User, is_public: Option<bool>) -> Self {
        Self { id: user.id, login: user.login, full_name: user.full_name, is_public }
    }
}

/// A request about organizations. The API names users and repositories; `id` is only for comparing the object with the
/// list, and `None` for an object that a command names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OrganizationRequest {
    /// All organizations that the caller sees.
    List,
    /// Creates an organization, owned by this user or by the caller.
    Create(Option<String>, Box<CreateOrg>),
    /// The current fields of an organization.
    Load(OrganizationKey),
    Edit(OrganizationKey, Box<EditOrg>),
    /// Deletes an organization without repositories.
    Delete(OrganizationKey),
    Teams(OrganizationKey),
    Members(OrganizationKey),
    Repositories(OrganizationKey),
    /// Removes a user from an organization and all its teams.
    RemoveMember {
        org: OrganizationKey,
        user: String,
        id: i64,
    },
    /// Makes the caller's own membership public, or conceals it.
    SetPublic {
        org: OrganizationKey,
        user: String,
        public: bool,
    },
    CreateTeam(String, Box<CreateTeam>),
    /// The current rights and fields of a team.
    LoadTeam(TeamKey),
    EditTeam(TeamKey, Box<EditTeam>),
    DeleteTeam(TeamKey),
    TeamMembers(TeamKey),
    AddTeamMember(TeamKey, String),
    RemoveTeamMember {
        team: TeamKey,
        user: String,
        id: Option<i64>,
    },
    TeamRepositories(TeamKey),
    AddTeamRepository(TeamKey, RepositoryPath),
    RemoveTeamRepository {
        team: TeamKey,
        repo: RepositoryPath,
        id: Option<i64>,
    },
}

impl OrganizationRequest {
    /// Returns whether it changes something on the daemon.
    pub(crate) fn changes(&self) -> bool {
        !matches!(
            self,
            Self::List
                | Self::Load(_)
                | Self::Teams(_)
                | Self::Members(_)
                | Self::Repositories(_)
                | Self::LoadTeam(_)
                | Self::TeamMembers(_)
                | Self::TeamRepositories(_)
        )
    }

    /// Describes the request, to follow "while" or "could not".
    pub(super) fn doing(&self) -> String {
        match self {
            Self::List => "listing organizations".to_owned(),
            Self::Create(_, request) => format!("creating organization {}", request.username),
            Self::Load(org) => format!("loading organization {}", org.name),
            Self::Edit(org, _) => format!("changing organization {}", org.name),
            Self::Delete(org) => format!("deleting organization {}", org.name),
            Self::Teams(org) => format!("listing teams of {}", org.name),
            Self::Members(org) => format!("listing members of {}", org.name),
            Self::Repositories(org) => format!("listing repositories of {}", org.name),
            Self::RemoveMember { org, user, .. } => format!("removing {user} from {}", org.name),
            Self::SetPublic { org, public: true, .. } => format!("making your membership of {} public", org.name),
            Self::SetPublic { org, public: false, .. } => format!("concealing your membership of {}", org.name),
            Self::CreateTeam(org, request) => format!("creating team {org}/{}", request.name),
            Self::LoadTeam(team) => format!("loading team {team}"),
            Self::EditTeam(team, _) => format!("changing team {team}"),
            Self::DeleteTeam(team) => format!("deleting team {team}"),
            Self::TeamMembers(team) => format!("listing members of team {team}"),
            Self::AddTeamMember(team, user) => format!("adding {user} to team {team}"),
            Self::RemoveTeamMember { team, user, .. } => format!("removing {user} from team {team}"),
            Self::TeamRepositories(team) => format!("listing repositories of team {team}"),
            Self::AddTeamRepository(team, repo) => format!("adding {repo} to team {team}"),
            Self::RemoveTeamRepository { team, repo, .. } => format!("removing {repo} from team {team}"),
        }
    }

    /// Describes the result of a change; empty for other requests.
    pub(crate) fn done(&self) -> String {
        match self {
            Self::Create(_, request) => format!("Organization {} created", request.username),
            Self::Edit(org, _) => format!("Organization {} saved", org.name),
            Self::Delete(org) => format!("Organization {} deleted", org.name),
            Self::RemoveMember { org, user, .. } => format!("{user} removed from {}", org.name),
            Self::SetPublic { org, public: true, .. } => format!("Your membership of {} is public", org.name),
            Self::SetPublic { org, public: false, .. } => format!("Your membership of {} is concealed", org.name),
            Self::CreateTeam(org, request) => format!("Team {org}/{} created", request.name),
            Self::EditTeam(team, _) => format!("Team {team} saved"),
            Self::DeleteTeam(team) => format!("Team {team} deleted"),
            Self::AddTeamMember(team, user) => format!("{user} added to team {team}"),
            Self::RemoveTeamMember { team, user, .. } => format!("{user} removed from team {team}"),
            Self::AddTeamRepository(team, repo) => format!("{repo} added to team {team}"),
            Self::RemoveTeamRepository { team, repo, .. } => format!("{repo} removed from team {team}"),
            Self::List
            | Self::Load(_)
            | Self::Teams(_)
            | Self::Members(_)
            | Self::Repositories(_)
            | Self::LoadTeam(_)
            | Self::TeamMembers(_)
            | Self::TeamRepositories(_) => String::new(),
        }
    }
}

/// Handles a request. `part` receives the pages before the last one.
pub(super) async fn answer(client: &Client, request: Request, part: &impl Fn(Answer)) -> Result<Answer, Failure> {
    let Request::Organization(request) = request else { return Ok(Answer::Done) };
    if let OrganizationRequest::Edit(org, _) | OrganizationRequest::Delete(org) = &request {
        check(client, org).await?;
    }
    let doing = request.doing();
    send(client, request, part).await.map_err(Failure::call(doing))
}

/// Returns an error if the name belongs to another organization now. The API addresses organizations by name, and this
/// one can be renamed or deleted while a form or a question about it is open.
async fn check(client: &Client, org: &OrganizationKey) -> Result<(), Failure> {
    let doing = format!("checking organization {} before the change", org.name);
    let found = client.org(&org.name).await.map_err(Failure::call(doing))?;
    if found.id == org.id {
        return Ok(());
    }
    Err(Failure::Other(format!(
        "Nothing was changed: {} is another organization now (ID {}, not {}). The earlier one was renamed or deleted.",
        org.name, found.id, org.id
    )))
}

async fn send(client: &Client, request: OrganizationRequest, part: &impl Fn(Answer)) -> Result<Answer, ClientError> {
    use OrganizationRequest as R;
    let done = |(): ()| Answer::Done;
    let organization = |org: Organization| Answer::Organization(Box::new(org));
    Ok(match request {
        R::List => {
            let mut compactor = OrganizationCompactor::default();
            let open = |list: Vec<Organization>| list.into_iter().map(|org| compactor.compact(org)).collect();
            pages(client.orgs(), open, |org: &OrganizationSummary| org.id, part, Answer::AllOrganizations).await?
        }
        R::Create(owner, request) => organization(client.create_org(owner.as_deref(), &request).await?),
        R::Load(org) => organization(client.org(&org.name).await?),
        R::Edit(org, request) => organization(client.edit_org(&org.name, &request).await?),
        R::Delete(org) => done(client.delete_org(&org.name).await?),
        R::Teams(org) => {
            let open = |list: Vec<Team>| list;
            pages(client.teams(&org.name), open, |team: &Team| team.id, part, Answer::Teams).await?
        }
        R::Members(org) => org_members(client, &org.name, part).await?,
        R::Repositories(org) => repositories(client.organization_repositories(&org.name), part).await?,
        R::RemoveMember { org, user, .. } => done(client.remove_org_member(&org.name, &user).await?),
        R::SetPublic { org, user, public } => done(client.set_membership_public(&org.name, &user, public).await?),
        R::CreateTeam(org, request) => Answer::Team(Box::new(client.create_team(&org, &request).await?)),
        R::LoadTeam(team) => Answer::Team(Box::new(client.team(team.id).await?)),
        R::EditTeam(team, request) => Answer::Team(Box::new(client.edit_team(team.id, &request).await?)),
        R::DeleteTeam(team) => done(client.delete_team(team.id).await?),
        R::TeamMembers(team) => {
            let open = |users: Vec<User>| users.into_iter().map(|user| OrganizationMember::new(user, None)).collect();
            let id = |member: &OrganizationMember| member.id;
            pages(client.team_members(team.id), open, id, part, Answer::Members).await?
        }
        R::AddTeamMember(team, user) => done(client.add_team_member(team.id, &user).await?),
        R::RemoveTeamMember { team, user, .. } => done(client.remove_team_member(team.id, &user).await?),
        R::TeamRepositories(team) => repositories(client.team_repositories(team.id), part).await?,
        R::AddTeamRepository(team, repo) => done(client.add_team_repository(team.id, &repo).await?),
        R::RemoveTeamRepository { team, repo, .. } => done(client.remove_team_repository(team.id, &repo).await?),
    })
}

/// Lists the members of an organization, each with whether the membership is public.
async fn org_members(client: &Client, org: &str, part: &impl Fn(Answer)) -> Result<Answer, ClientError> {
    let mut public = HashSet::new();
    let mut public_pages = client.public_org_members(org);
    while let Some(users) = public_pages.next(|users: Vec<User>| (0, users), |user| user.id).await? {
        public.extend(users.into_iter().map(|user| user.id));
    }
    let member = |user: User| {
        let is_public = public.contains(&user.id);
        OrganizationMember::new(user, Some(is_public))
    };
    let open = |users: Vec<User>| users.into_iter().map(member).collect();
    let id = |member: &OrganizationMember| member.id;
    pages(client.org_members(org), open, id, part, Answer::Members).await
}

async fn repositories(list: Pages<'_>, part: &impl Fn(Answer)) -> Result<Answer, ClientError> {
    let mut compactor = RepositoryCompactor::default();
    let open = |found: Vec<Repository>| found.into_iter().map(|repo| compactor.compact(repo)).collect();
    pages(list, open, |repo: &RepositorySummary| repo.id, part, Answer::Repositories).await
}
