//! Finds the repository of a command, and whether the caller may use it.

use super::{command::RepositoryPath, connection::Connection, failure::SshFailure};
use crate::{
    model::identity::Identity,
    service::{
        audit::RequestScope,
        repositories::FoundRepository,
        ssh_keys::KeyIdentity,
        ssh_sign_in,
        transfers::{Allowed, Denied, GitService, access},
    },
    shares::Holder,
};

/// Old names that are followed for one command.
const MOVES_MAX: usize = 4;

/// Returns the caller and the repository for a transfer, if the caller may use `service` with it.
pub(super) async fn allow(
    connection: &Connection,
    caller: KeyIdentity,
    path: &RepositoryPath,
    service: GitService,
) -> Result<Allowed, SshFailure> {
    let (identity, found) = find(connection, caller, path, service).await?;
    let holder = Holder::caller(&identity, Some(connection.origin.address));
    Ok(Allowed { identity, repository: found.repository, holder })
}

/// Returns the caller and the repository, if the caller may use `service` with it.
pub(super) async fn find(
    connection: &Connection,
    caller: KeyIdentity,
    path: &RepositoryPath,
    service: GitService,
) -> Result<(Identity, FoundRepository), SshFailure> {
    let context = &connection.context;
    let Some(names) = path.names() else { return Err(SshFailure::missing(path)) };
    let found = match caller {
        KeyIdentity::Account { key_id, account_id } => {
            let identity = ssh_sign_in::caller(context, key_id, account_id).await?;
            of_account(connection, &identity, names, service).await.map(|found| (identity, found))
        }
        KeyIdentity::Deploy { key_id } => access::allow_deploy_key(context, key_id, names, service).await,
    };
    let (identity, found) = found.map_err(|denied| denial(denied, path))?;
    if let Some(scope) = RequestScope::current() {
        scope.set_caller(&identity);
    }
    Ok((identity, found))
}

fn denial(denied: Denied, path: &RepositoryPath) -> SshFailure {
    match denied {
        Denied::Missing | Denied::Moved(_) => SshFailure::missing(path),
        Denied::NoRight => SshFailure::new(format!("you have no right to push to {path}")),
        Denied::Forbidden(text) => SshFailure::new(text),
        Denied::Failed(error) => error.into(),
    }
}

/// Returns the repository, also under an old name: clients of SSH do not follow redirects.
async fn of_account(
    connection: &Connection,
    identity: &Identity,
    (owner, name): (&str, &str),
    service: GitService,
) -> Result<FoundRepository, Denied> {
    let mut path = (owner.to_owned(), name.to_owned());
    for _ in 0..MOVES_MAX {
        match access::allow(&connection.context, identity, (&path.0, &path.1), service).await {
            Err(Denied::Moved(to)) => {
                let Some((owner, name)) = to.split_once('/') else { break };
                path = (owner.to_owned(), name.to_owned());
            }
            found => return found,
        }
    }
    Err(Denied::Missing)
}
