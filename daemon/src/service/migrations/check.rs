//! Checks a migration without starting it: the same checks, and information about the source.

use farrier_common::api::{CheckedMigration, MigrateRepository};

use super::{
    MigrationPlan, plan,
    run::{MigrationError, to_error},
};
use crate::{
    model::identity::Identity,
    service::{Context, Error, disk_space},
    shares::Holder,
    show,
};

/// Runs the checks of [`begin`](super::begin) and connects to the source. Creates nothing.
pub async fn check(
    context: &Context,
    identity: &Identity,
    input: &MigrateRepository,
) -> Result<CheckedMigration, Error> {
    let MigrationPlan { source, credentials, .. } = plan(context, identity, input).await?;
    let _share = context.work.imports.take(Holder::caller(identity, None))?;
    let summary = tokio::select! {
        () = context.tasks.stop().cancelled() => Err(MigrationError::Stopped),
        summary = context.git.source_summary(&source) => summary.map_err(MigrationError::Git),
    };
    let summary = summary.map_err(|failed| to_error(failed, &source.secrets()))?;
    let space = disk_space::local(context).await?;
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    Ok(CheckedMigration {
        branches: count(summary.branches),
        tags: count(summary.tags),
        head: summary.head.unwrap_or_default(),
        object_format_name: if summary.sha256 { "sha256" } else { "sha1" }.to_owned(),
        signed_in: credentials.is_some(),
        free_bytes: show::number(space.free_bytes),
        max_bytes: show::number(context.config.migration.max_bytes),
    })
}
