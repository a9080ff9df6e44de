//! Who a caller is: peers of the socket, access tokens, passwords, tokens of jobs.

use argon2::{Argon2, PasswordHasher as _, PasswordVerifier as _, password_hash::phc::PasswordHash};
use farrier_proto::store::{RunStatus, Token, User};

use super::{Error, accounts};
use crate::{
    app::App,
    clock::Millis,
    model::{
        identity::{Account, Identity, Proof, TokenProof},
        runtime_token::Claims,
        scope::Scopes,
        secret,
    },
    store::{Snapshot, Tx, owners, runs, tokens},
    tasks,
};

/// Last use of a token is written at most this often.
const LAST_USED_EVERY_MS: Millis = 60_000;
/// Longest password, bytes.
pub const PASSWORD_MAX_BYTES: usize = 255;

/// What a caller shows of themselves.
pub enum Credentials {
    /// A token in a header or in the query.
    Token(String),
    /// A name and a password, which may be a token.
    Basic {
        /// The name; not compared when the password is a token.
        name: String,
        /// The password, or a token.
        password: String,
    },
}

/// A live workflow job that proved itself with its runtime token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobIdentity {
    /// The job's run.
    pub run_id: u64,
    /// The job.
    pub job_id: u64,
    /// The repository of the run.
    pub repository_id: u64,
}

/// The account that the operator on this machine acts as.
pub async fn built_in_administrator(app: &App) -> Result<Identity, Error> {
    let snapshot = app.store.read().await?;
    let user = owners::user(&snapshot, accounts::ADMIN_ID).await?;
    let user = user.ok_or(Error::NotFound { what: "the built-in administrator" })?;
    Ok(Identity::Account(Box::new(Account { user, proof: Proof::Peer })))
}

/// The identity behind `credentials`; wrong ones are refused, never taken for none.
pub async fn authenticate(app: &App, credentials: Credentials) -> Result<Identity, Error> {
    let account = match credentials {
        Credentials::Token(token) => by_token(app, &token, false).await?,
        Credentials::Basic { name, password } => {
            let token = if matches!(password.as_str(), "" | "x-oauth-basic") { &name } else { &password };
            match by_token(app, token, true).await? {
                Some(account) => Some(account),
                None => by_password(app, &name, password.clone()).await?,
            }
        }
    };
    let Some(account) = account else {
        return Err(Error::Unauthenticated { reason: "invalid username, password or token".into() });
    };
    check_state(&account.user)?;
    Ok(Identity::Account(Box::new(account)))
}

fn check_state(user: &User) -> Result<(), Error> {
    let closed = [
        (user.inactive, "this account is not activated"),
        (user.prohibit_login, "this account is prohibited from signing in"),
        (user.must_change_password, "the password of this account must be changed first"),
    ];
    match closed.into_iter().find(|(is, _)| *is) {
        Some((_, reason)) => Err(Error::Forbidden { reason: reason.into() }),
        None => Ok(()),
    }
}

async fn by_token(app: &App, clear: &str, as_password: bool) -> Result<Option<Account>, Error> {
    let hash = secret::sha256(clear.as_bytes());
    let now = app.now_ms();
    let snapshot = app.store.read().await?;
    let Some(token) = tokens::by_hash(&snapshot, &hash).await? else { return Ok(None) };
    if token.expires_ms != 0 && token.expires_ms <= now {
        return Ok(None);
    }
    let Some(user) = owners::user(&snapshot, token.user_id).await? else { return Ok(None) };
    drop(snapshot);
    note_use(app, hash, &token, now);
    let scopes = Scopes::parse(token.scopes.iter().map(String::as_str)).unwrap_or_default();
    let proof = Proof::Token(TokenProof {
        id: token.id,
        scopes,
        repositories: token.repository_ids,
        as_password,
        expires_ms: token.expires_ms,
    });
    Ok(Some(Account { user, proof }))
}

/// Remembers beside the request that the token was used.
fn note_use(app: &App, hash: [u8; 32], token: &Token, now: Millis) {
    if now - token.last_used_ms < LAST_USED_EVERY_MS {
        return;
    }
    let store = app.store.clone();
    app.tasks.short(async move {
        let noted = store
            .write(async |tx: Tx| {
                if let Some(mut row) = tokens::by_hash(&tx, &hash).await? {
                    row.last_used_ms = now.max(row.last_used_ms);
                    tokens::update(&tx, &hash, &row);
                }
                Ok::<_, Error>(())
            })
            .await;
        if let Err(error) = noted {
            tracing::debug!(error = &error as &dyn std::error::Error, "the last use of a token was not noted");
        }
    });
}

async fn by_password(app: &App, name: &str, password: String) -> Result<Option<Account>, Error> {
    let snapshot = app.store.read().await?;
    let user = owners::user_by_name(&snapshot, name).await?;
    drop(snapshot);
    let Some(user) = user.filter(|user| !user.password_hash.is_empty()) else { return Ok(None) };
    let hash = user.password_hash.clone();
    let fits = tasks::blocking(move || verify_password(&password, &hash)).await;
    Ok(fits.then_some(Account { user, proof: Proof::Password }))
}

fn verify_password(password: &str, hash: &str) -> bool {
    let parsed = PasswordHash::new(hash);
    password.len() <= PASSWORD_MAX_BYTES
        && parsed.is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok())
}

/// The hash under which a password is kept. Slow on purpose: runs beside the async workers.
pub async fn hash_password(password: String) -> Result<String, Error> {
    let hashed = tasks::blocking(move || {
        let salt = secret::random_bytes::<16>();
        Argon2::default().hash_password_with_salt(password.as_bytes(), &salt).map(|hash| hash.to_string())
    });
    hashed.await.map_err(|error| Error::invalid("password", error.to_string()))
}

/// The live job behind a runtime token.
pub async fn job(app: &App, token: &str) -> Result<JobIdentity, Error> {
    let refused = || Error::Unauthenticated { reason: "the runtime token is not valid or its job has ended".into() };
    let claims = Claims::verify(token, &app.keys.runtime_token, app.now_ms()).ok_or_else(refused)?;
    let snapshot: Snapshot = app.store.read().await?;
    let job = runs::job(&snapshot, claims.run_id, claims.job_id).await?;
    match job.filter(|job| job.status() == RunStatus::InProgress) {
        Some(job) => Ok(JobIdentity { run_id: job.run_id, job_id: job.id, repository_id: job.repository_id }),
        None => Err(refused()),
    }
}
