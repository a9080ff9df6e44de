//! Requests for organizations.

use super::{Client, ClientError, Pages, path::segment};
use crate::api::{CreateOrg, Organization};

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

    /// Deletes an organization that owns no repositories.
    pub async fn delete_org(&self, name: &str) -> Result<(), ClientError> {
        self.delete(&api(name)).await
    }
}

fn api(name: &str) -> String {
    format!("/api/v1/orgs/{}", segment(name))
}
