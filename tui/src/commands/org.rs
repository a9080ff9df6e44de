//! `farrier org`: lists, shows, creates, changes and deletes organizations.

use farrier_common::{
    api::{EditOrg, Organization},
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
            let owner = args.owner.clone();
            let request = args.request();
            let created = client.create_org(owner.as_deref(), &request).await;
            let org = created.map_err(Failure::call(format!("creating {}", request.username)))?;
            output.object(&org, &org.name, || format!("Organization {} created", org.name))
        }
        Org::Edit(args) => {
            let name = args.name.clone();
            let request = args.request();
            if request == EditOrg::default() {
                return Err(Failure::nothing_to_change("--description TEXT"));
            }
            let org = client.edit_org(&name, &request).await.map_err(Failure::call(format!("changing {name}")))?;
            output.object(&org, &org.name, || format!("Organization {} saved", org.name))
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
