//! The account or deploy key of a push, as it is recorded.

use farrier_proto::store::PushKey;

use crate::model::identity::Identity;

/// The account or deploy key of a push.
#[derive(Clone, Debug, Default)]
pub struct Pusher {
    /// The account. For a deploy key, the account that added it.
    pub actor: u64,
    /// The deploy key, if the push was made with one.
    pub key: Option<PushKey>,
}

impl Pusher {
    /// Returns the pusher of a request.
    pub fn of(identity: &Identity) -> Self {
        let key = match identity {
            Identity::DeployKey(key) => Some(PushKey { id: key.id, title: key.title.clone() }),
            Identity::Anonymous | Identity::Account(_) | Identity::CiAgent => None,
        };
        Self { actor: identity.actor_id(), key }
    }
}

impl From<u64> for Pusher {
    /// Returns the account with this ID.
    fn from(actor: u64) -> Self {
        Self { actor, key: None }
    }
}
