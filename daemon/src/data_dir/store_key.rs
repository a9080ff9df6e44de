//! The key that encrypts secrets in the store: where it is read from, how it is created and checked.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use zeroize::Zeroizing;

use super::{DataDirError, store_location, store_may_exist};
use crate::{
    config::Config,
    store::{
        Store, StoreError,
        keyring::{KeyId, Keyring, StoreKey},
        sealing,
    },
    tasks,
};

/// The name of the key file in the data directory.
pub const KEY_FILE: &str = "secrets.key";
/// The first lines of a key file that farrierd writes.
const HEADER: &str = "# The key of the secrets in farrier.redb. Without it, they cannot be read: back it up with the store.\n\
    # The first line encrypts and decrypts, further lines only decrypt.\n";

/// The keys that the daemon was given.
#[derive(Debug)]
pub(crate) struct KeySources {
    /// The credential of the service manager, if it exists.
    credential: Option<PathBuf>,
    /// The keys in the credential.
    in_credential: Vec<StoreKey>,
    /// `store.key_file`, or the file in the data directory. May not exist.
    pub(super) file: PathBuf,
    /// The keys in the file.
    pub(super) in_file: Vec<StoreKey>,
}

impl KeySources {
    /// Reads all keys. Changes nothing.
    pub(crate) async fn read(config: &Config) -> Result<Self, DataDirError> {
        let credential = config.store.key_credential.clone().filter(|path| path.exists());
        let file = config.store.key_file.clone().unwrap_or_else(|| config.data_dir.join(KEY_FILE));
        let paths = (credential.clone(), file.clone());
        let read = move || {
            let in_credential = paths.0.as_deref().map(read_keys).transpose()?.flatten().unwrap_or_default();
            Ok::<_, DataDirError>((in_credential, read_keys(&paths.1)?.unwrap_or_default()))
        };
        let (in_credential, in_file) = tasks::blocking(read).await?;
        Ok(Self { credential, in_credential, file, in_file })
    }

    /// Returns the credential of the service manager if it has the key. farrierd cannot change it.
    pub(super) fn credential(&self) -> Option<&Path> {
        self.credential.as_deref()
    }

    /// Returns all keys: those of the credential, then those of the file.
    pub(super) fn all(&self) -> impl Iterator<Item = &StoreKey> {
        self.in_credential.iter().chain(&self.in_file)
    }

    /// Returns an error if `store`, which is the file `path`, may have values that are encrypted with another key.
    pub(crate) async fn check(&self, store: &Store, path: &Path) -> Result<(), DataDirError> {
        let failed = |source| DataDirError::from_store_file(path, path.parent().unwrap_or(path), source);
        let ids = sealing::key_ids(&store.read().await.map_err(failed)?).await.map_err(failed)?;
        match ids.into_iter().find(|id| self.all().all(|key| key.id() != *id)) {
            None => Ok(()),
            Some(key) => {
                let key_path = self.credential.clone().unwrap_or_else(|| self.file.clone());
                Err(DataDirError::KeyMissing { store: path.to_owned(), key, key_path })
            }
        }
    }

    /// Returns the keys, of which there must be one.
    pub(super) fn keyring(&self) -> Option<Keyring> {
        let keys: Vec<StoreKey> = self.all().cloned().collect();
        keys.split_first().map(|(current, others)| Keyring::new(current, others))
    }

    /// Returns the keys. Creates the key file if there is none; it would survive a power failure then.
    pub(crate) async fn keyring_or_create(&self, config: &Config) -> Result<Keyring, DataDirError> {
        if let Some(keyring) = self.keyring() {
            return Ok(keyring);
        }
        let key = StoreKey::random();
        self.write(config, std::slice::from_ref(&key)).await?;
        Ok(Keyring::new(&key, &[]))
    }

    /// Replaces the key file by one with `keys`.
    pub(super) async fn write(&self, config: &Config, keys: &[StoreKey]) -> Result<(), DataDirError> {
        let mut text = Zeroizing::new(HEADER.to_owned());
        for key in keys {
            text.push_str(&key.to_hex());
            text.push('\n');
        }
        let file = self.file.clone();
        let written = tasks::blocking(move || write_synced(&file, &text)).await;
        let path = self.file.clone();
        written.map_err(|source| match &config.store.key_file {
            Some(_) => DataDirError::KeyUnusable { path, reason: format!("it cannot be written: {source}") },
            None => DataDirError::from_io(config, source),
        })
    }
}

/// Returns the keyring for commands that only read. `None`: no key is available.
pub(crate) async fn keyring_for_reading(config: &Config, store: &Store) -> Result<Option<Keyring>, DataDirError> {
    let sources = KeySources::read(config).await?;
    sources.check(store, &store_location(config)).await?;
    Ok(sources.keyring())
}

/// Reads the keys in a file. `None`: it does not exist.
fn read_keys(path: &Path) -> Result<Option<Vec<StoreKey>>, DataDirError> {
    let unusable = |reason: String| DataDirError::KeyUnusable { path: path.to_owned(), reason };
    let text = match fs::read_to_string(path) {
        Ok(text) => Zeroizing::new(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unusable(error.to_string())),
    };
    let mut keys = Vec::new();
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if !line.is_empty() && !line.starts_with('#') {
            // Without the line, which may be a key with a typing error.
            let key = StoreKey::parse(line);
            keys.push(key.ok_or_else(|| {
                unusable(format!("line {number} does not have 64 hexadecimal digits; restore the file from a backup"))
            })?);
        }
    }
    if keys.is_empty() {
        return Err(unusable("it has no line with a key; restore the file from a backup".to_owned()));
    }
    if fs::metadata(path).is_ok_and(|about| about.mode() & 0o007 != 0) {
        tracing::warn!(path = %path.display(), "all users of this machine can read the key of the store; run chmod 600");
    }
    Ok(Some(keys))
}

/// Replaces `path`. Returns once the change survives a power failure.
fn write_synced(path: &Path, text: &str) -> io::Result<()> {
    let new = path.with_added_extension("new");
    let mut open = OpenOptions::new();
    let mut file = open.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if let Err(error) = written {
        // Safe to remove: no value was encrypted with a key that is only in this file, which was never renamed.
        _ = fs::remove_file(&new);
        return Err(error);
    }
    // The new file contains every key of the previous file with which a value is encrypted.
    fs::rename(&new, path)?;
    File::open(path.parent().unwrap_or(path))?.sync_all()
}

/// The result of [`rotate_key`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotated {
    /// The id of the new key.
    pub key: KeyId,
    /// The key file.
    pub file: PathBuf,
    /// Number of rows that were encrypted with the new key.
    pub rows: u64,
    /// Number of rows whose secrets were removed because their key is lost.
    pub discarded: u64,
    /// Number of rows that could not be decrypted. If there are any, the previous keys stay in the file.
    pub unreadable: u64,
}

/// Replaces the key in the key file by a new one, and encrypts all secrets with it. No daemon may be running.
///
/// After an interruption, the next call or the next start of the daemon continues. The previous key stays in the file
/// until no value needs it. `discard_secrets` removes the secrets whose key is missing, instead of failing. `record`
/// records the new key in the audit log, before anything is changed.
pub async fn rotate_key(
    config: &Config,
    discard_secrets: bool,
    now_ms: i64,
    record: impl AsyncFnOnce(&Store, KeyId) -> Result<(), StoreError>,
) -> Result<Rotated, DataDirError> {
    let store_file = store_location(config);
    let io_failed = |source| DataDirError::from_io(config, source);
    if !store_may_exist(config) {
        return Err(DataDirError::Unusable { path: store_file, source: io::ErrorKind::NotFound.into() });
    }
    let in_use = || DataDirError::InUse { path: config.data_dir.clone() };
    let _lock = super::lock(&config.data_dir).map_err(io_failed)?.ok_or_else(in_use)?;
    // A damaged store is not changed.
    drop(super::open_unchanged(config).await?);
    let store = super::open_store(config).await?;
    let sources = KeySources::read(config).await?;
    if let Some(path) = sources.credential() {
        return Err(DataDirError::KeyIsCredential { path: path.to_owned() });
    }
    if !discard_secrets {
        sources.check(&store, &store_file).await?;
    }
    let failed = |source| DataDirError::from_store(config, source).refined(config);
    let snapshot = store.read().await.map_err(failed)?;
    let is_interrupted = match sources.in_file.as_slice() {
        [new, _, ..] => !sealing::needs_previous_keys(&snapshot, new.id()).await.map_err(failed)?,
        _ => false,
    };
    drop(snapshot);
    let mut keys = sources.in_file.clone();
    // The first key of an interrupted call is its new key.
    if !is_interrupted {
        keys.insert(0, StoreKey::random());
    }
    record(&store, keys[0].id()).await.map_err(failed)?;
    sources.write(config, &keys).await?;
    let keyring = || Keyring::new(&keys[0], &keys[1..]);
    let discarded = if discard_secrets {
        sealing::discard_unreadable(&store, &keyring(), now_ms).await.map_err(failed)?
    } else {
        0
    };
    let sealing::Encrypted { rows, unreadable } = sealing::encrypt_all(&store, keyring()).await.map_err(failed)?;
    if unreadable == 0 {
        // No value is encrypted with another key.
        sources.write(config, &keys[..1]).await?;
    }
    Ok(Rotated { key: keys[0].id(), file: sources.file, rows, discarded, unreadable })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_in_order_and_invalid_files_are_refused_without_their_content() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join(KEY_FILE);
        assert!(read_keys(&path).expect("no file").is_none());
        let (first, second) = (StoreKey::random(), StoreKey::random());
        write_synced(&path, &format!("{HEADER}{}\n\n{}\n", *first.to_hex(), *second.to_hex())).expect("written");
        assert_eq!(read_keys(&path).expect("valid"), Some(vec![first, second]));
        assert_eq!(fs::metadata(&path).expect("a file").mode() & 0o777, 0o600);
        for (text, reason) in
            [("", "no line"), ("# none\n", "no line"), ("#\nplanted\n", "line 2 "), ("00\n", "line 1 ")]
        {
            fs::write(&path, text).expect("written");
            let error = read_keys(&path).expect_err("invalid").to_string();
            assert!(error.contains(reason) && !error.contains("planted"), "{error}");
        }
    }
}
