//! The routes of the API family, and of the protocols of git, artifacts and caches.

use axum::{
    Router,
    routing::{any, delete, get, patch, post, put},
};
use utoipa::OpenApi as _;

use super::macros::routes;
use crate::http::{
    AppState,
    artifact::{block, download, files, summaries, twirp},
    cache, cache_server, git, lfs, metrics, oidc,
    openapi::{self, RouteDescription},
    v1::{
        admin, artifacts, branch_protections, browse, caches, collaborators, cron, deliveries, deploy_keys, forks,
        gpg_keys,
        hooks::{
            self,
            path::{Admin, HookPath, Org, Own, Repo},
        },
        interests, members, migrations, mirrors, orgs, repositories, repository_lists, repository_teams, runs, service,
        settings, ssh_keys, tag_protections, teams, tokens, topics, transfers, users,
    },
};

routes! {
    service_info below "/api" {
        get "/healthz" => service::health;
        get "/v1/version" => service::version;
        get "/v1/settings/api" => settings::api;
        get "/v1/settings/repository" => settings::repository;
        get "/v1/settings/ui" => settings::ui;
        get "/v1/settings/attachment" => settings::attachment;
        get "/v1/gitignore/templates" => settings::gitignores;
        get "/v1/gitignore/templates/{template}" => settings::gitignore;
        get "/v1/licenses" => settings::licenses;
        get "/v1/licenses/{key}" => settings::license;
        get "/v1/label/templates" => settings::label_sets;
        get "/v1/label/templates/{template}" => settings::labels;
    }

    api_description below "" {
        get "/openapi.json" => openapi::document;
        get "/swagger.v1.json" => openapi::document as "getSwagger";
        get "/api/swagger" => openapi::page;
    }

    accounts below "/api/v1" {
        get "/user" => users::current;
        get "/user/starred" => interests::own_starred;
        get "/user/starred/{owner}/{repo}" => interests::is_starred;
        put "/user/starred/{owner}/{repo}" => interests::star;
        delete "/user/starred/{owner}/{repo}" => interests::unstar;
        get "/user/subscriptions" => interests::own_subscriptions;
        get "/user/keys" => ssh_keys::own;
        post "/user/keys" => ssh_keys::create;
        get "/user/keys/{id}" => ssh_keys::get;
        delete "/user/keys/{id}" => ssh_keys::delete;
        get "/user/gpg_keys" => gpg_keys::own;
        post "/user/gpg_keys" => gpg_keys::create;
        get "/user/gpg_keys/{id}" => gpg_keys::get;
        delete "/user/gpg_keys/{id}" => gpg_keys::delete;
        get "/user/gpg_key_token" => gpg_keys::token;
        post "/user/gpg_key_verify" => gpg_keys::verify;
        get "/user/settings" => users::settings;
        patch "/user/settings" => users::edit_settings;
        get "/user/emails" => users::emails;
        post "/user/emails" => users::add_emails;
        delete "/user/emails" => users::delete_emails;
        get "/users/search" => users::search;
        get "/users/{name}/starred" => interests::starred;
        get "/users/{name}/subscriptions" => interests::subscriptions;
        get "/users/{name}/keys" => ssh_keys::list;
        get "/users/{name}/gpg_keys" => gpg_keys::list;
        get "/users/{name}" => users::get;
        get "/token" => tokens::current;
        delete "/token" => tokens::delete_current;
        get "/users/{name}/tokens" => tokens::list;
        post "/users/{name}/tokens" => tokens::create;
        delete "/users/{name}/tokens/{token}" => tokens::delete;
    }

    administration below "/api/v1/admin" {
        get "/users" => admin::list_users;
        post "/users" => admin::create_user;
        patch "/users/{name}" => admin::edit_user;
        delete "/users/{name}" => admin::delete_user;
        post "/users/{name}/rename" => admin::rename_user;
        get "/users/{name}/tokens" => tokens::list_for;
        post "/users/{name}/tokens" => tokens::create_for;
        delete "/users/{name}/tokens/{token}" => tokens::delete_for;
        post "/users/{name}/keys" => ssh_keys::create_for;
        delete "/users/{name}/keys/{id}" => ssh_keys::delete_for;
        get "/users/{name}/orgs" => admin::orgs_of;
        post "/users/{name}/orgs" => admin::create_org;
        get "/orgs" => admin::list_orgs;
        get "/cron" => cron::list;
        post "/cron/{cron}" => cron::run;
    }

    organizations below "/api/v1" {
        get "/orgs" => orgs::list;
        post "/orgs" => orgs::create;
        get "/orgs/{org}" => orgs::get;
        patch "/orgs/{org}" => orgs::edit;
        delete "/orgs/{org}" => orgs::delete;
        post "/orgs/{org}/rename" => orgs::rename;
        get "/orgs/{org}/members" => members::list;
        get "/orgs/{org}/members/{user}" => members::is_member;
        delete "/orgs/{org}/members/{user}" => members::remove;
        get "/orgs/{org}/public_members" => members::list_public;
        get "/orgs/{org}/public_members/{user}" => members::is_public_member;
        put "/orgs/{org}/public_members/{user}" => members::publicize;
        delete "/orgs/{org}/public_members/{user}" => members::conceal;
        get "/orgs/{org}/teams" => teams::list;
        post "/orgs/{org}/teams" => teams::create;
        get "/orgs/{org}/teams/search" => teams::search;
        get "/teams/{team}" => teams::get;
        patch "/teams/{team}" => teams::edit;
        delete "/teams/{team}" => teams::delete;
        get "/teams/{team}/members" => teams::members;
        get "/teams/{team}/members/{user}" => teams::member;
        put "/teams/{team}/members/{user}" => teams::add_member;
        delete "/teams/{team}/members/{user}" => teams::remove_member;
        get "/teams/{team}/repos" => teams::repositories;
        get "/teams/{team}/repos/{owner}/{repo}" => teams::repository;
        put "/teams/{team}/repos/{owner}/{repo}" => teams::add_repository;
        delete "/teams/{team}/repos/{owner}/{repo}" => teams::remove_repository;
        get "/user/teams" => teams::own;
        get "/user/orgs" => orgs::list_own;
        get "/users/{name}/orgs" => orgs::list_of;
        get "/users/{name}/orgs/{org}/permissions" => orgs::permissions;
    }

    repositories below "/api/v1" {
        get "/user/repos" => repository_lists::own;
        post "/user/repos" => repositories::create_own;
        get "/users/{name}/repos" => repository_lists::of_user;
        #[deprecated]
        post "/org/{name}/repos" => repositories::create_in_org as "createOrgRepoDeprecated";
        get "/orgs/{name}/repos" => repository_lists::of_org;
        post "/orgs/{name}/repos" => repositories::create_in_org;
        delete "/orgs/{name}/repos" => repositories::delete_all;
        post "/admin/users/{name}/repos" => repositories::create_for;
        get "/repositories/{id}" => repositories::get_by_id;
        get "/repos/search" => repository_lists::search;
        post "/repos/migrate" => migrations::migrate;
        get "/repos/{owner}/{repo}" => repositories::get;
        patch "/repos/{owner}/{repo}" => repositories::edit;
        delete "/repos/{owner}/{repo}" => repositories::delete;
        get "/repos/{owner}/{repo}/forks" => forks::list;
        post "/repos/{owner}/{repo}/forks" => forks::create;
        post "/repos/{owner}/{repo}/transfer" => transfers::transfer;
        post "/repos/{owner}/{repo}/transfer/accept" => transfers::accept;
        post "/repos/{owner}/{repo}/transfer/reject" => transfers::reject;
        post "/repos/{owner}/{repo}/generate" => transfers::generate;
        get "/topics/search" => topics::search;
        get "/repos/{owner}/{repo}/topics" => topics::list;
        put "/repos/{owner}/{repo}/topics" => topics::replace;
        put "/repos/{owner}/{repo}/topics/{topic}" => topics::add;
        delete "/repos/{owner}/{repo}/topics/{topic}" => topics::remove;
        get "/repos/{owner}/{repo}/keys" => deploy_keys::list;
        post "/repos/{owner}/{repo}/keys" => deploy_keys::create;
        get "/repos/{owner}/{repo}/keys/{id}" => deploy_keys::get;
        delete "/repos/{owner}/{repo}/keys/{id}" => deploy_keys::delete;
        get "/repos/{owner}/{repo}/teams" => repository_teams::list;
        get "/repos/{owner}/{repo}/teams/{team_name}" => repository_teams::get;
        put "/repos/{owner}/{repo}/teams/{team_name}" => repository_teams::add;
        delete "/repos/{owner}/{repo}/teams/{team_name}" => repository_teams::remove;
        post "/repos/{owner}/{repo}/mirror-sync" => mirrors::sync;
        post "/repos/{owner}/{repo}/convert" => mirrors::convert;
        get "/repos/{owner}/{repo}/push_mirrors" => mirrors::list;
        post "/repos/{owner}/{repo}/push_mirrors" => mirrors::create;
        get "/repos/{owner}/{repo}/push_mirrors/{mirror}" => mirrors::get;
        delete "/repos/{owner}/{repo}/push_mirrors/{mirror}" => mirrors::delete;
        post "/repos/{owner}/{repo}/push_mirrors-sync" => mirrors::sync_all;
        get "/repos/{owner}/{repo}/collaborators" => collaborators::list;
        get "/repos/{owner}/{repo}/collaborators/{user}" => collaborators::get;
        put "/repos/{owner}/{repo}/collaborators/{user}" => collaborators::put;
        delete "/repos/{owner}/{repo}/collaborators/{user}" => collaborators::delete;
        get "/repos/{owner}/{repo}/collaborators/{user}/permission" => collaborators::permission;
        get "/repos/{owner}/{repo}/assignees" => collaborators::assignees;
        get "/repos/{owner}/{repo}/reviewers" => collaborators::reviewers;
    }

    actions below "/api/v1/repos/{owner}/{repo}/actions" {
        get "/artifacts" => artifacts::list;
        get "/artifacts/{id}" => artifacts::get;
        delete "/artifacts/{id}" => artifacts::delete;
        get "/artifacts/{id}/zip" => artifacts::download;
        get "/caches" => caches::list;
        delete "/caches" => caches::delete_by_key;
        delete "/caches/{id}" => caches::delete;
        get "/cache/usage" => caches::usage;
        get "/runs" => runs::list;
        get "/runs/{run}" => runs::get;
        get "/runs/{run}/artifacts" => artifacts::list_of_run;
        get "/runs/{run}/jobs" => runs::jobs;
        get "/runs/{run}/attempts/{attempt}" => runs::attempt;
        get "/runs/{run}/attempts/{attempt}/jobs" => runs::attempt_jobs;
        get "/jobs/{job}" => runs::job;
        get "/tasks" => runs::list_tasks;
    }

    /// The content of repositories. A `{*capture}` may contain slashes, raw or escaped.
    repository_contents below "/api/v1/repos/{owner}/{repo}" {
        get "/branches" => browse::branches::list;
        post "/branches" => browse::branches::create;
        get "/branches/{*branch}" => browse::branches::get;
        delete "/branches/{*branch}" => browse::branches::delete;
        patch "/branches/{*branch}" => browse::branches::rename;
        put "/branches/{*branch}" => browse::branches::update;
        get "/branch_protections" => branch_protections::list;
        post "/branch_protections" => branch_protections::create;
        post "/branch_protections/priority" => branch_protections::order;
        get "/branch_protections/{*rule}" => branch_protections::get;
        patch "/branch_protections/{*rule}" => branch_protections::edit;
        delete "/branch_protections/{*rule}" => branch_protections::delete;
        get "/tag_protections" => tag_protections::list;
        post "/tag_protections" => tag_protections::create;
        get "/tag_protections/{id}" => tag_protections::get;
        patch "/tag_protections/{id}" => tag_protections::edit;
        delete "/tag_protections/{id}" => tag_protections::delete;
        get "/tags" => browse::tags::list;
        post "/tags" => browse::tags::create;
        get "/tags/{*tag}" => browse::tags::get;
        delete "/tags/{*tag}" => browse::tags::delete;
        get "/commits" => browse::commits::list;
        get "/commits/{ref}/status" => browse::statuses::combined;
        get "/commits/{ref}/statuses" => browse::statuses::list_of_ref;
        get "/statuses/{*ref}" => browse::statuses::list;
        post "/statuses/{*ref}" => browse::statuses::create;
        get "/compare/{*both}" => browse::commits::compare;
        get "/git/refs" => browse::objects::refs;
        get "/git/refs/{*prefix}" => browse::objects::refs_below;
        get "/git/commits/{*sha}" => browse::commits::get;
        get "/git/notes/{*sha}" => browse::commits::note;
        get "/git/trees/{*sha}" => browse::objects::tree;
        get "/git/blobs/{sha}" => browse::objects::blob;
        get "/git/tags/{sha}" => browse::tags::annotated;
        get "/contents" => browse::contents::root;
        get "/contents/{*path}" => browse::contents::get;
        post "/contents" => browse::contents_write::change;
        post "/contents/{*path}" => browse::contents_write::create;
        put "/contents/{*path}" => browse::contents_write::update;
        delete "/contents/{*path}" => browse::contents_write::delete;
        post "/merge-upstream" => browse::upstream::merge;
        get "/sync_fork" => browse::upstream::info_of_default;
        post "/sync_fork" => browse::upstream::sync_default;
        get "/sync_fork/{*branch}" => browse::upstream::info;
        post "/sync_fork/{*branch}" => browse::upstream::sync;
        post "/diffpatch" => browse::contents_write::apply_patch;
        get "/raw/{*path}" => browse::raw::get;
        get "/media/{*path}" => browse::raw::media;
        get "/archive/{*name}" => browse::archives::get;
        get "/zipball/{*ref}" => browse::archives::zipball;
        get "/tarball/{*ref}" => browse::archives::tarball;
        get "/bundle/{*ref}" => browse::archives::bundle;
        get "/releases" => browse::releases::list;
        post "/releases" => browse::releases::create;
        get "/releases/latest" => browse::releases::latest;
        get "/releases/tags/{*tag}" => browse::releases::get_by_tag;
        delete "/releases/tags/{*tag}" => browse::releases::delete_by_tag;
        get "/releases/{id}" => browse::releases::get;
        patch "/releases/{id}" => browse::releases::edit;
        delete "/releases/{id}" => browse::releases::delete;
        get "/releases/{id}/assets" => browse::release_files::list;
        post "/releases/{id}/assets" => browse::release_files::create;
        get "/releases/{id}/assets/{asset}" => browse::release_files::get;
        patch "/releases/{id}/assets/{asset}" => browse::release_files::edit;
        delete "/releases/{id}/assets/{asset}" => browse::release_files::delete;
        get "/stargazers" => interests::stargazers;
        get "/subscribers" => interests::subscribers;
        get "/subscription" => interests::subscription;
        put "/subscription" => interests::subscribe;
        delete "/subscription" => interests::unsubscribe;
        get "/languages" => browse::languages::list;
        get "/licenses" => browse::licenses::list;
    }

    downloads below "" {
        get "/attachments/{uuid}" => browse::release_files::download_by_uuid;
        get "/{owner}/{repo}/releases/download/{*file}" => browse::release_files::download_by_name;
        get "/{owner}/{repo}/archive/{*name}" => browse::archives::get as "downloadArchive";
    }

    webhooks below "/api/v1" {
        get "/admin/hooks" => hooks::admin::list;
        post "/admin/hooks" => hooks::create::<Admin>;
        get "/admin/hooks/{id}" => hooks::get::<Admin>;
        patch "/admin/hooks/{id}" => hooks::edit::<Admin>;
        delete "/admin/hooks/{id}" => hooks::delete::<Admin>;
        post "/admin/hooks/{id}/apply" => hooks::admin::apply;
        get "/repos/{owner}/{repo}/hooks" => hooks::list::<Repo>;
        post "/repos/{owner}/{repo}/hooks" => hooks::create::<Repo>;
        get "/repos/{owner}/{repo}/hooks/{id}" => hooks::get::<Repo>;
        patch "/repos/{owner}/{repo}/hooks/{id}" => hooks::edit::<Repo>;
        delete "/repos/{owner}/{repo}/hooks/{id}" => hooks::delete::<Repo>;
        get "/orgs/{org}/hooks" => hooks::list::<Org>;
        post "/orgs/{org}/hooks" => hooks::create::<Org>;
        get "/orgs/{org}/hooks/{id}" => hooks::get::<Org>;
        patch "/orgs/{org}/hooks/{id}" => hooks::edit::<Org>;
        delete "/orgs/{org}/hooks/{id}" => hooks::delete::<Org>;
        get "/user/hooks" => hooks::list::<Own>;
        post "/user/hooks" => hooks::create::<Own>;
        get "/user/hooks/{id}" => hooks::get::<Own>;
        patch "/user/hooks/{id}" => hooks::edit::<Own>;
        delete "/user/hooks/{id}" => hooks::delete::<Own>;
    }

    /// The deliveries of a hook: list, redeliver, recover, test, ping.
    hook_deliveries below "/api/v1" {
        get "/admin/hooks/{id}/deliveries" => deliveries::history::list::<Admin>;
        get "/admin/hooks/{id}/deliveries/{delivery}" => deliveries::history::get::<Admin>;
        post "/admin/hooks/{id}/deliveries/{delivery}/attempts" => deliveries::redeliver::redeliver::<Admin>;
        post "/admin/hooks/{id}/recover" => deliveries::redeliver::recover::<Admin>;
        post "/admin/hooks/{id}/tests" => deliveries::test_events::test::<Admin>;
        post "/admin/hooks/{id}/pings" => deliveries::test_events::ping::<Admin>;
        get "/repos/{owner}/{repo}/hooks/{id}/deliveries" => deliveries::history::list::<Repo>;
        get "/repos/{owner}/{repo}/hooks/{id}/deliveries/{delivery}" => deliveries::history::get::<Repo>;
        post "/repos/{owner}/{repo}/hooks/{id}/deliveries/{delivery}/attempts" => deliveries::redeliver::redeliver::<Repo>;
        post "/repos/{owner}/{repo}/hooks/{id}/recover" => deliveries::redeliver::recover::<Repo>;
        post "/repos/{owner}/{repo}/hooks/{id}/tests" => deliveries::test_events::test::<Repo>;
        post "/repos/{owner}/{repo}/hooks/{id}/pings" => deliveries::test_events::ping::<Repo>;
        get "/orgs/{org}/hooks/{id}/deliveries" => deliveries::history::list::<Org>;
        get "/orgs/{org}/hooks/{id}/deliveries/{delivery}" => deliveries::history::get::<Org>;
        post "/orgs/{org}/hooks/{id}/deliveries/{delivery}/attempts" => deliveries::redeliver::redeliver::<Org>;
        post "/orgs/{org}/hooks/{id}/recover" => deliveries::redeliver::recover::<Org>;
        post "/orgs/{org}/hooks/{id}/tests" => deliveries::test_events::test::<Org>;
        post "/orgs/{org}/hooks/{id}/pings" => deliveries::test_events::ping::<Org>;
        get "/user/hooks/{id}/deliveries" => deliveries::history::list::<Own>;
        get "/user/hooks/{id}/deliveries/{delivery}" => deliveries::history::get::<Own>;
        post "/user/hooks/{id}/deliveries/{delivery}/attempts" => deliveries::redeliver::redeliver::<Own>;
        post "/user/hooks/{id}/recover" => deliveries::redeliver::recover::<Own>;
        post "/user/hooks/{id}/tests" => deliveries::test_events::test::<Own>;
        post "/user/hooks/{id}/pings" => deliveries::test_events::ping::<Own>;
    }

    metrics_text below "" speaking prometheus {
        get "/metrics" => metrics::get;
    }

    artifact_service below "" speaking twirp {
        any "/twirp" => twirp::call;
        any "/twirp/{*service_and_method}" => twirp::call;
        get "/_blob/{artifact}/{generation}/{file}" => download::get;
        put "/_blob/{artifact}/{generation}/{file}" => block::put;
    }

    /// Version 3 of the artifact protocol, and summaries.
    artifact_files below "/api/actions_pipeline/_apis/pipelines/workflows/{run}" speaking actions {
        get "/artifacts" => files::list;
        post "/artifacts" => files::create;
        patch "/artifacts" => files::finalize;
        put "/artifacts/{artifact}/uploads/{generation}" => files::put_chunk;
        get "/artifacts/{artifact}/files" => files::list_files;
        get "/artifacts/{artifact}/files/{position}" => files::file;
        put "/jobs/{job}/steps/{step}/summary" => summaries::put;
    }

    id_tokens below "" speaking openid_connect {
        get "/.well-known/openid-configuration" => oidc::configuration;
        get "/.well-known/jwks" => oidc::keys;
        get "/api/actions_pipeline/_apis/pipelines/workflows/{run}/idtoken" => oidc::token;
    }

    cache_server below "/_internal" speaking runners {
        post "/register" => cache_server::register;
        post "/revoke" => cache_server::revoke;
    }

    /// Version 1 of the cache protocol.
    cache_service below "/_apis/artifactcache" speaking caches {
        get "/cache" => cache::v1::find;
        post "/caches" => cache::v1::reserve;
        patch "/caches/{id}" => cache::v1::put_range;
        post "/caches/{id}" => cache::v1::commit;
        post "/clean" => cache::v1::clean;
    }

    git_over_http below "/{owner}/{repo}" speaking git {
        get "/info/refs" => git::info_refs;
        post "/git-upload-pack" => git::upload_pack;
        post "/git-receive-pack" => git::receive_pack;
        get "/bundles/{file}" => git::bundle;
        post "/info/lfs/objects/batch" => lfs::batch;
        get "/info/lfs/objects/{oid}" => lfs::download;
        put "/info/lfs/objects/{oid}" => lfs::upload;
        post "/info/lfs/verify" => lfs::verify;
        get "/info/lfs/locks" => lfs::locks;
        post "/info/lfs/locks" => lfs::lock;
        post "/info/lfs/locks/verify" => lfs::verify_locks;
        post "/info/lfs/locks/{id}/unlock" => lfs::unlock;
    }
}
