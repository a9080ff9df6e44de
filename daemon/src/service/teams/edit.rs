//! Creates, changes and deletes teams.

use farrier_common::api::{CreateTeam, EditTeam};
use farrier_proto::store::{Team, TeamUnit, Visibility};

use super::{
    FoundTeam, find_own,
    rules::{self, RightsInput},
};
use crate::{
    model::{identity::Identity, words},
    service::{
        Context, Error,
        accounts::{DESCRIPTION_MAX_CHARS, check_text, visibility},
        audit::{Action, AuditRecorder, Entry},
        orgs,
    },
    store::{Tx, ids::IdKind, teams as rows},
};

/// Creates a team in the organization `org`.
pub async fn create(context: &Context, identity: &Identity, org: &str, input: &CreateTeam) -> Result<FoundTeam, Error> {
    rules::name(&input.name)?;
    check_text("description", &input.description, DESCRIPTION_MAX_CHARS)?;
    let mut row = Team {
        name: input.name.clone(),
        description: input.description.clone(),
        includes_all_repositories: input.includes_all_repositories,
        can_create_org_repo: input.can_create_org_repo,
        visibility: match input.visibility.as_str() {
            "" => Visibility::Private,
            word => visibility(word)?,
        }
        .into(),
        created_ms: context.now_ms(),
        ..Team::default()
    };
    let rights = RightsInput {
        permission: &input.permission,
        units: input.units.as_deref(),
        units_map: input.units_map.as_ref(),
    };
    rights.apply(&mut row)?;
    // Checked first, so that refused requests take no ID.
    orgs::find_own(&context.store.read().await?, identity, org).await?;
    // The team of owners has the id of its organization, so all teams take theirs from the sequence of owners.
    row.id = context.store.next_id(IdKind::Owner).await?;
    let (new, recorder) = (&row, &AuditRecorder::new(context));
    context
        .store
        .write(async |tx: Tx| {
            let org = orgs::find_own(&tx, identity, org).await?;
            let found = FoundTeam { team: Team { org_id: org.id, ..new.clone() }, org };
            if rows::count_of_org(&tx, found.org.id, rows::TEAMS_MAX as u64).await? >= rows::TEAMS_MAX as u64 {
                return Err(Error::invalid("name", format!("the organization has {} teams already", rows::TEAMS_MAX)));
            }
            if !rows::insert(&tx, &found.team).await? {
                return Err(name_in_use(&found.team));
            }
            recorder.record(&tx, entry(Action::TeamCreate, &found, &Team::default()).created()).await?;
            Ok(found)
        })
        .await
}

fn name_in_use(row: &Team) -> Error {
    Error::invalid("name", format!("team already exists: {}", row.name))
}

/// Changes a team. Absent fields keep their values. The name and the rights of the owners do not change.
pub async fn edit(context: &Context, identity: &Identity, id: &str, input: &EditTeam) -> Result<FoundTeam, Error> {
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            let found = find_own(&tx, identity, id).await?;
            if rows::is_owners(&found.team) {
                return unchanged_owners(found, input);
            }
            let mut row = found.team.clone();
            apply(&mut row, input)?;
            if !rows::update(&tx, &found.team, &row).await? {
                return Err(name_in_use(&row));
            }
            let changed = FoundTeam { team: row, org: found.org };
            let entry = entry(Action::TeamEdit, &changed, &found.team);
            if !entry.is_unchanged() {
                recorder.record(&tx, entry).await?;
            }
            Ok(changed)
        })
        .await
}

/// Refuses to rename the owners. Other fields have no effect on them: clients send all fields with every edit.
fn unchanged_owners(found: FoundTeam, input: &EditTeam) -> Result<FoundTeam, Error> {
    match input.name.as_deref() {
        None | Some("" | rows::OWNERS) => Ok(found),
        Some(_) => Err(Error::Forbidden { reason: "the team Owners cannot be renamed".into() }),
    }
}

fn apply(row: &mut Team, input: &EditTeam) -> Result<(), Error> {
    if let Some(name) = input.name.as_ref().filter(|name| !name.is_empty()) {
        rules::name(name)?;
        row.name.clone_from(name);
    }
    if let Some(description) = &input.description {
        check_text("description", description, DESCRIPTION_MAX_CHARS)?;
        row.description.clone_from(description);
    }
    if let Some(word) = input.visibility.as_ref().filter(|word| !word.is_empty()) {
        row.visibility = visibility(word)?.into();
    }
    row.includes_all_repositories = input.includes_all_repositories.unwrap_or(row.includes_all_repositories);
    row.can_create_org_repo = input.can_create_org_repo.unwrap_or(row.can_create_org_repo);
    let rights = RightsInput {
        permission: input.permission.as_deref().unwrap_or_default(),
        units: input.units.as_deref(),
        units_map: input.units_map.as_ref(),
    };
    rights.apply(row)
}

/// Deletes a team. Users who are in no other team leave the organization. No repository is deleted.
pub async fn delete(context: &Context, identity: &Identity, id: &str) -> Result<(), Error> {
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            let found = find_own(&tx, identity, id).await?;
            if rows::is_owners(&found.team) {
                return Err(Error::Forbidden { reason: "the team Owners cannot be deleted".into() });
            }
            let members = rows::member_ids(&tx, &found.team).await?.len();
            rows::delete(&tx, &found.team).await?;
            recorder.record(&tx, Entry::new(Action::TeamDelete, found.object()).had("members", members)).await?;
            Ok(())
        })
        .await
}

/// Returns the audit entry of a change of a team.
fn entry(action: Action, found: &FoundTeam, before: &Team) -> Entry {
    let after = &found.team;
    let visibility = |row: &Team| words::visibility_word(row.visibility());
    Entry::new(action, found.object())
        .field("name", before.name.as_str(), &after.name)
        .field("description", before.description.as_str(), &after.description)
        .field("rights", rights(before), rights(after))
        .field("includes_all_repositories", before.includes_all_repositories, after.includes_all_repositories)
        .field("can_create_org_repo", before.can_create_org_repo, after.can_create_org_repo)
        .field("visibility", visibility(before), visibility(after))
}

/// Returns the rights of a team as one text, such as `repo.code: write, repo.releases: read`.
fn rights(row: &Team) -> String {
    if row.admin {
        return "admin".into();
    }
    let one = |unit: &TeamUnit| format!("{}: {}", unit.unit, words::permission_word(unit.permission()));
    row.units.iter().map(one).collect::<Vec<_>>().join(", ")
}
