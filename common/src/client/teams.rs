//! Requests for teams of organizations.

use http::Method;

use super::{Call, Client, ClientError, Pages, RepositoryPath, answer, path::segment};
use crate::api::{CreateTeam, EditTeam, Team};

impl Client {
    /// Lists the teams of an organization.
    pub fn teams(&self, org: &str) -> Pages<'_> {
        Pages::new(self, org_teams(org))
    }

    /// Creates a team.
    pub async fn create_team(&self, org: &str, request: &CreateTeam) -> Result<Team, ClientError> {
        self.post(&org_teams(org), request).await
    }

    /// Returns a team.
    pub async fn team(&self, id: i64) -> Result<Team, ClientError> {
        self.get(&team(id)).await
    }

    /// Changes a team.
    pub async fn edit_team(&self, id: i64, request: &EditTeam) -> Result<Team, ClientError> {
        self.patch(&team(id), request).await
    }

    /// Deletes a team.
    pub async fn delete_team(&self, id: i64) -> Result<(), ClientError> {
        self.delete(&team(id)).await
    }

    /// Lists the members of a team.
    pub fn team_members(&self, id: i64) -> Pages<'_> {
        Pages::new(self, format!("{}/members", team(id)))
    }

    /// Adds a user to a team, and thereby to the organization.
    pub async fn add_team_member(&self, id: i64, user: &str) -> Result<(), ClientError> {
        self.put_team(member(id, user)).await
    }

    /// Removes a user from a team. A user without another team leaves the organization.
    pub async fn remove_team_member(&self, id: i64, user: &str) -> Result<(), ClientError> {
        self.delete(&member(id, user)).await
    }

    /// Lists the repositories of a team.
    pub fn team_repositories(&self, id: i64) -> Pages<'_> {
        Pages::new(self, format!("{}/repos", team(id)))
    }

    /// Adds a repository of the organization to a team.
    pub async fn add_team_repository(&self, id: i64, repo: &RepositoryPath) -> Result<(), ClientError> {
        self.put_team(repository(id, repo)).await
    }

    /// Removes a repository from a team.
    pub async fn remove_team_repository(&self, id: i64, repo: &RepositoryPath) -> Result<(), ClientError> {
        self.delete(&repository(id, repo)).await
    }

    async fn put_team(&self, target: String) -> Result<(), ClientError> {
        answer::drain(self.send(Call::new(Method::PUT, target)).await?).await
    }
}

fn org_teams(org: &str) -> String {
    format!("/api/v1/orgs/{}/teams", segment(org))
}

fn team(id: i64) -> String {
    format!("/api/v1/teams/{id}")
}

fn member(id: i64, user: &str) -> String {
    format!("{}/members/{}", team(id), segment(user))
}

fn repository(id: i64, repo: &RepositoryPath) -> String {
    format!("{}/repos/{}/{}", team(id), segment(&repo.owner), segment(&repo.name))
}
