//! Rules that protect branches and tags: their administration, and the decision about every change of a ref.
//!
//! [`check`] decides about pushes before their pack is read, [`Checked::with_objects`] when the objects are known and
//! no ref was moved. [`require`] does both for changes through the API. [`check_in`] decides again in the transaction
//! that moves the refs, so that a rule that was added meanwhile applies.

mod branch_fields;
mod branches;
mod check;
mod people;
mod signed;
mod tags;

pub use self::{
    branches::{
        BranchRuleWithNames, branch_rule, branch_rules, create_branch_rule, delete_branch_rule, edit_branch_rule,
        order_branch_rules,
    },
    check::{Checked, RefChanger, branch_rights, check, check_in, protects_branch, require, require_in},
    tags::{TagRuleWithNames, create_tag_rule, delete_tag_rule, edit_tag_rule, tag_rule, tag_rules},
};
use super::Error;
use crate::store::{Tx, repositories};

/// Returns an error if the repository was deleted after the caller's access to it was checked.
async fn require_repository(tx: &Tx, id: u64) -> Result<(), Error> {
    match repositories::get(tx, id).await? {
        Some(row) if !row.deleted => Ok(()),
        _ => Err(Error::NotFound { what: "the repository" }),
    }
}
