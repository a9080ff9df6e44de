//! Gives memory back to the system after many large requests have ended. The allocator keeps freed memory otherwise.

use std::time::Duration;

use crate::{service::Context, tasks};

/// Pause before memory is given back, so that requests that end at the same time need only one call.
const PAUSE: Duration = Duration::from_secs(1);

/// Runs until the daemon stops.
pub async fn run(context: Context) {
    let stop = context.tasks.stop().clone();
    let work = async {
        loop {
            context.serving.memory.much_freed().await;
            tokio::time::sleep(PAUSE).await;
            tasks::blocking(trim).await;
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = work => {}
    }
}

/// Returns free pages of the heap to the system.
#[cfg(target_env = "gnu")]
fn trim() {
    // SAFETY: the function only returns unused memory of the allocator, and may be called from any thread.
    #[expect(unsafe_code, reason = "malloc_trim has no safe wrapper")]
    let _has_released_memory = unsafe { libc::malloc_trim(0) };
}

/// Other allocators return free memory by themselves, or have no such function.
#[cfg(not(target_env = "gnu"))]
fn trim() {}
