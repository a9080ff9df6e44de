//! Deliveries: rate, latency and recovery. The receivers run in this process.

mod copies;
mod crowd;
mod fan_out;
mod flood;
mod history;
mod restart;
pub(super) mod scene;

use crate::{Result, plan::Plan, table::Table};

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    flood::measure(plan, table).await?;
    crowd::measure(plan, table).await?;
    copies::measure(plan, table).await?;
    restart::measure(plan, table).await?;
    history::measure(plan, table).await
}

/// The effect of a push with many deliveries on other clients.
pub(super) async fn measure_fan_out(plan: &Plan, table: &mut Table) -> Result<()> {
    fan_out::measure(plan, table).await
}
