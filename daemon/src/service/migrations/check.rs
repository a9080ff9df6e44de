//! Checks a migration without starting it: the same checks, and information about the source.

use farrier_common::api::{CheckedMigration, MigrateRepository};

use super::{
    MigrationPlan, plan,
    run::{MigrationError, to_error},
};
use crate::{
    model::identity::Identity,
    service::{Context, Error},
    show,
};

/// Makes the checks of [`begin`](super::begin) and connects to the source. Creates nothing.
pub async fn check(
    context: &Context,
    identity: &Identity,
    input: &MigrateRepository,
) -> Result<CheckedMigration, Error> {
    let MigrationPlan { source, signed_in, .. } = plan(context, identity, input).await?;
    let _slot = context.migrations.slots.try_acquire().map_err(|_| Error::Busy)?;
    let survey = tokio::select! {
        () = context.tasks.stop().cancelled() => Err(MigrationError::Stopped),
        survey = context.git.source_summary(&source) => survey.map_err(MigrationError::Git),
    };
    let survey = survey.map_err(to_error)?;
    let space =
        context.blobs.space().await.map_err(|source| Error::Blob { doing: "looking for free space", source })?;
    let count = |many: usize| i64::try_from(many).unwrap_or(i64::MAX);
    Ok(CheckedMigration {
        branches: count(survey.branches),
        tags: count(survey.tags),
        head: survey.head.unwrap_or_default(),
        object_format_name: if survey.sha256 { "sha256" } else { "sha1" }.to_owned(),
        signed_in,
        free_bytes: show::number(space.free_bytes),
        max_bytes: show::number(context.config.migration.max_bytes),
    })
}
