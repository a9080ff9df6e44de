//! Events: a stream of server-sent events, or a page as JSON.

use std::{convert::Infallible, fmt::Write as _, time::Duration};

use axum::{
    body::Body,
    extract::{RawQuery, State},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use farrier_common::api;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use tokio::{sync::watch, time::Instant};

use crate::{
    http::{
        AppState,
        auth::{Caller, RepositoryScope, SignedIn},
        error::ApiError,
        extract::ok,
        openapi::parameters::{EventParams, LastEventHeader},
        query, show,
    },
    model::identity::Identity,
    service::{
        Error,
        access::Action,
        access_watch::AccessWatch,
        events::{self, EventFilter, KINDS},
    },
    shares::Share,
};

/// Default number of events per page.
const PAGE: usize = 100;
/// Maximum number of events per page.
const PAGE_MAX: usize = 1_000;
/// Time without events after which a comment is sent, so that the client notices a broken connection.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Time after which a stream ends. The client connects again and continues.
const STREAM_MAX: Duration = Duration::from_secs(600);
/// Time after which a stream looks again for events that another transaction holds up.
const RETRY: Duration = Duration::from_millis(50);
/// Maximum number of characters of an unknown kind in an error message.
const UNKNOWN_MAX_CHARS: usize = 50;
/// Request header with the number of the last received event. Clients send it when they reconnect.
const LAST: HeaderName = HeaderName::from_static("last-event-id");

/// Streams events as server-sent events, or returns a page of events if the client accepts only JSON.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierListEvents", tag = "farrier",
    params(EventParams, LastEventHeader),
    security(("account" = [])),
    responses(
        (status = 200, content((api::Events = "application/json"), (String = "text/event-stream"))),
        (
            status = 422,
            description = "A number in the query or in `Last-Event-ID` or the value of `repository` is not valid.",
        ),
    ),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<SignedIn<RepositoryScope>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = query.as_deref();
    let filter = filter(&state, &caller.identity, query).await?;
    let wants_page = headers.get(header::ACCEPT).is_some_and(|value| value.as_bytes() == b"application/json");
    let after = after(query, &headers)?;
    let last = query::number(query, "last")?.map(|last| usize::try_from(last).unwrap_or(usize::MAX));
    if wants_page {
        let limit = query::number(query, "limit")?.map_or(PAGE, |limit| usize::try_from(limit).unwrap_or(PAGE_MAX));
        let limit = limit.clamp(1, PAGE_MAX);
        let page = match (after, last) {
            (None, Some(last)) => events::newest(&state, &caller.identity, &filter, last.min(PAGE_MAX)).await?,
            _ => events::page(&state, &caller.identity, &filter, after.unwrap_or(0), limit).await?,
        };
        return Ok(ok(api::Events {
            events: page.events.iter().map(show::event).collect(),
            next: show::number(page.next),
            more: page.more,
            gap: page.gap,
        })
        .into_response());
    }
    let after = match after {
        Some(after) => after,
        None => start(&state, &caller.identity, &filter, last.unwrap_or(0)).await?,
    };
    let share = state.work.event_streams.take(caller.holder).map_err(Error::from)?;
    let stream = EventStream {
        changes: state.events.listen(),
        after,
        access: AccessWatch::new(&state, caller.identity, filter.repository.map(|id| (id, Action::Read))),
        state,
        filter,
        ends: Instant::now() + STREAM_MAX,
        started: false,
        _share: share,
    };
    let chunks = futures_util::stream::unfold(stream, async |mut stream| {
        let chunk = stream.next().await?;
        Some((Ok::<_, Infallible>(chunk), stream))
    });
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, Body::from_stream(chunks)).into_response())
}

/// Returns the event number after which a stream starts that begins with the newest `last` events.
async fn start(state: &AppState, identity: &Identity, filter: &EventFilter, last: usize) -> Result<u64, ApiError> {
    let newest = events::newest(state, identity, filter, last).await?;
    Ok(newest.events.first().map_or(newest.next, |event| event.id.saturating_sub(1)))
}

async fn filter(state: &AppState, identity: &Identity, query: Option<&str>) -> Result<EventFilter, ApiError> {
    let pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let kinds = pairs.filter(|(name, _)| name == "kind").flat_map(|(_, value)| {
        value.split(',').map(str::trim).filter(|kind| !kind.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    });
    let kinds: Vec<String> = kinds.collect();
    if let Some(unknown) = kinds.iter().find(|kind| !KINDS.contains(&kind.as_str())) {
        let unknown: String = unknown.chars().take(UNKNOWN_MAX_CHARS).collect();
        let text = format!("[kind]: {unknown:?} is not one of {}", KINDS.join(", "));
        return Err(ApiError::unprocessable("kind", text));
    }
    let snapshot = state.store.read().await.map_err(Error::from)?;
    Ok(EventFilter { repository: super::repository(&snapshot, identity, query, Action::Read).await?, kinds })
}

/// Returns the event number to continue after: from `Last-Event-ID`, which clients send when they reconnect, else from
/// the query.
fn after(query: Option<&str>, headers: &HeaderMap) -> Result<Option<u64>, ApiError> {
    match headers.get(LAST) {
        Some(value) => {
            let number = value.to_str().ok().and_then(|text| text.trim().parse().ok());
            let refused = || ApiError::unprocessable("last-event-id", "[last-event-id]: must be a number");
            number.map(Some).ok_or_else(refused)
        }
        None => query::number(query, "after"),
    }
}

/// The event stream of one client. It reads events from the store when the client can receive them, and buffers none.
struct EventStream {
    state: AppState,
    access: AccessWatch,
    filter: EventFilter,
    after: u64,
    changes: watch::Receiver<()>,
    ends: Instant,
    started: bool,
    _share: Share,
}

impl EventStream {
    /// Returns the next bytes to send, or `None` at the end of the stream.
    async fn next(&mut self) -> Option<Bytes> {
        if !self.started {
            self.started = true;
            // hyper sends the response head with the first bytes of the body.
            return Some(Bytes::from_static(b": farrier\n\n"));
        }
        let heartbeat = Instant::now() + HEARTBEAT;
        loop {
            if Instant::now() >= self.ends || self.state.tasks.stop().is_cancelled() {
                return None;
            }
            if !self.access.holds().await {
                return None;
            }
            // Before the read, so that an event that is committed after the read wakes the stream.
            self.changes.mark_unchanged();
            let page = events::page(&self.state, self.access.identity(), &self.filter, self.after, PAGE).await;
            let page =
                page.inspect_err(|error| tracing::warn!(error = error as &dyn std::error::Error, "events")).ok()?;
            self.after = page.next;
            let text = text(&page);
            if !text.is_empty() {
                return Some(text.into());
            }
            if page.more {
                continue;
            }
            let stop = self.state.tasks.stop().clone();
            tokio::select! {
                changed = self.changes.changed() => changed.ok()?,
                () = self.access.wake() => {}
                () = tokio::time::sleep(RETRY), if page.waits => {}
                () = tokio::time::sleep_until(heartbeat) => return Some(Bytes::from_static(b": quiet\n\n")),
                () = tokio::time::sleep_until(self.ends) => {}
                () = stop.cancelled() => {}
            }
        }
    }
}

/// Formats a page as server-sent events.
fn text(page: &events::Page) -> String {
    let mut text = String::new();
    if page.gap {
        text.push_str("event: gap\ndata: {}\n\n");
    }
    for event in &page.events {
        let json = serde_json::to_string(&show::event(event)).expect("bodies are plain data");
        let _ = write!(text, "id: {}\nevent: {}\ndata: {json}\n\n", event.id, event.kind);
    }
    text
}

#[cfg(test)]
mod tests {
    use farrier_proto::store::Event;

    use super::*;

    #[test]
    fn each_event_has_one_data_line_and_gaps_are_reported() {
        let event = Event { id: 7, kind: "push".into(), repository_path: "a/b\n".into(), ..Event::default() };
        let page = events::Page { events: vec![event], gap: true, ..events::Page::default() };
        let text = text(&page);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..5], ["event: gap", "data: {}", "", "id: 7", "event: push"]);
        assert!(lines[5].starts_with("data: {\"id\":7,") && lines[6].is_empty(), "{text}");
    }

    #[test]
    fn last_event_id_overrides_the_query() {
        let mut headers = HeaderMap::new();
        assert_eq!(after(Some("after=3"), &headers).expect("a number"), Some(3));
        headers.insert(LAST, HeaderValue::from_static("9"));
        assert_eq!(after(Some("after=3"), &headers).expect("a number"), Some(9));
        assert_eq!(
            after(Some("after=x"), &HeaderMap::new()).expect_err("no number").message(),
            "[after]: must be a number"
        );
    }
}
