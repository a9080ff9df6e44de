//! The routes of farrier's own API.

use axum::{
    Router,
    routing::{delete, get, patch, post, put},
};
use utoipa::OpenApi as _;

use super::macros::routes;
use crate::http::{
    AppState, farrier,
    openapi::RouteDescription,
    v1::{
        browse, deliveries,
        hooks::{
            self,
            path::{Any, HookPath},
        },
    },
};

routes! {
    farrier_api below "/api/farrier/v1" {
        get "/deliveries" => deliveries::history::list_all;
        get "/deliveries/groups" => farrier::deliveries::groups;
        get "/deliveries/results" => farrier::deliveries::results;
        get "/deliveries/{delivery}" => deliveries::history::get_any;
        post "/deliveries/{delivery}/attempts" => deliveries::redeliver::redeliver_any;
        post "/deliveries/{delivery}/replays" => farrier::replays::replay_any;
        get "/status" => farrier::status::get;
        get "/ssh" => farrier::ssh::get;
        put "/user/password" => farrier::password::change;
        get "/audit" => farrier::audit::list;
        get "/audit/{entry}" => farrier::audit::get;
        get "/user/audit" => farrier::audit::list_own;
        get "/backup" => farrier::backup::get;
        post "/backup" => farrier::backup::start;
        post "/backup/tar" => farrier::backup::stream;
        get "/log" => farrier::log::get;
        patch "/log" => farrier::log::set;
        get "/logs" => farrier::logs::list;
        get "/metrics/series" => farrier::series::get;
        get "/events" => farrier::events::get;
        post "/checks/branch-filter" => farrier::checks::branch_filter;
        post "/checks/migration" => farrier::checks::migration;
        get "/hooks" => farrier::hooks::list;
        get "/hooks/types" => farrier::hooks::types;
        get "/hooks/events" => farrier::hooks::events;
        get "/hooks/{id}" => farrier::hooks::get;
        patch "/hooks/{id}" => hooks::edit::<Any>;
        delete "/hooks/{id}" => hooks::delete::<Any>;
        get "/hooks/{id}/deliveries" => deliveries::history::list::<Any>;
        get "/hooks/{id}/deliveries/{delivery}" => deliveries::history::get::<Any>;
        post "/hooks/{id}/deliveries/{delivery}/attempts" => deliveries::redeliver::redeliver::<Any>;
        post "/hooks/{id}/deliveries/{delivery}/replays" => farrier::replays::replay;
        post "/hooks/{id}/recover" => deliveries::redeliver::recover::<Any>;
        post "/hooks/{id}/tests" => deliveries::test_events::test::<Any>;
        post "/hooks/{id}/pings" => deliveries::test_events::ping::<Any>;
        get "/mirrors" => farrier::mirrors::list;
        get "/runs" => farrier::runs::list;
        get "/runs/failing" => farrier::runs::failing;
        get "/runs/{run}" => farrier::runs::get;
        get "/artifacts" => farrier::artifacts::list;
        post "/artifacts/deletions" => farrier::artifacts::delete;
        get "/artifacts/{id}" => farrier::artifacts::get;
        patch "/artifacts/{id}" => farrier::artifacts::edit;
        get "/caches" => farrier::caches::list;
        get "/caches/usage" => farrier::caches::usage;
        get "/deleted/repositories" => farrier::deleted::repositories;
        get "/deleted/repositories/{id}" => farrier::deleted::repository;
        delete "/deleted/repositories/{id}" => farrier::deleted::purge_repository;
        post "/deleted/repositories/{id}/restore" => farrier::deleted::restore_repository;
        get "/deleted/artifacts" => farrier::deleted::artifacts;
        get "/deleted/artifacts/{id}" => farrier::deleted::artifact;
        delete "/deleted/artifacts/{id}" => farrier::deleted::purge_artifact;
        post "/deleted/artifacts/{id}/restore" => farrier::deleted::restore_artifact;
        get "/set-aside" => farrier::set_aside::get;
        get "/repos/{owner}/{repo}/bundle" => browse::bundle::get;
        get "/tasks" => farrier::tasks::list;
        get "/tasks/{task}" => farrier::tasks::get;
        post "/tasks/{task}/cancel" => farrier::tasks::cancel;
        post "/jobs" => farrier::ci::begin;
        get "/jobs/{job}/summary" => farrier::ci::summary;
        post "/jobs/{job}/end" => farrier::ci::end;
        post "/jobs/{job}/renew" => farrier::ci::renew;
        post "/runs/{run}/cancel" => farrier::runs::cancel;
    }
}
