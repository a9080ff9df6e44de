//! Settings of the server that clients read, and the built-in templates.

use axum::extract::{Path, State};
use farrier_common::api;

use crate::{
    http::{
        AppState,
        auth::CheckedCredentials,
        error::ApiError,
        extract::{JsonResponse, ok},
        page,
    },
    service::{Error, templates},
};

/// Tree entries per page.
const TREE_PAGE: u64 = 1_000;
/// Largest blob whose content is returned, in bytes.
const BLOB_MAX_BYTES: u64 = 10 << 20;
/// Largest response with file content, in bytes.
const CONTENT_MAX_BYTES: u64 = 100 << 20;

/// Returns the limits of the API.
#[utoipa::path(
    get, path = "",
    operation_id = "getGeneralAPISettings", tag = "settings",
    responses((status = 200, body = api::ApiSettings)),
)]
pub(in crate::http) async fn api(_: CheckedCredentials) -> JsonResponse<api::ApiSettings> {
    ok(api::ApiSettings {
        max_response_items: page::LIMIT_MAX as u64,
        default_paging_num: page::LIMIT_DEFAULT as u64,
        default_git_trees_per_page: TREE_PAGE,
        default_max_blob_size: BLOB_MAX_BYTES,
        default_max_response_size: CONTENT_MAX_BYTES,
    })
}

/// Returns which features of repositories are disabled.
#[utoipa::path(
    get, path = "",
    operation_id = "getGeneralRepositorySettings", tag = "settings",
    responses((status = 200, body = api::RepositorySettings)),
)]
pub(in crate::http) async fn repository(
    State(state): State<AppState>,
    _: CheckedCredentials,
) -> JsonResponse<api::RepositorySettings> {
    ok(api::RepositorySettings {
        mirrors_disabled: !state.config.mirror.enabled,
        http_git_disabled: false,
        migrations_disabled: false,
        stars_disabled: false,
        forks_disabled: false,
        time_tracking_disabled: true,
        lfs_disabled: !state.config.lfs.enabled,
    })
}

/// Returns settings of the web interface. Farrier has none: the values are defaults.
#[utoipa::path(
    get, path = "",
    operation_id = "getGeneralUISettings", tag = "settings",
    responses((status = 200, body = api::UiSettings)),
)]
pub(in crate::http) async fn ui(_: CheckedCredentials) -> JsonResponse<api::UiSettings> {
    ok(api::UiSettings::default())
}

/// Returns settings of attachments. Attachments are not supported: the values are defaults.
#[utoipa::path(
    get, path = "",
    operation_id = "getGeneralAttachmentSettings", tag = "settings",
    responses((status = 200, body = api::AttachmentSettings)),
)]
pub(in crate::http) async fn attachment(_: CheckedCredentials) -> JsonResponse<api::AttachmentSettings> {
    ok(api::AttachmentSettings::default())
}

/// Lists the names of the `.gitignore` templates for new repositories.
#[utoipa::path(
    get, path = "",
    operation_id = "listGitignoresTemplates", tag = "miscellaneous",
    responses((status = 200, body = Vec<String>)),
)]
pub(in crate::http) async fn gitignores(_: CheckedCredentials) -> JsonResponse<Vec<&'static str>> {
    ok(templates::gitignores().collect())
}

/// Returns a `.gitignore` template.
#[utoipa::path(
    get, path = "",
    operation_id = "getGitignoreTemplateInfo", tag = "miscellaneous",
    responses((status = 200, body = api::GitignoreTemplate)),
)]
pub(in crate::http) async fn gitignore(
    _: CheckedCredentials,
    Path(name): Path<String>,
) -> Result<JsonResponse<api::GitignoreTemplate>, ApiError> {
    let source = templates::gitignore(&name).ok_or(Error::NotFound { what: "the template" })?;
    let name = templates::gitignores().find(|known| known.eq_ignore_ascii_case(&name)).unwrap_or_default();
    Ok(ok(api::GitignoreTemplate { name: name.to_owned(), source: source.to_owned() }))
}

/// Lists the licenses for new repositories.
#[utoipa::path(
    get, path = "",
    operation_id = "listLicenseTemplates", tag = "miscellaneous",
    responses((status = 200, body = Vec<api::LicenseEntry>)),
)]
pub(in crate::http) async fn licenses(
    State(state): State<AppState>,
    _: CheckedCredentials,
) -> JsonResponse<Vec<api::LicenseEntry>> {
    let entry = |license: &templates::License| api::LicenseEntry {
        key: license.key.into(),
        name: license.name.into(),
        url: license_url(&state, license.key),
    };
    ok(templates::licenses().iter().map(entry).collect())
}

/// Returns a license with its text.
#[utoipa::path(
    get, path = "",
    operation_id = "getLicenseTemplateInfo", tag = "miscellaneous",
    responses((status = 200, body = api::License)),
)]
pub(in crate::http) async fn license(
    State(state): State<AppState>,
    _: CheckedCredentials,
    Path(key): Path<String>,
) -> Result<JsonResponse<api::License>, ApiError> {
    let license = templates::license(&key).ok_or(Error::NotFound { what: "the license" })?;
    Ok(ok(api::License {
        key: license.key.into(),
        name: license.name.into(),
        url: license_url(&state, license.key),
        implementation: "Create a text file named LICENSE in the root of your source code, copy the text of the \
                         license into it, and fill in [year] and [fullname]."
            .into(),
        body: license.body.into(),
    }))
}

fn license_url(state: &AppState, key: &str) -> String {
    format!("{}/api/v1/licenses/{key}", state.root_url)
}

/// Lists the names of the label sets.
#[utoipa::path(
    get, path = "",
    operation_id = "listLabelTemplates", tag = "miscellaneous",
    responses((status = 200, body = Vec<String>)),
)]
pub(in crate::http) async fn label_sets(_: CheckedCredentials) -> JsonResponse<Vec<&'static str>> {
    ok(templates::label_sets().collect())
}

/// Returns a label set.
#[utoipa::path(
    get, path = "",
    operation_id = "getLabelTemplateInfo", tag = "miscellaneous",
    responses((status = 200, body = Vec<api::LabelTemplate>)),
)]
pub(in crate::http) async fn labels(
    _: CheckedCredentials,
    Path(set): Path<String>,
) -> Result<JsonResponse<Vec<api::LabelTemplate>>, ApiError> {
    let labels = templates::labels(&set).ok_or(Error::NotFound { what: "the template" })?;
    let shown = labels.iter().map(|label| api::LabelTemplate {
        name: label.name.into(),
        color: label.color.into(),
        description: label.description.into(),
        exclusive: false,
    });
    Ok(ok(shown.collect()))
}
