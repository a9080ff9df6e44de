//! Which signatures of commits and tags are verified.
//!
//! A signature is verified if all of this is true:
//! - The committer's address (the tagger's for a tag) is the address of an account, without regard to case. Other
//!   addresses of an account do not count, because nobody has confirmed them.
//! - The key of the signature belongs to that account. An OpenPGP key also has the address in a user ID, or the account
//!   has proved that it has the private key.
//! - The signature fits the object, and was made while the key was valid.
//!
//! Keys and accounts are read for each request, so a signature is no longer verified after its key was deleted.
//!
//! Checks take processor time. A request checks its signatures one after the other, with a share of `signature_check`,
//! so that clients cannot use all cores. The number and the size of the signatures of a request are limited.

use std::{collections::HashMap, sync::Arc, time::Duration};

use farrier_proto::store::{GpgKey, User};

use super::{Context, Error};
use crate::{
    clock::Millis,
    git::read::commit::{CommitObject, Signed, TagObject},
    model::{
        gpg_key, secret,
        signature::{ObjectSignature, OpenPgpSignature, SshSignature, TEXT_MAX_BYTES},
        ssh_key,
    },
    shares::{Holder, Share},
    store::{Read, gpg_keys, owners, ssh_keys},
    tasks,
};

/// Largest signed data that is verified, in bytes. A commit consists of a few lines and its message.
const PAYLOAD_MAX_BYTES: usize = 1 << 20;
/// Longest text of a signature that is read at once, in bytes. Hostile ones with thousands of parts take milliseconds.
const SHORT_TEXT_BYTES: usize = 8 << 10;
/// Most signatures that one request checks: two pages of commits.
const SIGNATURES_MAX: usize = 100;
/// Size of all signatures and signed data that one request checks, in bytes.
const REQUEST_MAX_BYTES: usize = 8 << 20;
/// Number of signatures of any size that fit into `REQUEST_MAX_BYTES`. Callers that need a verdict for each of many
/// objects pass them in groups of this size, and so let other callers check in between.
pub const GROUP: usize = REQUEST_MAX_BYTES / (PAYLOAD_MAX_BYTES + TEXT_MAX_BYTES);
/// How long a request waits for its share.
const QUEUE: Duration = Duration::from_secs(10);

/// A commit or tag whose signature is asked for.
#[derive(Clone, Copy, Debug)]
pub struct SignedObject<'a> {
    /// Its object id.
    pub id: &'a str,
    /// The signature.
    pub signed: &'a Signed,
    /// The address of the person who made it.
    email: &'a str,
}

impl<'a> SignedObject<'a> {
    /// Returns a commit, if it is signed.
    pub fn of_commit(commit: &'a CommitObject) -> Option<Self> {
        let signed = commit.signed.as_ref()?;
        Some(Self { id: &commit.id, signed, email: &commit.committer.email })
    }

    /// Returns a tag, if it is signed.
    pub fn of_tag(tag: &'a TagObject) -> Option<Self> {
        let email = tag.tagger.as_ref().map_or("", |tagger| &tagger.email);
        Some(Self { id: &tag.id, signed: tag.signed.as_ref()?, email })
    }
}

/// What is known about a signature.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// It is verified.
    Verified {
        /// The account of the key.
        signer: Box<User>,
        /// The key: the ID of an OpenPGP key, or the fingerprint of an SSH key.
        key: String,
    },
    /// It cannot be read.
    Unreadable,
    /// The signed data is too large, alone or with the other signatures of the request.
    TooLarge,
    /// The account of the committer does not have the key, or no account has the address.
    NoKey,
    /// The account has the key, but the key has not signed the object, or was not valid at that time.
    Bad,
}

impl Verdict {
    /// Returns whether the signature is verified.
    pub fn is_verified(&self) -> bool {
        matches!(self, Self::Verified { .. })
    }

    /// Returns the word or text that the API family uses.
    pub fn reason(&self) -> String {
        match self {
            Self::Verified { signer, key } => format!("{} / {key}", signer.name),
            Self::Unreadable => "gpg.error.extract_sign".into(),
            Self::TooLarge => "gpg.error.generate_hash".into(),
            Self::NoKey => "gpg.error.no_gpg_keys_found".into(),
            Self::Bad => "gpg.error.probable_bad_signature".into(),
        }
    }
}

/// Returns a verdict for each object, by its id. The work counts to `holder`.
pub async fn verify(
    context: &Context,
    holder: Holder,
    objects: &[SignedObject<'_>],
) -> Result<HashMap<String, Verdict>, Error> {
    let mut verdicts = HashMap::with_capacity(objects.len());
    if objects.is_empty() {
        return Ok(verdicts);
    }
    // Before the snapshot, which would hold old pages of the store while the request waits.
    let share = Arc::new(context.work.signature_checks.wait(holder, QUEUE).await?);
    let (read, now_ms) = (context.store.read().await?, context.now_ms());
    let addresses: Vec<&str> = objects.iter().map(|object| object.email).collect();
    let users = owners::users_by_email(&read, &addresses).await?;
    let mut budget = Budget { signatures: SIGNATURES_MAX, bytes: REQUEST_MAX_BYTES };
    for object in objects {
        let user = users.get(&object.email.to_lowercase());
        let verdict = if budget.take(object.signed) {
            verdict(&read, now_ms, *object, user, &share).await?
        } else {
            Verdict::TooLarge
        };
        verdicts.insert(object.id.to_owned(), verdict);
    }
    Ok(verdicts)
}

/// The signatures that a request may still check.
struct Budget {
    signatures: usize,
    bytes: usize,
}

impl Budget {
    /// Takes a signature out of the budget. Returns whether it may be checked.
    fn take(&mut self, signed: &Signed) -> bool {
        let signatures = self.signatures.checked_sub(1);
        // A longer text of a signature is not read.
        let text_bytes = signed.signature.len().min(TEXT_MAX_BYTES);
        let bytes = self.bytes.checked_sub(text_bytes.saturating_add(signed.payload.len()));
        let (Some(signatures), Some(bytes)) = (signatures, bytes) else { return false };
        if signed.payload.len() > PAYLOAD_MAX_BYTES {
            return false;
        }
        *self = Self { signatures, bytes };
        true
    }
}

async fn verdict(
    read: &impl Read,
    now_ms: Millis,
    object: SignedObject<'_>,
    user: Option<&User>,
    share: &Arc<Share>,
) -> Result<Verdict, Error> {
    let Some(signature) = parse(&object.signed.signature, share).await else { return Ok(Verdict::Unreadable) };
    let Some(user) = user else { return Ok(Verdict::NoKey) };
    let Some(check) = Check::find(read, signature, user).await? else { return Ok(Verdict::NoKey) };
    let (key, payload) = (check.key_name(), object.signed.payload.clone());
    // A signature takes up to some milliseconds. The work continues when the client disconnects, and keeps the share.
    let share = share.clone();
    let check = move || {
        let passes = check.passes(&payload, now_ms);
        drop(share);
        passes
    };
    if tasks::blocking(check).await {
        Ok(Verdict::Verified { signer: Box::new(user.clone()), key })
    } else {
        Ok(Verdict::Bad)
    }
}

async fn parse(text: &str, share: &Arc<Share>) -> Option<ObjectSignature> {
    if text.len() <= SHORT_TEXT_BYTES || text.len() > TEXT_MAX_BYTES {
        return ObjectSignature::parse(text);
    }
    let (text, share) = (text.to_owned(), share.clone());
    let parse = move || {
        let signature = ObjectSignature::parse(&text);
        drop(share);
        signature
    };
    tasks::blocking(parse).await
}

/// A signature with the key that it names.
enum Check {
    Ssh(SshSignature),
    OpenPgp(OpenPgpSignature, GpgKey),
}

impl Check {
    /// Finds the key of a signature among those of `user`.
    async fn find(read: &impl Read, signature: ObjectSignature, user: &User) -> Result<Option<Self>, Error> {
        Ok(match signature {
            ObjectSignature::Ssh(signature) => {
                let row = ssh_keys::by_hash(read, &secret::sha256(signature.blob())).await?;
                row.filter(|row| row.account_id == user.id).map(|_| Self::Ssh(signature))
            }
            ObjectSignature::OpenPgp(signature) => {
                let row = gpg_keys::of_part(read, user.id, signature.key_id()).await?;
                let row = row.filter(|row| row.verified || row.emails.contains(&user.email.to_lowercase()));
                row.map(|row| Self::OpenPgp(signature, row))
            }
        })
    }

    fn key_name(&self) -> String {
        match self {
            Self::Ssh(signature) => ssh_key::fingerprint(signature.blob()),
            Self::OpenPgp(signature, _) => gpg_key::shown_id(signature.key_id()),
        }
    }

    fn passes(&self, payload: &[u8], now_ms: Millis) -> bool {
        match self {
            Self::Ssh(signature) => signature.fits(payload),
            Self::OpenPgp(signature, row) => signature.fits(row, payload, now_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget() -> Budget {
        Budget { signatures: SIGNATURES_MAX, bytes: REQUEST_MAX_BYTES }
    }

    fn signed(payload: usize) -> Signed {
        Signed { signature: String::new(), payload: vec![b'x'; payload] }
    }

    #[test]
    fn a_request_checks_a_limited_number_of_signatures() {
        let (mut budget, small) = (budget(), signed(100));
        let checked = (0..3 * SIGNATURES_MAX).filter(|_| budget.take(&small)).count();
        assert_eq!(checked, SIGNATURES_MAX);
    }

    #[test]
    fn a_request_checks_a_limited_size_and_still_checks_small_signatures_after_a_large_one() {
        let (mut budget, large) = (budget(), signed(PAYLOAD_MAX_BYTES - 1));
        assert!(!budget.take(&signed(PAYLOAD_MAX_BYTES + 1)), "one signature of more than the maximum");
        let checked = (0..SIGNATURES_MAX).filter(|_| budget.take(&large)).count();
        assert_eq!(checked, REQUEST_MAX_BYTES / PAYLOAD_MAX_BYTES);
        assert!(budget.take(&signed(1)));
        assert!(!budget.take(&large));
    }
}
