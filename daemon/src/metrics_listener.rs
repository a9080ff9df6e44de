//! The listener of `metrics.listen`: serves metrics and health without authentication. It has its own connection
//! limit, so that both can be read when `server.max_connections` is reached.

use std::{io, net::SocketAddr, sync::Arc};

use crate::{
    http::{self, AppState, HttpService},
    serve::{self, Admission, AdmissionLimits, ConnectionLimits, Listener, Pace},
};

/// Maximum number of open connections.
const CONNECTIONS_MAX: usize = 16;

/// Starts to listen on `address`, serves until the daemon stops, and returns the bound address.
pub(crate) fn start(state: &AppState, address: SocketAddr) -> io::Result<String> {
    let listener = Listener::tcp(serve::bind_tcp(address)?)?;
    let address = listener.address().to_owned();
    let server = &state.config.server;
    let admission = AdmissionLimits { tcp: CONNECTIONS_MAX, per_address: 0, unix: 0, exempt: Vec::new() };
    let limits = ConnectionLimits {
        admission: Arc::new(Admission::new(admission)),
        memory: state.serving.memory.clone(),
        header_timeout: server.header_timeout,
        response_pace: Pace { wait_max: server.idle_timeout, min_bytes_per_sec: server.response_min_bytes_per_sec },
        drain_grace: server.drain_grace,
        reserve: state.serving.reserve.clone(),
    };
    let router = http::metrics_router(state.clone());
    let service = HttpService::new(router, state);
    let serving = serve::serve(vec![listener], limits, state.tasks.clone(), Arc::default(), service);
    state.tasks.keep("metrics", serving);
    Ok(address)
}
