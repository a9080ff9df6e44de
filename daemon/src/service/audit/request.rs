//! The request that caused an audit entry.
//!
//! A request has a scope from its first byte to its response. Code inside the scope finds the request without being
//! passed it, so that no operation can leave out the actor. Tasks that are started for a request take its scope along.

use std::{
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use farrier_proto::store::{AuditActor, AuditActorKind};

use crate::{
    git::HeldCopies,
    model::identity::{Account, Identity, Proof},
};

tokio::task_local! {
    static CURRENT: RequestScope;
}

/// A request: its ID, its origin, and its caller once it is authenticated. Clones share their state.
#[derive(Clone, Debug)]
pub struct RequestScope(Arc<Fields>);

#[derive(Debug)]
struct Fields {
    id: [u8; 16],
    actor: Mutex<AuditActor>,
    /// The copies of repositories that it uses.
    held: HeldCopies,
}

impl RequestScope {
    /// Creates the scope of a request. `id`: ASCII digits. `address`: of the client. `uid`: of the peer of a Unix
    /// socket.
    pub fn new(id: [u8; 16], address: Option<IpAddr>, uid: Option<u32>) -> Self {
        let address = address.map(|address| address.to_string()).unwrap_or_default();
        let kind = AuditActorKind::Anonymous.into();
        let actor = Mutex::new(AuditActor { kind, address, uid, ..AuditActor::default() });
        Self(Arc::new(Fields { id, actor, held: HeldCopies::default() }))
    }

    /// Returns the scope of the running task, if it handles a request.
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Clone::clone).ok()
    }

    /// Runs `work` in this scope. Copies of repositories that it asks for are held until the scope ends.
    pub fn run<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
        CURRENT.scope(self.clone(), self.0.held.run(work))
    }

    /// Returns `work` so that it runs in the scope of the running task, for tasks that are started for a request.
    pub fn inherit<F: Future>(work: F) -> impl Future<Output = F::Output> + use<F> {
        let scope = Self::current();
        async move {
            match scope {
                Some(scope) => scope.run(work).await,
                None => work.await,
            }
        }
    }

    /// Sets the caller.
    pub fn set_caller(&self, identity: &Identity) {
        let mut actor = self.actor_mut();
        match identity {
            Identity::Anonymous => {}
            Identity::CiAgent => {
                actor.set_kind(AuditActorKind::CiAgent);
                identity.label().clone_into(&mut actor.name);
            }
            Identity::DeployKey(key) => actor.name = format!("deploy key {}", key.id),
            Identity::Account(account) => {
                drop(actor);
                self.set_account(account);
            }
        }
    }

    /// Sets the caller to an account.
    pub(super) fn set_account(&self, account: &Account) {
        let Account { user, proof } = account;
        let mut actor = self.actor_mut();
        actor.set_kind(AuditActorKind::User);
        actor.user_id = user.id;
        actor.name.clone_from(&user.name);
        actor.token_id = match proof {
            Proof::Token(token) => token.id,
            Proof::Peer | Proof::Password | Proof::Key(_) => 0,
        };
    }

    /// Sets the account that the caller, an administrator, acts as.
    pub fn set_acts_as(&self, name: &str) {
        name.clone_into(&mut self.actor_mut().acts_as);
    }

    /// Sets the caller to a workflow job.
    pub fn set_job(&self, id: u64) {
        let mut actor = self.actor_mut();
        actor.set_kind(AuditActorKind::Job);
        actor.name = format!("job {id}");
    }

    /// Returns the caller as it is known now.
    pub(super) fn actor(&self) -> AuditActor {
        self.actor_mut().clone()
    }

    pub(super) fn id(&self) -> String {
        String::from_utf8_lossy(&self.0.id).into_owned()
    }

    fn actor_mut(&self) -> MutexGuard<'_, AuditActor> {
        self.0.actor.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
