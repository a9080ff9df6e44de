//! Requests for organizations.

use http::Method;

use super::{Call, Client, ClientError, Pages, answer, path::segment};
use crate::api::{CreateOrg, EditOrg, Organization};

impl Client {
    /// Lists the organizations that are visible to the caller.
    pub fn orgs(&self) -> Pages<'_> {
        Pages::new(self, "/api/v1/orgs".to_owned())
    }

    /// Returns an organization.
    pub async fn org(&self, name: &str) -> Result<Organization, ClientError> {
        self.get(&api(name)).await
    }

    /// Creates an organization owned by the caller or, for administrators, by the user `owner`.
    pub async fn create_org(&self, owner: Option<&str>, request: &CreateOrg) -> Result<Organization, ClientError> {
        match owner {
            None => self.post("/api/v1/orgs", request).await,
            Some(owner) => self.post(&format!("/api/v1/admin/users/{}/orgs", segment(owner)), request).await,
        }
    }

    /// Changes an organization.
    pub async fn edit_org(&self, name: &str, request: &EditOrg) -> Result<Organization, ClientError> {
        self.patch(&api(name), request).await
    }

    /// Deletes an organization that owns no repositories.
    pub async fn delete_org(&self, name: &str) -> Result<(), ClientError> {
        self.delete(&api(name)).await
    }

    /// Lists the members of an organization that the caller sees.
    pub fn org_members(&self, name: &str) -> Pages<'_> {
        Pages::new(self, format!("{}/members", api(name)))
    }

    /// Lists the members of an organization whose membership is public.
    pub fn public_org_members(&self, name: &str) -> Pages<'_> {
        Pages::new(self, format!("{}/public_members", api(name)))
    }

    /// Removes a user from an organization and all its teams.
    pub async fn remove_org_member(&self, name: &str, user: &str) -> Result<(), ClientError> {
        self.delete(&format!("{}/members/{}", api(name), segment(user))).await
    }

    /// Makes the caller's own membership of an organization public, or conceals it.
    pub async fn set_membership_public(&self, name: &str, user: &str, public: bool) -> Result<(), ClientError> {
        let target = format!("{}/public_members/{}", api(name), segment(user));
        if public {
            return answer::drain(self.send(Call::new(Method::PUT, target)).await?).await;
        }
        self.delete(&target).await
    }
}

fn api(name: &str) -> String {
    format!("/api/v1/orgs/{}", segment(name))
}
