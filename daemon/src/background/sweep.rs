//! The sweep: cancels overdue jobs, expires artifacts, and removes abandoned uploads, unneeded files, and data
//! whose retention is over.

use std::{error::Error as StdError, time::Duration};

use crate::{
    app::App,
    clock::Millis,
    delivery::retention,
    service::{Error, artifacts, ci, events, hooks, repositories, set_aside},
};

/// Pause after a failure, so that a broken disk does not keep a core busy.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(5);
/// Most jobs that one pass cancels.
const JOBS: usize = 100;

/// Runs until the daemon stops.
pub async fn run(app: App) {
    let stop = app.tasks.stop().clone();
    let work = async {
        set_aside::set_aside_orphans(&app).await;
        loop {
            match pass(&app).await {
                Ok(next) => app.sweep.wait(&app.clock, next).await,
                Err(error) => {
                    tracing::error!(error = &error as &dyn StdError, "the sweep failed and will be tried again");
                    tokio::time::sleep(PAUSE_AFTER_ERROR).await;
                }
            }
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = work => {}
    }
}

/// Does everything that is due. Returns when the next work is due.
async fn pass(app: &App) -> Result<Option<Millis>, Error> {
    while ci::cancel_overdue(app, JOBS).await? == JOBS {}
    while repositories::sweep(app).await? {}
    while artifacts::sweep(app).await? {}
    while hooks::sweep(app).await? {}
    while events::sweep(app).await? {}
    set_aside::sweep(app).await;
    let due = [
        ci::next_due_ms(app).await?,
        repositories::next_due_ms(app).await?,
        set_aside::next_due_ms(app),
        artifacts::next_due_ms(app).await?,
        hooks::next_due_ms(app).await?,
        events::next_due_ms(app).await?,
        repositories::sweep_heads(app).await?,
        retention::sweep(app).await?,
    ];
    Ok(due.into_iter().flatten().min())
}
