//! The listener of `metrics.listen`: figures and health for whoever can connect, on places of its own, so
//! that they can be read while every other place is taken.

use std::{io, net::SocketAddr, sync::Arc};

use tokio::sync::Semaphore;

use crate::{
    app::App,
    http::{self, Front},
    serve::{self, Limits, Listener},
};

/// Connections at once: few look, and not often.
const PLACES: usize = 16;

/// Listens on `address` and serves until the daemon stops; where that is.
pub(crate) fn begin(app: &App, address: SocketAddr) -> io::Result<String> {
    let listener = Listener::tcp(serve::bind_tcp(address)?)?;
    let address = listener.address().to_owned();
    let server = &app.config.server;
    let limits = Limits {
        slots: Arc::new(Semaphore::new(PLACES)),
        header_timeout: server.header_timeout,
        idle_timeout: server.idle_timeout,
        drain_grace: server.drain_grace,
        reserve: app.serving.reserve.clone(),
    };
    let router = http::watched(app.clone());
    let front = Front::new(router, app);
    let serving = serve::serve(vec![listener], limits, app.tasks.clone(), Arc::default(), move |peer, request| {
        front.clone().handle(peer, request)
    });
    app.tasks.keep("metrics", serving);
    Ok(address)
}
