//! Authenticates callers: peers of the Unix socket, access tokens, passwords and runtime tokens of jobs.

use farrier_proto::store::{RunStatus, Token, User};

use super::{
    Context, Error,
    access::{self, Action},
    access_watch, accounts, audit,
    sign_in::{self, by_password},
};
use crate::{
    clock::Millis,
    model::{
        access_token,
        identity::{Account, DeployKey, Identity, Proof, TokenProof},
        runtime_token::Claims,
        scope::Scopes,
        secret,
        signed_url::IssuedTo,
    },
    shares::Holder,
    show,
    store::{Read, Snapshot, Tx, owners, repositories, runs, ssh_keys, tokens},
};

/// Minimum time between two updates of a token's last use.
const LAST_USED_EVERY_MS: Millis = 60_000;

/// The credentials of a request.
pub enum Credentials {
    /// A token in a header or in the query.
    Token(String),
    /// A name and a password, which may be a token.
    Basic {
        /// The name. Ignored if the password is a token.
        name: String,
        /// The password, or a token.
        password: String,
    },
}

/// Where a request with credentials comes from.
pub struct SignInOrigin {
    /// The local user or address by which wrong credentials are counted.
    pub source: Holder,
    /// The address of the client, or the user of a local peer.
    pub address: String,
}

/// A live workflow job that was authenticated by its runtime token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobIdentity {
    /// The job's run.
    pub run_id: u64,
    /// The job.
    pub job_id: u64,
    /// The repository of the run.
    pub repository_id: u64,
}

/// Returns the identity of the operator on this machine.
pub async fn built_in_administrator(context: &Context) -> Result<Identity, Error> {
    let snapshot = context.store.read().await?;
    let user = owners::user(&snapshot, accounts::ADMIN_ID).await?;
    let user = user.ok_or(Error::NotFound { what: "the built-in administrator" })?;
    Ok(Identity::Account(Box::new(Account { user, proof: Proof::Peer })))
}

/// Returns the identity for `credentials`. Wrong credentials give an error and are never treated as anonymous.
///
/// After many wrong credentials from the source in `origin`, further ones are refused for a while; a valid token is
/// always accepted. `password_may_be_due`: also accept an account that must change its
/// password.
pub async fn authenticate(
    context: &Context,
    credentials: Credentials,
    origin: &SignInOrigin,
    password_may_be_due: bool,
) -> Result<Identity, Error> {
    let source = origin.source;
    let (mut refusal, mut reason) = (wrong_credentials(), "wrong token");
    let account = match credentials {
        Credentials::Token(token) => by_token(context, &token, origin, false).await?,
        Credentials::Basic { name, password } => {
            let is_token = matches!(password.as_str(), "" | "x-oauth-basic");
            match by_token(context, if is_token { &name } else { &password }, origin, true).await? {
                None if is_token || access_token::has_form(&password) => None,
                None if !context.config.auth.password_login => {
                    (refusal, reason) = (passwords_disabled(), "passwords are not accepted");
                    None
                }
                None => Some(by_password(context, &name, password, source).await?),
                found => found,
            }
        }
    };
    let Some(account) = account else {
        sign_in::refuse(context, source, reason).await?;
        return Err(refusal);
    };
    // Without password sign-in, the initial password cannot be used, so it need not be changed.
    let open = check_state(&account.user, password_may_be_due || !context.config.auth.password_login);
    open.inspect_err(|_| {
        let (name, now) = (Some(account.user.name.as_str()), context.now_ms());
        context.audit.sign_ins.refused(name, &source.label(), "the account is closed", now);
    })?;
    context.sign_in.note_success(account.user.id, source);
    audit::accepted(context, &account, &source.label());
    Ok(Identity::Account(Box::new(account)))
}

pub(super) fn wrong_credentials() -> Error {
    Error::Unauthenticated { reason: "invalid username, password or token".into() }
}

fn passwords_disabled() -> Error {
    let reason = "passwords are not accepted (auth.password_login = false): send an access token, for git as password";
    Error::Unauthenticated { reason: reason.into() }
}

/// Returns the account that a signed URL for `identity` names. The operator on this machine can always get another URL.
pub(super) fn issued_to(identity: &Identity) -> Option<IssuedTo> {
    let account = identity.account()?;
    let token = match &account.proof {
        // Nothing is signed for callers over SSH.
        Proof::Peer | Proof::Key(_) => return None,
        Proof::Password => None,
        Proof::Token(proof) => Some((proof.id, proof.user_id)),
    };
    Some(IssuedTo { user: account.user.id, token })
}

/// Returns the identity of the account that received a signed URL, or `None` if its account or token is not valid any
/// more.
pub(super) async fn of_url(
    read: &impl Read,
    account: IssuedTo,
    accepts_passwords: bool,
    now: Millis,
) -> Result<Option<Identity>, Error> {
    let Some(user) = owners::user(read, account.user).await? else { return Ok(None) };
    let proof = match account.token {
        None => Proof::Password,
        Some((id, owner)) => match tokens::get(read, owner, id).await? {
            Some(token) => Proof::Token(token_proof(token, false)),
            None => return Ok(None),
        },
    };
    refresh(read, &Identity::Account(Box::new(Account { user, proof })), accepts_passwords, now).await
}

/// Returns `identity` with its current rights, or `None` if its account or credentials are not valid any more.
/// `accepts_passwords`: `auth.password_login`.
pub(super) async fn refresh(
    read: &impl Read,
    identity: &Identity,
    accepts_passwords: bool,
    now: Millis,
) -> Result<Option<Identity>, Error> {
    let account = match identity {
        Identity::Account(account) => account,
        Identity::DeployKey(key) => {
            let row = ssh_keys::deploy_key_of_content(read, key.key_id, key.repository_id).await?;
            let current =
                row.filter(|row| row.id == key.id).map(|row| DeployKey { read_only: row.read_only, ..*key.clone() });
            return Ok(current.map(|key| Identity::DeployKey(Box::new(key))));
        }
        Identity::Anonymous | Identity::CiAgent => return Ok(Some(identity.clone())),
    };
    let Some(user) = owners::user(read, account.user.id).await? else { return Ok(None) };
    // A password that must be changed is no reason to end what the account has started.
    if check_state(&user, true).is_err() {
        return Ok(None);
    }
    let is_valid = match &account.proof {
        Proof::Peer => true,
        Proof::Password => accepts_passwords && user.password_hash == account.user.password_hash,
        Proof::Token(proof) => is_token_valid(read, proof, &user, now).await?,
        Proof::Key(id) => ssh_keys::get(read, *id).await?.is_some_and(|row| row.account_id == user.id),
    };
    Ok(is_valid.then(|| Identity::Account(Box::new(Account { user, proof: account.proof.clone() }))))
}

/// Returns whether a token still permits requests as `user`. The owner of the token can be an administrator who acts as
/// `user`.
async fn is_token_valid(read: &impl Read, proof: &TokenProof, user: &User, now: Millis) -> Result<bool, Error> {
    let token = tokens::get(read, proof.user_id, proof.id).await?;
    if token.is_none_or(|token| token.expires_ms != 0 && token.expires_ms <= now) {
        return Ok(false);
    }
    if proof.user_id == user.id {
        return Ok(true);
    }
    let owner = owners::user(read, proof.user_id).await?;
    Ok(owner.is_some_and(|owner| owner.admin && check_state(&owner, true).is_ok()))
}

/// Returns the identity of user `name` for an administrator who acts as that user. The rights of the presented token
/// still apply.
pub async fn act_as(context: &Context, identity: Identity, name: &str) -> Result<Identity, Error> {
    access::require_all_repositories(&identity)?;
    match identity {
        Identity::Account(account) if account.user.admin => {
            let snapshot = context.store.read().await?;
            let user = owners::user_by_name(&snapshot, name).await?.ok_or(Error::NotFound { what: "the user" })?;
            Ok(Identity::Account(Box::new(Account { user, proof: account.proof })))
        }
        _ => Err(Error::Forbidden { reason: "only administrators may act as another user".into() }),
    }
}

/// Returns an error if the account is closed. A password that must be changed does not close an account for its keys.
pub(super) fn require_open(user: &User) -> Result<(), Error> {
    check_state(user, true)
}

fn check_state(user: &User, password_may_be_due: bool) -> Result<(), Error> {
    let closed = [
        (user.inactive, "this account is not activated"),
        (user.prohibit_login, "this account is prohibited from signing in"),
        (
            user.must_change_password && !password_may_be_due,
            "the password of this account must be changed first: use `farrier passwd` or PUT /api/farrier/v1/user/password",
        ),
    ];
    match closed.into_iter().find(|(applies, _)| *applies) {
        Some((_, reason)) => Err(Error::Forbidden { reason: reason.into() }),
        None => Ok(()),
    }
}

/// Returns the account of a token, or `None` if the token does not exist. An expired token is an error with the time of
/// its expiry.
async fn by_token(
    context: &Context,
    clear: &str,
    origin: &SignInOrigin,
    as_password: bool,
) -> Result<Option<Account>, Error> {
    if access_token::is_damaged(clear) {
        return Ok(None);
    }
    let hash = secret::sha256(clear.as_bytes());
    let now = context.now_ms();
    let snapshot = context.store.read().await?;
    let Some(token) = tokens::by_hash(&snapshot, &hash).await? else { return Ok(None) };
    let Some(user) = owners::user(&snapshot, token.user_id).await? else { return Ok(None) };
    drop(snapshot);
    if token.expires_ms != 0 && token.expires_ms <= now {
        let source = origin.source.label();
        audit::log_expired_token(&user.name, token.id, &source);
        context.audit.sign_ins.refused(Some(&user.name), &source, "expired token", now);
        let reason = format!("the access token expired at {}; create a new one", show::time(token.expires_ms));
        return Err(Error::Unauthenticated { reason });
    }
    note_use(context, hash, &token, &origin.address, now);
    Ok(Some(Account { user, proof: Proof::Token(token_proof(token, as_password)) }))
}

fn token_proof(token: Token, as_password: bool) -> TokenProof {
    TokenProof {
        id: token.id,
        user_id: token.user_id,
        scopes: Scopes::parse(token.scopes.iter().map(String::as_str)).unwrap_or_default(),
        repositories: token.repository_ids,
        as_password,
        expires_ms: token.expires_ms,
    }
}

/// Records the use of the token, without delaying the request.
fn note_use(context: &Context, hash: [u8; 32], token: &Token, address: &str, now: Millis) {
    if now - token.last_used_ms < LAST_USED_EVERY_MS {
        return;
    }
    let (store, address) = (context.store.clone(), address.to_owned());
    context.tasks.short(async move {
        let noted = store
            .write(async |tx: Tx| {
                if let Some(mut row) = tokens::by_hash(&tx, &hash).await? {
                    row.last_used_ms = now.max(row.last_used_ms);
                    row.last_used_address.clone_from(&address);
                    tokens::update(&tx, &hash, &row);
                }
                Ok::<_, Error>(())
            })
            .await;
        if let Err(error) = noted {
            tracing::debug!(error = &error as &dyn std::error::Error, "recording the last use of a token failed");
        }
    });
}

/// Returns the live job of a runtime token. The account that began the job must still have the right to do so.
pub async fn job(context: &Context, token: &str) -> Result<JobIdentity, Error> {
    let refused = || Error::Unauthenticated {
        reason: "the runtime token is not valid, its job has ended, or its account lost its access".into(),
    };
    let claims = Claims::verify(token, &context.keys.runtime_token, context.now_ms()).ok_or_else(refused)?;
    let snapshot: Snapshot = context.store.read().await?;
    let job = runs::job(&snapshot, claims.run_id, claims.job_id).await?;
    let Some(job) = job.filter(|job| job.status() == RunStatus::InProgress) else { return Err(refused()) };
    // The jobs of a deleted repository are cancelled shortly after the deletion.
    let repository = repositories::get(&snapshot, job.repository_id).await?;
    if repository.is_none_or(|row| row.deleted) {
        return Err(refused());
    }
    // An agent without account has no rights to lose.
    if job.actor_id != 0 && !may_run_jobs(context, &snapshot, job.actor_id, job.repository_id).await? {
        return Err(refused());
    }
    Ok(JobIdentity { run_id: job.run_id, job_id: job.id, repository_id: job.repository_id })
}

/// Returns whether an account is open and may begin jobs of a repository.
async fn may_run_jobs(context: &Context, read: &impl Read, account: u64, repository: u64) -> Result<bool, Error> {
    let Some(user) = owners::user(read, account).await? else { return Ok(false) };
    let identity = Identity::Account(Box::new(Account { user, proof: Proof::Peer }));
    let current = refresh(read, &identity, context.config.auth.password_login, context.now_ms()).await?;
    match current {
        Some(identity) => access_watch::may(read, &identity, repository, Action::WriteActions).await,
        None => Ok(false),
    }
}
