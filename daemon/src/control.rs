//! What can be done to a daemon that runs, from inside its process: look whether it answers, put
//! another configuration in force.

use std::{fmt, sync::Arc};

use tokio::sync::Semaphore;

use crate::{
    app::{App, WeakApp},
    config::{self, Config},
    serve::{self, FdGuard},
    tasks::Tasks,
};

/// A handle on the running daemon. It does not keep it alive.
#[derive(Clone)]
pub struct Control(WeakApp);

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Control")
    }
}

/// What came of another configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// Something holds from now on that did not before.
    pub changed: bool,
    /// Keys whose new values wait for the next start.
    pub waiting: Vec<&'static str>,
}

impl Control {
    pub(crate) fn new(app: &App) -> Self {
        Self(app.weak())
    }

    /// Whether the daemon does what it is for: a listener is served and the store answers. A full
    /// disk does not count: starting again makes no room.
    pub async fn answers(&self) -> bool {
        let Some(app) = self.0.upgrade() else { return false };
        if let Err(error) = app.store.health().await {
            tracing::error!(%error, "the store does not answer");
            return false;
        }
        // While every place is taken nobody else gets in, which is no fault of the daemon.
        if app.serving.slots.available_permits() == 0 {
            return true;
        }
        // The Unix socket comes first: no proxy and no filter of packets stands before it.
        let listeners = &app.serving.listeners;
        let unix = listeners.iter().find(|(kind, _)| *kind == "unix");
        let Some((kind, address)) = unix.or(listeners.first()) else { return true };
        match serve::probe(kind, address).await {
            Ok(()) => true,
            Err(error) => {
                tracing::error!(%error, address, "the daemon does not answer itself");
                false
            }
        }
    }

    /// Room for one descriptor, also when none is free: to look whether the daemon answers, and to say so.
    pub fn lend_descriptor(&self) -> Option<FdGuard> {
        self.0.upgrade()?.serving.reserve.acquire()
    }

    /// Puts `next` in force, but for what cannot change while the daemon runs.
    pub fn reload(&self, mut next: Config) -> Reloaded {
        let Some(app) = self.0.upgrade() else { return Reloaded::default() };
        let now: &Config = &app.config;
        let waiting = config::keep_fixed(now, &mut next);
        // Also when the file says what it said: somebody may have asked for something else meanwhile.
        app.log_filter.send_replace(next.log.filter.clone());
        let changed = *now != next;
        if changed {
            let resize = |places: &Arc<Semaphore>, from, to| resize(&app.tasks, places, from, to);
            resize(&app.serving.slots, now.server.max_connections, next.server.max_connections);
            resize(&app.uploads, now.artifacts.max_uploads, next.artifacts.max_uploads);
            resize(&app.archives, now.git.max_archives, next.git.max_archives);
            app.client.allow(&next.webhook.allowed_hosts);
            app.config.replace(next);
            // What is overdue now may not have been before.
            app.sweep.now();
            app.pruning.now();
        }
        Reloaded { changed, waiting }
    }
}

/// Changes how many permits there are. Those in use are taken away as they come back.
fn resize(tasks: &Tasks, places: &Arc<Semaphore>, from: usize, to: usize) {
    if to >= from {
        places.add_permits(to - from);
        return;
    }
    let missing = (from - to) - places.forget_permits(from - to);
    let (places, stop) = (places.clone(), tasks.stop().clone());
    tasks.short(async move {
        for _ in 0..missing {
            let Some(Ok(place)) = stop.run_until_cancelled(places.acquire()).await else { return };
            place.forget();
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn places_in_use_go_when_they_come_back() {
        let (tasks, places) = (Tasks::default(), Arc::new(Semaphore::new(3)));
        let used = [places.clone().try_acquire_owned(), places.clone().try_acquire_owned()].map(|p| p.expect("free"));
        resize(&tasks, &places, 3, 1);
        assert_eq!(places.available_permits(), 0, "the free one is gone at once");
        let [first, second] = used;
        drop(first);
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        assert_eq!(places.available_permits(), 0, "the next one goes when it comes back");
        drop(second);
        assert_eq!(places.available_permits(), 1);
        resize(&tasks, &places, 1, 5);
        assert_eq!(places.available_permits(), 5);
    }
}
