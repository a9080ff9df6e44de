//! A migration that is only asked about: the same checks, and what the source says it has.

use farrier_common::api::{CheckedMigration, MigrateRepository};

use super::{
    MigrationPlan, plan,
    run::{Failed, told},
};
use crate::{app::App, model::identity::Identity, service::Error, show};

/// Refuses what [`begin`](super::begin) would refuse, and connects to the source. Makes nothing.
pub async fn check(app: &App, identity: &Identity, input: &MigrateRepository) -> Result<CheckedMigration, Error> {
    let MigrationPlan { source, signed_in, .. } = plan(app, identity, input).await?;
    let _slot = app.migrations.slots.try_acquire().map_err(|_| Error::Busy)?;
    let survey = tokio::select! {
        () = app.tasks.stop().cancelled() => Err(Failed::Stopped),
        survey = app.git.source_summary(&source) => survey.map_err(Failed::Git),
    };
    let survey = survey.map_err(told)?;
    let space = app.blobs.space().await.map_err(|source| Error::Blob { doing: "looking for free space", source })?;
    let count = |many: usize| i64::try_from(many).unwrap_or(i64::MAX);
    Ok(CheckedMigration {
        branches: count(survey.branches),
        tags: count(survey.tags),
        head: survey.head.unwrap_or_default(),
        object_format_name: if survey.sha256 { "sha256" } else { "sha1" }.to_owned(),
        signed_in,
        free_bytes: show::number(space.free_bytes),
        max_bytes: show::number(app.config.migration.max_bytes),
    })
}
