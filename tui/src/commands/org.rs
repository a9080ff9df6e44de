//! `farrier org`: lists, shows, creates and deletes organizations.

use farrier_common::{
    api::{CreateOrg, Organization},
    client::Client,
};
use serde::Serialize;

use super::{confirm, list};
use crate::{
    args::Org,
    exit::Failure,
    output::{Output, Table, fields, moment},
};

#[derive(Serialize)]
struct Organizations {
    total_count: usize,
    organizations: Vec<Organization>,
}

pub(super) async fn run(command: Org, client: &Client, output: &Output) -> Result<(), Failure> {
    match command {
        Org::List { limit } => {
            let all = list::first(limit.items(), client.orgs(), |page: Vec<Organization>| page, |org| org.id).await;
            let all = all.map_err(Failure::call("listing organizations"))?;
            list::show(
                output,
                all,
                |org| org.name.clone(),
                table,
                |total_count, organizations| Organizations { total_count, organizations },
            )
        }
        Org::Show { name } => {
            let org = client.org(&name).await.map_err(Failure::call(format!("showing {name}")))?;
            output.page(&org, &org.name, || page(&org))
        }
        Org::Create(args) => {
            let request = CreateOrg {
                username: args.name,
                full_name: args.full_name,
                description: args.description,
                visibility: args.visibility,
                ..CreateOrg::default()
            };
            let created = client.create_org(args.owner.as_deref(), &request).await;
            let org = created.map_err(Failure::call(format!("creating {}", request.username)))?;
            output.object(&org, &org.name, || format!("Organization {} created", org.name))
        }
        Org::Delete { name, yes } => {
            confirm::deletion(&format!("Organization {name}"), &name, yes).await?;
            client.delete_org(&name).await.map_err(Failure::call(format!("deleting {name}")))?;
            output.object(&serde_json::json!({ "deleted": name }), &name, || format!("Organization {name} deleted"))
        }
    }
}

fn table(all: &[Organization]) -> String {
    let mut table = Table::new(["ID", "VISIBILITY", "NAME", "DESCRIPTION"]);
    for org in all {
        table.row([org.id.to_string(), org.visibility.clone(), org.name.clone(), org.description.clone()]);
    }
    table.render()
}

fn page(org: &Organization) -> String {
    fields(&[
        ("organization", format!("{} ({})", org.name, org.id)),
        ("name", org.full_name.clone()),
        ("description", org.description.clone()),
        ("visibility", org.visibility.clone()),
        ("email", org.email.clone()),
        ("website", org.website.clone()),
        ("created", moment(&org.created)),
    ])
}
