//! The one place that decides who may do what.

use farrier_proto::store::Repository;

use super::Error;
use crate::model::identity::Identity;

/// What is to be done with a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// See it and what it holds.
    Read,
    /// Change its settings.
    Administer,
    /// See its runs and artifacts.
    ReadActions,
    /// Begin runs, delete artifacts.
    WriteActions,
}

/// Answers how `identity` stands to `repository` for `action`.
///
/// Who may not read a repository must not learn that it exists.
pub fn check(identity: &Identity, repository: &Repository, action: Action) -> Result<(), Error> {
    if !may(identity, repository, Action::Read) && !may(identity, repository, action) {
        return Err(Error::NotFound { what: "the repository" });
    }
    if may(identity, repository, action) {
        return Ok(());
    }
    match identity {
        Identity::Anonymous => Err(Error::Unauthenticated { reason: "token is required".into() }),
        _ => Err(Error::Forbidden { reason: "the caller has no right to do this with the repository".into() }),
    }
}

/// Whether `identity` may do `action`.
pub fn may(identity: &Identity, repository: &Repository, action: Action) -> bool {
    if let Some(token) = identity.token() {
        let outside = !token.repositories.is_empty() && !token.repositories.contains(&repository.id);
        let hidden = token.scopes.public_only() && repository.private;
        // A limited token still sees what everybody sees.
        if hidden || (outside && (repository.private || !matches!(action, Action::Read | Action::ReadActions))) {
            return false;
        }
    }
    let owns = identity.is_admin() || (repository.owner_id == identity.user_id() && identity.user_id() != 0);
    match action {
        Action::Read => owns || !repository.private,
        Action::ReadActions => owns || !repository.private || matches!(identity, Identity::CiAgent),
        Action::WriteActions => owns || matches!(identity, Identity::CiAgent),
        Action::Administer => owns,
    }
}

/// Refuses all but site administrators.
pub fn require_site_admin(identity: &Identity) -> Result<(), Error> {
    match identity {
        Identity::Anonymous => Err(Error::Unauthenticated { reason: "token is required".into() }),
        _ if identity.is_admin() => Ok(()),
        _ => Err(Error::Forbidden { reason: "user should be the site admin".into() }),
    }
}

#[cfg(test)]
mod tests {
    use farrier_proto::store::User;

    use super::*;
    use crate::model::{
        identity::{Account, Proof, TokenProof},
        scope::Scopes,
    };

    fn account(id: u64, admin: bool, proof: Proof) -> Identity {
        Identity::Account(Box::new(Account { user: User { id, admin, ..User::default() }, proof }))
    }

    fn token(scopes: &str, repositories: Vec<u64>) -> Proof {
        Proof::Token(TokenProof {
            id: 1,
            scopes: Scopes::parse(scopes.split(' ')).expect("scopes"),
            repositories,
            as_password: false,
            expires_ms: 0,
        })
    }

    #[test]
    fn who_may_do_what() {
        use Action::{Administer, Read, ReadActions, WriteActions};
        let public = Repository { id: 5, owner_id: 2, ..Repository::default() };
        let private = Repository { private: true, ..public.clone() };
        let all = [Read, ReadActions, WriteActions, Administer];
        for (identity, in_public, in_private) in [
            (Identity::Anonymous, "rR", ""),
            (account(3, false, Proof::Peer), "rR", ""),
            (account(2, false, Proof::Peer), "rRWA", "rRWA"),
            (account(1, true, Proof::Peer), "rRWA", "rRWA"),
            (Identity::CiAgent, "rRW", "RW"),
            (account(2, false, token("all", vec![5])), "rRWA", "rRWA"),
            (account(2, false, token("all", vec![6])), "rR", ""),
            (account(2, false, token("all public-only", vec![])), "rRWA", ""),
        ] {
            for (repository, expected) in [(&public, in_public), (&private, in_private)] {
                let letters = ['r', 'R', 'W', 'A'];
                let got: String =
                    all.iter().zip(letters).filter(|(a, _)| may(&identity, repository, **a)).map(|(_, l)| l).collect();
                assert_eq!(got, expected, "{identity:?} private={}", repository.private);
            }
        }
    }

    #[test]
    fn hidden_repositories_do_not_exist_and_visible_ones_ask_for_more() {
        let private = Repository { id: 5, owner_id: 2, private: true, ..Repository::default() };
        let public = Repository { private: false, ..private.clone() };
        let stranger = account(3, false, Proof::Peer);
        assert!(matches!(check(&stranger, &private, Action::WriteActions), Err(Error::NotFound { .. })));
        assert!(matches!(check(&stranger, &public, Action::WriteActions), Err(Error::Forbidden { .. })));
        assert!(matches!(check(&Identity::Anonymous, &public, Action::Administer), Err(Error::Unauthenticated { .. })));
    }
}
