//! `farrier repo branches`: lists the branches of a repository.

use farrier_common::{
    api::Branch,
    client::{Client, RepositoryPath},
};
use serde::Serialize;

use crate::{
    commands::list::{self, first},
    exit::Failure,
    output::{Output, Table, time},
};

#[derive(Serialize)]
struct Branches {
    total_count: usize,
    branches: Vec<Branch>,
}

pub(super) async fn run(repo: &RepositoryPath, limit: usize, client: &Client, output: &Output) -> Result<(), Failure> {
    let doing = format!("listing branches of {repo}");
    let failed = || Failure::call(doing.as_str());
    let all = first(limit, client.branches(repo), |body: Vec<Branch>| body, |branch| branch.name.clone());
    let all = all.await.map_err(failed())?;
    let format = output.format();
    let for_people = !(format.json || format.jsonl || format.quiet);
    let default =
        if for_people { client.repository(repo).await.map_err(failed())?.default_branch } else { String::new() };
    let document = |total_count, branches| Branches { total_count, branches };
    list::show(output, all, |branch| branch.name.clone(), |all| table(all, &default), document)
}

fn table(all: &[Branch], default: &str) -> String {
    let mut table = Table::new(["", "TIP", "COMMITTED", "BY", "NAME"]);
    for branch in all {
        let commit = &branch.commit;
        let tip: String = commit.id.chars().take(12).collect();
        let mark = if branch.name == default { "*" } else { "" };
        let (when, who) = (time(&commit.timestamp), commit.author.name.clone());
        table.row([mark.to_owned(), tip, when, who, branch.name.clone()]);
    }
    table.render()
}
