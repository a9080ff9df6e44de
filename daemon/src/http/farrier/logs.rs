//! The newest log records.

use axum::extract::{RawQuery, State};
use farrier_common::api;
use tracing::Level;

use crate::{
    http::{
        AppState,
        auth::{AdminScope, Caller},
        error::ApiError,
        extract::{JsonResponse, ok},
        openapi::parameters::LogListParams,
        query, show,
    },
    service::logs::{self, LogQuery},
};

/// Default number of records per page.
const PAGE: usize = 100;
/// Maximum number of records per page.
const PAGE_MAX: usize = 1_000;
/// Longest text of a filter, in bytes.
const FILTER_MAX_BYTES: usize = 512;

/// Lists log records that the daemon has in memory, newest last.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierListLogs", tag = "farrier",
    params(LogListParams),
    security(("account" = [])),
    responses(
        (status = 200, body = api::LogRecords),
        (status = 422, description = "The level or a number is not valid, or a text is too long."),
    ),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    _: Caller<AdminScope>,
    RawQuery(query): RawQuery,
) -> Result<JsonResponse<api::LogRecords>, ApiError> {
    let query = selection(query.as_deref())?;
    Ok(ok(show::log_page(&logs::list(&state, query).await)))
}

fn selection(query: Option<&str>) -> Result<LogQuery, ApiError> {
    let levels = [
        ("error", Level::ERROR),
        ("warn", Level::WARN),
        ("info", Level::INFO),
        ("debug", Level::DEBUG),
        ("trace", Level::TRACE),
    ];
    let text = |name: &'static str| match query::value(query, name) {
        Some(text) if text.len() > FILTER_MAX_BYTES => {
            let reason = format!("[{name}]: is longer than {FILTER_MAX_BYTES} bytes");
            Err(ApiError::unprocessable(name, reason))
        }
        text => Ok(text.unwrap_or_default()),
    };
    let limit = query::number(query, "limit")?.map_or(PAGE, |limit| usize::try_from(limit).unwrap_or(PAGE_MAX));
    Ok(LogQuery {
        level: query::one_of(query, "level", &levels)?,
        target: text("target")?,
        text: text("q")?,
        full_screen: query::flag(query, "full_screen").unwrap_or(true),
        after: query::number(query, "after")?,
        limit: limit.clamp(1, PAGE_MAX),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_parsed_and_limits_applied() {
        let parsed =
            selection(Some("level=warn&target=farrierd%3A%3Ahttp&q=a%20b&after=7&limit=5000&full_screen=false"))
                .expect("valid");
        let expected = LogQuery {
            level: Some(Level::WARN),
            target: "farrierd::http".into(),
            text: "a b".into(),
            full_screen: false,
            after: Some(7),
            limit: PAGE_MAX,
        };
        assert_eq!(parsed, expected);
        assert_eq!(selection(None).expect("valid").limit, PAGE);
        assert!(selection(None).expect("valid").full_screen);
        assert_eq!(selection(Some("limit=0")).expect("valid").limit, 1);
        for wrong in ["level=loud", "level=WARN", "after=-1", "after=x", "limit=many", "after=18446744073709551616"] {
            assert!(selection(Some(wrong)).is_err(), "{wrong}");
        }
        let long = "x".repeat(FILTER_MAX_BYTES + 1);
        for name in ["q", "target"] {
            let refused = selection(Some(&format!("{name}={long}"))).expect_err("too long");
            assert_eq!(refused.message(), format!("[{name}]: is longer than 512 bytes"));
        }
    }
}
