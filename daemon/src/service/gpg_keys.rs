//! OpenPGP keys of accounts, with which they sign commits and tags.
//!
//! A key has the address of its account in a user ID, or the account has proved that it has the private key: it has
//! signed a token with it. Several accounts can add the same key, so nobody can keep a key from its owner.

use farrier_common::api::{CreateGpgKey, VerifyGpgKey};
use farrier_proto::store::{GpgKey, OwnerKind, User};

use super::{
    Context, Error, access,
    audit::{Action, AuditRecorder, Entry, Object},
    viewer,
};
use crate::{
    clock::Millis,
    model::{gpg_key::GpgPublicKey, identity::Identity, signature::OpenPgpSignature},
    store::{
        Read, Tx, gpg_keys as rows,
        ids::IdKind,
        owners::{self, Owner},
    },
    tasks,
};

const MISSING: Error = Error::NotFound { what: "the key" };
const NO_USER: Error = Error::NotFound { what: "the user" };
/// A token to sign is accepted for this time at least, and for twice this time at most.
const TOKEN_MS: Millis = 600_000;
/// What programs append to the token in the file that is signed.
const LINE_ENDS: [&str; 3] = ["", "\n", "\r\n"];

/// Keys of an account.
#[derive(Debug)]
pub struct AccountGpgKeys {
    /// The account.
    pub user: User,
    /// Its keys, by id.
    pub keys: Vec<GpgKey>,
}

/// Returns the keys of the caller.
pub async fn own(read: &impl Read, identity: &Identity) -> Result<AccountGpgKeys, Error> {
    let user = access::require_account(identity)?.user.clone();
    Ok(AccountGpgKeys { keys: rows::of_account(read, user.id).await?, user })
}

/// Returns the keys of the account `name`.
pub async fn of_user(read: &impl Read, identity: &Identity, name: &str) -> Result<AccountGpgKeys, Error> {
    access::require_account(identity)?;
    match viewer::find_of_kind(read, identity, name, OwnerKind::User).await? {
        Owner::User(user) => Ok(AccountGpgKeys { keys: rows::of_account(read, user.id).await?, user }),
        Owner::Org(_) => Err(NO_USER),
    }
}

/// Returns the key `id` of the caller, and its account.
pub async fn get(read: &impl Read, identity: &Identity, id: u64) -> Result<(GpgKey, User), Error> {
    let user = access::require_account(identity)?.user.clone();
    let row = rows::get(read, user.id, id).await?.ok_or(MISSING)?;
    Ok((row, user))
}

/// Returns the token that the caller signs with a key to prove the possession of it.
pub fn token(context: &Context, identity: &Identity) -> Result<String, Error> {
    let account = access::require_account(identity)?.user.id;
    Ok(token_at(context, account, context.now_ms()))
}

fn token_at(context: &Context, account: u64, now_ms: Millis) -> String {
    let period = now_ms.div_euclid(TOKEN_MS);
    hex::encode(context.keys.gpg_key_token.sign(&[&account.to_be_bytes(), &period.to_be_bytes()]))
}

/// Adds a key to the account of the caller.
pub async fn create(context: &Context, identity: &Identity, input: &CreateGpgKey) -> Result<(GpgKey, User), Error> {
    const FIELD: &str = "armored_public_key";
    access::require_whole_account(identity)?;
    let account = access::require_account(identity)?.user.id;
    if input.armored_public_key.trim().is_empty() {
        return Err(Error::invalid(FIELD, "Required"));
    }
    let (text, now_ms) = (input.armored_public_key.clone(), context.now_ms());
    let parsed = tasks::blocking(move || GpgPublicKey::parse(&text, now_ms)).await;
    let GpgPublicKey { parts, emails } = parsed.map_err(|problem| Error::invalid(FIELD, problem.to_string()))?;
    let mut row = GpgKey {
        id: context.store.next_id(IdKind::GpgKey).await?,
        account_id: account,
        parts,
        emails,
        verified: false,
        created_ms: now_ms,
    };
    if !input.armored_signature.trim().is_empty() {
        require_proof(context, &row, &input.armored_signature).await?;
        row.verified = true;
    }
    let row = &row;
    let recorder = &AuditRecorder::new(context);
    let added = context.store.write(async |tx: Tx| {
        // The account may have been deleted since, or have another address.
        let user = owners::user(&tx, account).await?.ok_or(NO_USER)?;
        if !row.verified && !row.emails.contains(&user.email.to_lowercase()) {
            return Err(Error::invalid(
                FIELD,
                "has no user ID with the address of the account; sign the token of GET /user/gpg_key_token with the \
                 key, and send the signature as armored_signature",
            ));
        }
        for part in &row.parts {
            if rows::of_part(&tx, account, part.key_id).await?.is_some() {
                return Err(Error::invalid(FIELD, "is a key of this account already, or has one of its subkeys"));
            }
        }
        let others = rows::of_account(&tx, account).await?;
        if others.len() >= rows::PER_ACCOUNT_MAX {
            return Err(Error::invalid(FIELD, format!("the account has {} keys already", others.len())));
        }
        rows::put(&tx, row);
        let entry = Entry::new(Action::GpgKeyCreate, Object::gpg_key(row, &user.name));
        recorder.record(&tx, entry.set("fingerprint", fingerprint(row)).set("verified", row.verified)).await?;
        Ok(user)
    });
    let user = added.await?;
    Ok((row.clone(), user))
}

/// Records that the caller has the private key of a key, after it has signed the token with it.
pub async fn verify(context: &Context, identity: &Identity, input: &VerifyGpgKey) -> Result<(GpgKey, User), Error> {
    access::require_whole_account(identity)?;
    let account = access::require_account(identity)?.user.id;
    let key_id = u64::from_str_radix(&input.key_id, 16).map_err(|_| match input.key_id.as_str() {
        "" => Error::invalid("key_id", "Required"),
        _ => MISSING,
    })?;
    let row = rows::of_part(&context.store.read().await?, account, key_id).await?.ok_or(MISSING)?;
    require_proof(context, &row, &input.armored_signature).await?;
    context
        .store
        .write(async |tx: Tx| {
            // The key may have been deleted since.
            let user = owners::user(&tx, account).await?.ok_or(NO_USER)?;
            let row = rows::get(&tx, account, row.id).await?.ok_or(MISSING)?;
            let row = GpgKey { verified: true, ..row };
            rows::put(&tx, &row);
            Ok((row, user))
        })
        .await
}

/// Returns an error if `signature` is not a signature of the token with `row`.
async fn require_proof(context: &Context, row: &GpgKey, signature: &str) -> Result<(), Error> {
    let now_ms = context.now_ms();
    let tokens = [now_ms, now_ms - TOKEN_MS].map(|ms| token_at(context, row.account_id, ms));
    let (row, text) = (row.clone(), signature.to_owned());
    let is_proved = tasks::blocking(move || {
        let Some(signature) = OpenPgpSignature::parse(&text) else { return false };
        let mut signed = tokens.iter().flat_map(|token| LINE_ENDS.map(|end| format!("{token}{end}")));
        signed.any(|text| signature.fits(&row, text.as_bytes(), now_ms))
    });
    if is_proved.await {
        return Ok(());
    }
    let problem = "is not a signature of the current token of GET /user/gpg_key_token with this key; make it with \
                   `gpg --armor --detach-sign`";
    Err(Error::invalid("armored_signature", problem))
}

/// Deletes the key `id` of the caller. Signatures with it are no longer verified.
pub async fn delete(context: &Context, identity: &Identity, id: u64) -> Result<(), Error> {
    access::require_whole_account(identity)?;
    let account = access::require_account(identity)?.user.id;
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            let row = rows::get(&tx, account, id).await?.ok_or(MISSING)?;
            rows::delete(&tx, &row);
            let owner = owners::user(&tx, account).await?.map(|user| user.name).unwrap_or_default();
            let entry = Entry::new(Action::GpgKeyDelete, Object::gpg_key(&row, &owner));
            recorder.record(&tx, entry.had("fingerprint", fingerprint(&row))).await?;
            Ok(())
        })
        .await
}

fn fingerprint(row: &GpgKey) -> String {
    row.parts.first().map(|primary| hex::encode_upper(&primary.fingerprint)).unwrap_or_default()
}
