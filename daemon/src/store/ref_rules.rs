//! Rules that protect branches and tags. They belong to a repository, and stay when it is renamed or moves to another
//! owner. Teams of the former owner are then removed from their lists.

use farrier_proto::store::{BranchRule, TagRule};

use super::{
    Read, StoreError, Tx,
    engine::{Range, Scan},
    keys,
};

/// Most rules of each kind of a repository. A push compares each of its refs with all of them.
pub const PER_REPOSITORY_MAX: usize = 256;

/// Returns the branch rules of a repository in the order in which they are applied.
pub async fn of_branches(read: &impl Read, repository: u64) -> Result<Vec<BranchRule>, StoreError> {
    let scan = Scan::of(Range::prefix(keys::branch_rules(repository)), PER_REPOSITORY_MAX);
    let mut rows: Vec<BranchRule> = read.scan(&scan).await?.into_iter().map(|(_, row)| row).collect();
    rows.sort_by_key(|row| (row.priority, row.id));
    Ok(rows)
}

/// Returns the tag rules of a repository, by ID.
pub async fn of_tags(read: &impl Read, repository: u64) -> Result<Vec<TagRule>, StoreError> {
    let scan = Scan::of(Range::prefix(keys::tag_rules(repository)), PER_REPOSITORY_MAX);
    Ok(read.scan(&scan).await?.into_iter().map(|(_, row)| row).collect())
}

/// Returns the tag rule `id` of a repository.
pub async fn tag_rule(read: &impl Read, repository: u64, id: u64) -> Result<Option<TagRule>, StoreError> {
    read.get(&keys::tag_rule(repository, id)).await
}

/// Writes a branch rule.
pub fn put_branch_rule(tx: &Tx, row: &BranchRule) {
    tx.put(keys::branch_rule(row.repository_id, row.id), row);
}

/// Writes a tag rule.
pub fn put_tag_rule(tx: &Tx, row: &TagRule) {
    tx.put(keys::tag_rule(row.repository_id, row.id), row);
}

/// Deletes a branch rule.
pub fn delete_branch_rule(tx: &Tx, row: &BranchRule) {
    tx.delete(keys::branch_rule(row.repository_id, row.id));
}

/// Deletes a tag rule.
pub fn delete_tag_rule(tx: &Tx, row: &TagRule) {
    tx.delete(keys::tag_rule(row.repository_id, row.id));
}

/// Removes all teams from the rules of a repository that gets another owner. A list that named only teams then names
/// nobody.
pub async fn remove_teams(tx: &Tx, repository: u64) -> Result<(), StoreError> {
    for before in of_branches(tx, repository).await? {
        let row = without_teams(before.clone());
        if row != before {
            put_branch_rule(tx, &row);
        }
    }
    for row in of_tags(tx, repository).await?.into_iter().filter(|row| !row.teams.is_empty()) {
        put_tag_rule(tx, &TagRule { teams: Vec::new(), ..row });
    }
    Ok(())
}

fn without_teams(mut row: BranchRule) -> BranchRule {
    let lists = [
        &mut row.push_list,
        &mut row.force_push_list,
        &mut row.merge_list,
        &mut row.bypass_list,
        &mut row.approvals_list,
    ];
    for list in lists.into_iter().flatten() {
        list.teams.clear();
    }
    row
}

/// Copies the branch rules of the repository `from` to the repository `to`, as new rules with these IDs. Rules without
/// an ID, which were added after the IDs were counted, are left out. `with_teams`: both have the same owner.
pub async fn copy_branch_rules(
    tx: &Tx,
    (from, to): (u64, u64),
    ids: &[u64],
    with_teams: bool,
    now_ms: i64,
) -> Result<(), StoreError> {
    for (row, id) in of_branches(tx, from).await?.into_iter().zip(ids) {
        let row = if with_teams { row } else { without_teams(row) };
        put_branch_rule(tx, &BranchRule { id: *id, repository_id: to, created_ms: now_ms, updated_ms: now_ms, ..row });
    }
    Ok(())
}

/// Deletes all rules of a repository that is removed permanently. There are few, so one transaction is enough.
pub async fn delete_all(tx: &Tx, repository: u64) -> Result<(), StoreError> {
    for row in of_branches(tx, repository).await? {
        delete_branch_rule(tx, &row);
    }
    for row in of_tags(tx, repository).await? {
        delete_tag_rule(tx, &row);
    }
    Ok(())
}
