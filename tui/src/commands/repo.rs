//! `farrier repo …`

use farrier_common::{
    api::{CreateRepository, Repository},
    client::Client,
};

use crate::{
    args::Repo,
    exit::Failure,
    output::{Output, fields},
};

pub(super) async fn run(command: Repo, client: &Client, output: &Output) -> Result<(), Failure> {
    let repo = match command {
        Repo::Create(args) => {
            let wanted = CreateRepository {
                name: args.repo.name.clone(),
                description: args.description,
                private: args.private,
                default_branch: args.default_branch,
                auto_init: false,
            };
            let made = client.create_repository(&args.repo.owner, &wanted).await;
            made.map_err(Failure::call(format!("making {}", args.repo)))?
        }
        Repo::Show { repo } => client.repository(&repo).await.map_err(Failure::call(format!("asking for {repo}")))?,
    };
    output.object(&repo, &repo.id.to_string(), || page(&repo))
}

fn page(repo: &Repository) -> String {
    let words =
        [(repo.private, "private"), (repo.empty, "empty"), (repo.archived, "archived"), (repo.mirror, "mirror")];
    let state: Vec<&str> = words.into_iter().filter_map(|(is, word)| is.then_some(word)).collect();
    let lines = [
        ("repository", format!("{} ({})", repo.full_name, repo.id)),
        ("about", repo.description.clone()),
        ("state", state.join(", ")),
        ("branch", repo.default_branch.clone()),
        ("clone", repo.clone_url.clone()),
        ("updated", repo.updated_at.clone()),
    ];
    fields(&lines)
}
