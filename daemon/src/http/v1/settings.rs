//! What the service says of itself, and the templates that it ships.

use axum::extract::{Path, State};
use farrier_common::api;

use crate::{
    app::App,
    http::{
        auth::Anyone,
        error::ApiError,
        extract::{Output, ok},
        page,
    },
    service::{Error, templates},
};

/// Entries of a page of a git tree.
const TREE_PAGE: u64 = 1_000;
/// Largest blob that is answered, bytes.
const BLOB_MAX_BYTES: u64 = 10 << 20;
/// Largest answer about content, bytes.
const CONTENT_MAX_BYTES: u64 = 100 << 20;

/// Bounds of the API.
#[utoipa::path(
    get, path = "/settings/api",
    operation_id = "getGeneralAPISettings", tag = "settings",
    responses((status = 200, body = api::ApiSettings)),
)]
pub(in crate::http) async fn api(_: Anyone) -> Output<api::ApiSettings> {
    ok(api::ApiSettings {
        max_response_items: page::LIMIT_MAX as u64,
        default_paging_num: page::LIMIT_DEFAULT as u64,
        default_git_trees_per_page: TREE_PAGE,
        default_max_blob_size: BLOB_MAX_BYTES,
        default_max_response_size: CONTENT_MAX_BYTES,
    })
}

/// What repositories do not have here.
#[utoipa::path(
    get, path = "/settings/repository",
    operation_id = "getGeneralRepositorySettings", tag = "settings",
    responses((status = 200, body = api::RepositorySettings)),
)]
pub(in crate::http) async fn repository(_: Anyone) -> Output<api::RepositorySettings> {
    ok(api::RepositorySettings {
        mirrors_disabled: true,
        http_git_disabled: false,
        migrations_disabled: false,
        stars_disabled: true,
        forks_disabled: true,
        time_tracking_disabled: true,
        lfs_disabled: true,
    })
}

/// Settings of a web site, which there is not.
#[utoipa::path(
    get, path = "/settings/ui",
    operation_id = "getGeneralUISettings", tag = "settings",
    responses((status = 200, body = api::UiSettings)),
)]
pub(in crate::http) async fn ui(_: Anyone) -> Output<api::UiSettings> {
    ok(api::UiSettings::default())
}

/// Settings of attachments, which there are not.
#[utoipa::path(
    get, path = "/settings/attachment",
    operation_id = "getGeneralAttachmentSettings", tag = "settings",
    responses((status = 200, body = api::AttachmentSettings)),
)]
pub(in crate::http) async fn attachment(_: Anyone) -> Output<api::AttachmentSettings> {
    ok(api::AttachmentSettings::default())
}

/// Names of the ignore lists that a repository can begin with.
#[utoipa::path(
    get, path = "/gitignore/templates",
    operation_id = "listGitignoresTemplates", tag = "miscellaneous",
    responses((status = 200, body = Vec<String>)),
)]
pub(in crate::http) async fn gitignores(_: Anyone) -> Output<Vec<&'static str>> {
    ok(templates::gitignores().collect())
}

/// One ignore list.
#[utoipa::path(
    get, path = "/gitignore/templates/{template}",
    operation_id = "getGitignoreTemplateInfo", tag = "miscellaneous",
    responses((status = 200, body = api::GitignoreTemplate)),
)]
pub(in crate::http) async fn gitignore(
    _: Anyone,
    Path(name): Path<String>,
) -> Result<Output<api::GitignoreTemplate>, ApiError> {
    let source = templates::gitignore(&name).ok_or(Error::NotFound { what: "the template" })?;
    let spelled = templates::gitignores().find(|known| known.eq_ignore_ascii_case(&name)).unwrap_or_default();
    Ok(ok(api::GitignoreTemplate { name: spelled.to_owned(), source: source.to_owned() }))
}

/// The licences that a repository can begin with.
#[utoipa::path(
    get, path = "/licenses",
    operation_id = "listLicenseTemplates", tag = "miscellaneous",
    responses((status = 200, body = Vec<api::LicenseEntry>)),
)]
pub(in crate::http) async fn licenses(State(app): State<App>, _: Anyone) -> Output<Vec<api::LicenseEntry>> {
    let entry = |license: &templates::License| api::LicenseEntry {
        key: license.key.into(),
        name: license.name.into(),
        url: license_url(&app, license.key),
    };
    ok(templates::licenses().iter().map(entry).collect())
}

/// One licence and its text.
#[utoipa::path(
    get, path = "/licenses/{key}",
    operation_id = "getLicenseTemplateInfo", tag = "miscellaneous",
    responses((status = 200, body = api::License)),
)]
pub(in crate::http) async fn license(
    State(app): State<App>,
    _: Anyone,
    Path(key): Path<String>,
) -> Result<Output<api::License>, ApiError> {
    let license = templates::license(&key).ok_or(Error::NotFound { what: "the licence" })?;
    Ok(ok(api::License {
        key: license.key.into(),
        name: license.name.into(),
        url: license_url(&app, license.key),
        implementation: "Create a text file named LICENSE in the root of your source code, copy the text of the \
                         licence into it, and fill in [year] and [fullname]."
            .into(),
        body: license.body.into(),
    }))
}

fn license_url(app: &App, key: &str) -> String {
    format!("{}/api/v1/licenses/{key}", app.root_url)
}

/// Names of the sets of labels.
#[utoipa::path(
    get, path = "/label/templates",
    operation_id = "listLabelTemplates", tag = "miscellaneous",
    responses((status = 200, body = Vec<String>)),
)]
pub(in crate::http) async fn label_sets(_: Anyone) -> Output<Vec<&'static str>> {
    ok(templates::label_sets().collect())
}

/// One set of labels.
#[utoipa::path(
    get, path = "/label/templates/{template}",
    operation_id = "getLabelTemplateInfo", tag = "miscellaneous",
    responses((status = 200, body = Vec<api::LabelTemplate>)),
)]
pub(in crate::http) async fn labels(
    _: Anyone,
    Path(set): Path<String>,
) -> Result<Output<Vec<api::LabelTemplate>>, ApiError> {
    let labels = templates::labels(&set).ok_or(Error::NotFound { what: "the template" })?;
    let shown = labels.iter().map(|label| api::LabelTemplate {
        name: label.name.into(),
        color: label.color.into(),
        description: label.description.into(),
        exclusive: false,
    });
    Ok(ok(shown.collect()))
}
