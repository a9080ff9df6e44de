//! ID tokens of workflow jobs (OpenID Connect). Other services accept them instead of stored credentials.
//!
//! The claims come from the rows of the job and its run. Ref, commit and workflow are what the agent reported when the
//! run began: everyone who may write to the repository can report any of them.

mod keys;

use farrier_proto::store::{Repository, Run, Visibility};
use serde_json::Value;
use tokio::sync::Mutex;

use super::{Context, Error, authentication::JobIdentity, ref_rules};
use crate::{
    git::ref_name::{self, RefKind},
    model::{
        cache_refs::CacheRefs,
        id_token::{IdTokenClaims, JobClaims},
    },
    show,
    store::{Read, owners, repositories, runs},
    tasks,
};

/// Longest audience, in bytes.
const AUDIENCE_MAX_BYTES: usize = 1_024;

/// The part of the state of ID tokens that is not in the store.
#[derive(Debug, Default)]
pub struct IdTokenState {
    /// Held while keys are created.
    creating: Mutex<()>,
}

/// Returns the public keys as JSON Web Keys, including those that will sign later and those that were replaced less
/// than a day ago.
pub async fn public_keys(context: &Context) -> Result<Vec<Value>, Error> {
    let keys = keys::all(context).await?;
    Ok(keys.iter().filter_map(|(_, row)| serde_json::from_str(&row.public_jwk).ok()).collect())
}

/// Returns an ID token for `job` and the service `audience`; `None`: the address of the repository's owner, as on
/// GitHub.
pub async fn issue(context: &Context, job: &JobIdentity, audience: Option<String>) -> Result<String, Error> {
    let is_valid = |text: &str| text.len() <= AUDIENCE_MAX_BYTES && !text.chars().any(char::is_control);
    if !audience.as_deref().is_none_or(is_valid) {
        let reason = format!("must have at most {AUDIENCE_MAX_BYTES} bytes and no control characters");
        return Err(Error::invalid("audience", reason));
    }
    let snapshot = context.store.read().await?;
    let claims = job_claims(&snapshot, job).await?;
    drop(snapshot);
    let issuer = context.root_url.to_string();
    let audience = audience.filter(|text| !text.is_empty());
    let audience = audience.unwrap_or_else(|| format!("{issuer}/{}", claims.repository_owner));
    let now = context.now_ms();
    let claims = IdTokenClaims::new(claims, issuer, audience, now, uuid::Uuid::new_v4().to_string());

    let keys = keys::all(context).await?;
    let algorithm = context.config.ci.id_token_algorithm;
    let token = tasks::blocking(move || Ok(claims.sign(&keys::signing(&keys, algorithm, now)?)));
    token.await.map_err(|source| Error::Store { doing: "signing an ID token", source })
}

/// Returns the claims about a job.
async fn job_claims(read: &impl Read, job: &JobIdentity) -> Result<JobClaims, Error> {
    let missing = || Error::NotFound { what: "the job" };
    let run = runs::run(read, job.run_id).await?.ok_or_else(missing)?;
    let repository = repositories::get(read, job.repository_id).await?.filter(|row| !row.deleted);
    let repository = repository.ok_or_else(missing)?;
    let owner = owners::owner(read, repository.owner_kind(), repository.owner_id).await?.ok_or_else(missing)?;
    let actor = owners::user(read, run.actor_id).await?.map(|user| user.name).unwrap_or_default();
    let git_ref = CacheRefs::of_job(&run.head_branch, &repository.default_branch).own().to_owned();
    let is_protected = match ref_name::kind(&git_ref) {
        RefKind::Branch(branch) => ref_rules::protects_branch(read, repository.id, branch).await?,
        RefKind::Tag(_) | RefKind::Other => false,
    };
    Ok(claims_of(&run, job.job_id, (&repository, owner.name()), (git_ref, is_protected), actor))
}

fn claims_of(
    run: &Run,
    job: u64,
    (repository, owner): (&Repository, &str),
    (git_ref, is_protected): (String, bool),
    actor: String,
) -> JobClaims {
    let path = format!("{owner}/{}", repository.name);
    let workflow_ref = format!("{path}/{}@{git_ref}", run.workflow);
    JobClaims {
        ref_type: if git_ref.starts_with("refs/tags/") { "tag" } else { "branch" },
        git_ref,
        ref_protected: if is_protected { "true" } else { "false" },
        sha: run.head_sha.clone(),
        repository: path,
        repository_id: repository.id.to_string(),
        repository_owner: owner.to_owned(),
        repository_owner_id: repository.owner_id.to_string(),
        repository_visibility: match repository.listed() {
            Visibility::Public => "public",
            Visibility::Limited => "internal",
            Visibility::Private => "private",
        },
        actor,
        actor_id: run.actor_id.to_string(),
        workflow: run.workflow.clone(),
        workflow_ref: workflow_ref.clone(),
        workflow_sha: run.head_sha.clone(),
        job_workflow_ref: workflow_ref,
        job_workflow_sha: run.head_sha.clone(),
        event_name: show::RUN_EVENT,
        head_ref: "",
        base_ref: "",
        run_id: run.id.to_string(),
        run_number: run.number.to_string(),
        run_attempt: "1",
        check_run_id: job.to_string(),
        runner_environment: "self-hosted",
    }
}
