//! A push of many refs to a repository with many hooks: the effect on the writes of other clients.

use std::sync::Arc;

use serde_json::json;
use tokio::{net::TcpListener, task::JoinSet};

use super::scene::{Arrived, REPOSITORIES, Scene, patch, serve};
use crate::{
    Result,
    client::Over,
    figures::{micros, ratio, spread},
    load::requests,
    plan::Plan,
    rows::git::fixture::{git, git_at},
    table::{Budget, Table},
};

/// Number of hooks of the repository, and of branches that are pushed to it.
const HOOKS: usize = 256;
const REFS: usize = 400;
/// Number of clients that change the descriptions of other repositories.
const CLIENTS: usize = 8;

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let (mut beside, mut alone) = (vec![], vec![]);
    for round in 0..plan.rounds {
        let scene = Scene::start(plan, &format!("hooks-fan-out-{round}"), 0).await?;
        let listener = Arc::new(TcpListener::bind("127.0.0.1:0").await?);
        let url = format!("http://{}/", listener.local_addr()?);
        let mut running = JoinSet::new();
        running.spawn(serve(listener, Arc::<Arrived>::default()));
        let config = json!({ "url": url, "content_type": "json" });
        let hook = json!({ "type": "gitea", "config": config, "events": ["create", "push"], "active": true });
        for _ in 0..HOOKS {
            scene.farrier.admin("/api/v1/repos/admin/demo-0/hooks", &hook).await?;
        }
        alone.push(p99(plan, &scene).await?);
        let work = plan.dir(&format!("hooks-fan-out-work-{round}"))?;
        let token = scene.farrier.token().await?;
        let Over::Tcp(address) = &scene.farrier.tcp else { return Err("no TCP address".into()) };
        let target = format!("http://admin:{token}@{address}/admin/demo-0.git");
        let path = work.to_str().ok_or("the directory is not UTF-8")?;
        git(&["init", "--quiet", "--initial-branch=main", path]).await?;
        git_at(&work, &["commit", "--quiet", "--allow-empty", "--message", "empty"]).await?;
        let refs: Vec<String> = (0..REFS).map(|number| format!("main:refs/heads/b{number}")).collect();
        let args: Vec<&str> = ["push", "--quiet", &target].into_iter().chain(refs.iter().map(String::as_str)).collect();
        let (pushed, others) = tokio::join!(git_at(&work, &args), p99(plan, &scene));
        pushed?;
        beside.push(others?);
    }
    let what = format!("writes of others beside a push of {REFS} refs to {HOOKS} hooks: p99, {CLIENTS} clients; alone");
    table.beside(&what, spread(&beside, "µs"), spread(&alone, "µs"), ratio(&beside, &alone), Budget::AtMost(2.0));
    Ok(())
}

/// Returns the 99th percentile of changes of descriptions of repositories without hooks.
async fn p99(plan: &Plan, scene: &Scene) -> Result<f64> {
    const OTHERS: usize = REPOSITORIES - 1;
    // The repository with number 0 has the hooks.
    let request = |number: usize| Arc::from(patch(number / OTHERS * REPOSITORIES + number % OTHERS + 1, "beside"));
    let answers = requests(&scene.farrier.unix, CLIENTS, plan.round, 200, request).await?;
    Ok(micros(answers.percentile(99)))
}
