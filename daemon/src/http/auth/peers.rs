//! Identity of callers on the Unix socket, from the user and groups that the kernel reports.

use crate::{
    http::{AppState, error::ApiError},
    model::identity::Identity,
    serve::{Peer, PeerIds},
    service::authentication,
};

/// Returns the identity of a caller that sent no credentials.
pub(super) async fn identity(state: &AppState, peer: Option<&Peer>) -> Result<Identity, ApiError> {
    let Some(Peer::Unix(Some(ids))) = peer else { return Ok(Identity::Anonymous) };
    if state.peers().administers(ids) {
        return Ok(authentication::built_in_administrator(state).await?);
    }
    Ok(if state.peers().runs_ci(ids) { Identity::CiAgent } else { Identity::Anonymous })
}

/// Maps local users and groups to identities.
#[derive(Clone, Debug, Default)]
pub struct PeerRules {
    /// Whether the peer's user and groups are used at all.
    pub trusted: bool,
    /// The daemon's own user.
    pub own_uid: u32,
    /// Members act as the built-in administrator.
    pub admin_gid: Option<u32>,
    /// Members act as CI agents.
    pub ci_gid: Option<u32>,
}

impl PeerRules {
    fn administers(&self, ids: &PeerIds) -> bool {
        let member = self.admin_gid.is_some_and(|gid| ids.gids.contains(&gid));
        self.trusted && (ids.uid == 0 || ids.uid == self.own_uid || member)
    }

    fn runs_ci(&self, ids: &PeerIds) -> bool {
        self.trusted && self.ci_gid.is_some_and(|gid| ids.gids.contains(&gid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peer_rights_follow_the_configured_users_and_groups() {
        let rules = PeerRules { trusted: true, own_uid: 7, admin_gid: Some(50), ci_gid: Some(60) };
        let peer = |uid, gids: &[u32]| PeerIds { uid, gids: gids.into() };
        assert!(rules.administers(&peer(0, &[])) && rules.administers(&peer(7, &[])));
        assert!(rules.administers(&peer(9, &[1, 50])) && !rules.administers(&peer(9, &[1, 60])));
        assert!(rules.runs_ci(&peer(9, &[60])) && !rules.runs_ci(&peer(9, &[50])));
        let distrustful = PeerRules { trusted: false, ..rules };
        assert!(!distrustful.administers(&peer(0, &[])) && !distrustful.runs_ci(&peer(9, &[60])));
    }
}
