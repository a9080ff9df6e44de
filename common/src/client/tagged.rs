//! Conditional changes of objects.
//!
//! A read returns the object's entity tag. A change that sends the tag is rejected with 412
//! ([`ClientError::is_changed`]) if the object was edited since, so that two users never overwrite each other's
//! changes.

use http::{HeaderValue, Method, StatusCode, header};
use serde::{Serialize, de::DeserializeOwned};

use super::{Answer, Call, Client, ClientError, HookOwner, RepositoryPath, answer, full};
use crate::api::{EditHook, EditRepository, Hook, Repository};

/// Identifies a version of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityTag(HeaderValue);

impl EntityTag {
    /// Creates a tag from the value of an `ETag` header.
    pub fn new(value: HeaderValue) -> Self {
        Self(value)
    }
}

/// An object with its entity tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tagged<T> {
    /// The object.
    pub value: T,
    /// The tag; `None` if the daemon sent none.
    pub tag: Option<EntityTag>,
}

impl ClientError {
    /// Returns whether the daemon rejected a change because the object was edited since it was read.
    pub fn is_changed(&self) -> bool {
        self.status() == Some(StatusCode::PRECONDITION_FAILED)
    }
}

impl Client {
    /// Reads an object and its tag.
    pub async fn get_tagged<T: DeserializeOwned>(&self, target: &str) -> Result<Tagged<T>, ClientError> {
        tagged(self.send(Call::new(Method::GET, target)).await?).await
    }

    /// Changes the object that `target` names if its tag still matches `tag`. Without a tag the change
    /// is made unconditionally.
    pub async fn patch_if_match<T: DeserializeOwned>(
        &self,
        target: &str,
        body: &impl Serialize,
        tag: Option<&EntityTag>,
    ) -> Result<Tagged<T>, ClientError> {
        let text = serde_json::to_vec(body).map_err(|source| ClientError::Encode { source })?;
        let call = Call::new(Method::PATCH, target)
            .header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .body(full(text));
        tagged(self.send(conditional(call, tag)).await?).await
    }

    /// Deletes the object that `target` names if its tag still matches `tag`. Without a tag it is
    /// deleted unconditionally.
    pub async fn delete_if_match(&self, target: &str, tag: Option<&EntityTag>) -> Result<(), ClientError> {
        answer::drain(self.send(conditional(Call::new(Method::DELETE, target), tag)).await?).await
    }

    /// Reads a hook and its tag.
    pub async fn hook_tagged(&self, owner: &HookOwner, id: i64) -> Result<Tagged<Hook>, ClientError> {
        self.get_tagged(&owner.hook(id)).await
    }

    /// Changes the fields of a hook that `request` has, if the hook still matches `tag`.
    pub async fn edit_hook_if_match(
        &self,
        owner: &HookOwner,
        id: i64,
        request: &EditHook,
        tag: Option<&EntityTag>,
    ) -> Result<Tagged<Hook>, ClientError> {
        self.patch_if_match(&owner.hook(id), request, tag).await
    }

    /// Deletes a hook if it still matches `tag`.
    pub async fn delete_hook_if_match(
        &self,
        owner: &HookOwner,
        id: i64,
        tag: Option<&EntityTag>,
    ) -> Result<(), ClientError> {
        self.delete_if_match(&owner.hook(id), tag).await
    }

    /// Reads a repository and its tag.
    pub async fn repository_tagged(&self, path: &RepositoryPath) -> Result<Tagged<Repository>, ClientError> {
        self.get_tagged(&path.api()).await
    }

    /// Changes the fields of a repository that `request` has, if the repository still matches `tag`.
    pub async fn edit_repository_if_match(
        &self,
        path: &RepositoryPath,
        request: &EditRepository,
        tag: Option<&EntityTag>,
    ) -> Result<Tagged<Repository>, ClientError> {
        self.patch_if_match(&path.api(), request, tag).await
    }

    /// Deletes a repository if it still matches `tag`.
    pub async fn delete_repository_if_match(
        &self,
        path: &RepositoryPath,
        tag: Option<&EntityTag>,
    ) -> Result<(), ClientError> {
        self.delete_if_match(&path.api(), tag).await
    }
}

fn conditional(call: Call, tag: Option<&EntityTag>) -> Call {
    match tag {
        Some(EntityTag(tag)) => call.header(header::IF_MATCH, tag.clone()),
        None => call,
    }
}

async fn tagged<T: DeserializeOwned>(reply: Answer) -> Result<Tagged<T>, ClientError> {
    let tag = reply.headers().get(header::ETAG).cloned().map(EntityTag);
    Ok(Tagged { value: answer::json(reply).await?, tag })
}
