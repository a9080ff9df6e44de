//! Runners of the Gitea family that use the daemon as the cache server of their jobs.

use crate::{
    model::secret::SharedSecret,
    service::{Context, Error, authentication, sign_in},
    shares::Holder,
};

/// Checks the secret that a runner sent. Wrong ones from `source` are counted like wrong credentials.
pub async fn require_runner(context: &Context, secret: &SharedSecret, sent: &str, source: Holder) -> Result<(), Error> {
    if secret.matches(sent) {
        return Ok(());
    }
    sign_in::refuse(context, source, "wrong secret of a runner").await?;
    Err(Error::Unauthenticated { reason: "the secret is not the value of ci.cache_secret".into() })
}

/// Checks that `token` is the runtime token of a job in progress. The token of another forge would have access to
/// nothing, so its runner must not send its jobs here.
pub async fn register_job(context: &Context, token: &str) -> Result<(), Error> {
    match authentication::job(context, token).await {
        Err(Error::Unauthenticated { .. }) => {
            Err(Error::Forbidden { reason: "the token is not that of a running job of this farrier".into() })
        }
        other => other.map(drop),
    }
}
