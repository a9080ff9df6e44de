//! Decides whether the new values of refs are objects that the repository or the pack has, with every object that they
//! reach.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{super::TransferError, Basis, PushRequest};
use crate::{
    git::{
        IncomingPack, TipKind,
        commands::Update,
        ref_name::{self, RefKind},
        report::MISSING_OBJECTS,
    },
    service::{
        Context,
        ref_moves::{FAILED, RefOutcome},
    },
};

/// Maximum number of new values that are checked one by one if some of them lack objects. Each check needs a process.
const SINGLE_MAX: usize = 100;

/// What is known about the new values of the updates of a push.
pub(super) struct Tips {
    /// For each update why it is refused, `None` if its new value can be used.
    pub(super) refused: Vec<Option<RefOutcome>>,
    /// By id of a tag object: the object to which it leads.
    pub(super) peeled: BTreeMap<String, String>,
    /// Lines for the person who pushes.
    pub(super) messages: Vec<String>,
}

/// Looks the new values up, in the repository and in `pack`.
pub(super) async fn look_up(
    context: &Context,
    request: &PushRequest,
    pack: Option<&IncomingPack>,
    basis: &Basis,
) -> Result<Tips, TransferError> {
    let updates = &request.commands.updates;
    let new = updates.iter().filter(|update| !update.deletes()).map(|update| &update.new);
    let ids: Vec<String> = new.collect::<BTreeSet<_>>().into_iter().cloned().collect();
    let mut known: BTreeMap<String, TipKind> = BTreeMap::new();
    if !ids.is_empty() {
        let kinds = context.git.kinds(request.repository, pack, &ids).await?;
        known.extend(ids.into_iter().zip(kinds).filter_map(|(id, kind)| Some((id, kind?))));
    }
    // In a closed repository, no object lacks others, and the objects of the pack were checked when it was indexed.
    if !basis.is_closed && !known.is_empty() {
        keep_complete(context, request, pack, &mut known).await?;
    }
    let tags: Vec<String> =
        known.iter().filter(|(_, kind)| matches!(kind, TipKind::Tag)).map(|(id, _)| id.clone()).collect();
    let peeled = context.git.all_peeled(request.repository, pack, &tags).await?;
    let mut times: HashMap<&str, usize> = HashMap::with_capacity(updates.len());
    for update in updates {
        *times.entry(&update.name).or_default() += 1;
    }
    let mut tips = Tips { refused: Vec::with_capacity(updates.len()), peeled, messages: Vec::new() };
    for update in updates {
        // Several updates of one ref are all refused when the refs move.
        let is_repeated = times.get(&*update.name).is_some_and(|times| *times > 1);
        let refused = if update.deletes() || is_repeated { None } else { refusal(update, known.get(&update.new)) };
        tips.refused.push(refused.map(|(reason, problem)| {
            tips.messages.push(format!("error: cannot update ref '{}': {problem}", update.name));
            RefOutcome::Refused(reason)
        }));
    }
    Ok(tips)
}

/// Removes the values that reach missing objects from `known`.
async fn keep_complete(
    context: &Context,
    request: &PushRequest,
    pack: Option<&IncomingPack>,
    known: &mut BTreeMap<String, TipKind>,
) -> Result<(), TransferError> {
    let tips: Vec<String> = known.keys().cloned().collect();
    let (repository, caller) = (request.repository, Some(request.holder));
    if context.git.is_connected(repository, pack, &tips, caller).await? {
        return Ok(());
    }
    for (number, tip) in tips.iter().enumerate() {
        let tip = std::slice::from_ref(tip);
        if number >= SINGLE_MAX || !context.git.is_connected(repository, pack, tip, caller).await? {
            known.remove(&tip[0]);
        }
    }
    Ok(())
}

/// Returns why a ref cannot have the value that an update gives it: git's reason, and the problem in full. `kind`:
/// `None` if the value is not complete.
fn refusal(update: &Update, kind: Option<&TipKind>) -> Option<(&'static str, String)> {
    let new = &update.new;
    match (kind, ref_name::kind(&update.name)) {
        (None, _) => Some((MISSING_OBJECTS, format!("object {new} is missing or incomplete"))),
        (Some(TipKind::Commit), _) | (Some(_), RefKind::Tag(_) | RefKind::Other) => None,
        (Some(_), RefKind::Branch(_)) => {
            Some((FAILED, format!("object {new} is not a commit, so it cannot be a branch")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_a_commit_and_other_refs_are_any_object() {
        let reason = |name: &str, kind: Option<TipKind>| {
            let update = Update { name: name.into(), old: "0".repeat(40), new: "a".repeat(40) };
            refusal(&update, kind.as_ref()).map(|(reason, _)| reason)
        };
        assert_eq!(reason("refs/heads/x", Some(TipKind::Commit)), None);
        assert_eq!(reason("refs/heads/x", Some(TipKind::Tag)), Some("failed to update ref"));
        assert_eq!(reason("refs/heads/x", Some(TipKind::Other)), Some("failed to update ref"));
        for name in ["refs/tags/x", "refs/notes/x"] {
            for kind in [TipKind::Commit, TipKind::Tag, TipKind::Other] {
                assert_eq!(reason(name, Some(kind)), None);
            }
        }
        for name in ["refs/heads/x", "refs/tags/x", "refs/notes/x"] {
            assert_eq!(reason(name, None), Some("missing necessary objects"));
        }
    }
}
