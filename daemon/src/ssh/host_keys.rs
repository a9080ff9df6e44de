//! The host keys: files in the directory `ssh`, which clients remember.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use farrier_common::api::SshHostKey;
use getrandom::{SysRng, rand_core::UnwrapErr};
use russh::keys::{Algorithm, EcdsaCurve, HashAlg, PrivateKey, ssh_key::LineEnding};

/// The files and the algorithms of their keys. There is no RSA key: the private operations of the library leak timing.
const FILES: [(&str, Algorithm); 2] =
    [("host_ed25519", Algorithm::Ed25519), ("host_ecdsa", Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 })];

/// The private host keys.
pub struct HostKeys(Vec<PrivateKey>);

/// Why the host keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HostKeyError {
    /// A file or the directory cannot be read or written.
    #[error("{path}")]
    Io {
        /// The path.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A file is not the private key that it should be.
    #[error(
        "{path} is not an OpenSSH private key of the type {expected} without a passphrase; restore it from a backup"
    )]
    Damaged {
        /// The path.
        path: PathBuf,
        /// The expected algorithm.
        expected: Algorithm,
    },
}

impl HostKeys {
    /// Reads the keys in `directory`. Creates those that do not exist. Files that exist are never changed: clients
    /// would refuse to connect.
    pub fn open(directory: &Path) -> Result<Self, HostKeyError> {
        let failed = |source| HostKeyError::Io { path: directory.to_owned(), source };
        match DirBuilder::new().mode(0o700).create(directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
            Err(_) => {}
            Ok(()) => {
                let parent = directory.parent().unwrap_or(directory);
                File::open(parent).and_then(|parent| parent.sync_all()).map_err(failed)?;
            }
        }
        let mut keys = Vec::with_capacity(FILES.len());
        for (name, algorithm) in FILES {
            let path = directory.join(name);
            if !path.try_exists().map_err(|source| HostKeyError::Io { path: path.clone(), source })? {
                create(directory, &path, algorithm.clone())
                    .map_err(|source| HostKeyError::Io { path: path.clone(), source })?;
            }
            keys.push(read(path, algorithm)?);
        }
        Ok(Self(keys))
    }

    /// Returns the private keys.
    pub(super) fn private(&self) -> Vec<PrivateKey> {
        self.0.clone()
    }

    /// Returns the public keys.
    pub fn public(&self) -> Vec<SshHostKey> {
        let public = self.0.iter().map(PrivateKey::public_key);
        let shown = public.map(|key| SshHostKey {
            r#type: key.algorithm().to_string(),
            fingerprint: key.fingerprint(HashAlg::Sha256).to_string(),
            public: key.to_openssh().map(|line| line.trim_end().to_owned()).unwrap_or_default(),
        });
        shown.collect()
    }
}

fn read(path: PathBuf, algorithm: Algorithm) -> Result<PrivateKey, HostKeyError> {
    let text = match fs::read(&path) {
        Ok(text) => zeroize::Zeroizing::new(text),
        Err(source) => return Err(HostKeyError::Io { path, source }),
    };
    let key = PrivateKey::from_openssh(text.as_slice()).ok();
    let usable = key.filter(|key| key.algorithm() == algorithm && !key.is_encrypted());
    usable.ok_or(HostKeyError::Damaged { path, expected: algorithm })
}

/// Creates a key. The file gets its name only when it is complete and on disk.
fn create(directory: &Path, path: &Path, algorithm: Algorithm) -> io::Result<()> {
    let mut key = PrivateKey::random(&mut UnwrapErr(SysRng), algorithm).map_err(io::Error::other)?;
    key.set_comment("");
    let text = key.to_openssh(LineEnding::LF).map_err(io::Error::other)?;
    let new = path.with_extension("new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    // Fails if the file exists by now, unlike a rename.
    fs::hard_link(&new, path)?;
    fs::remove_file(&new)?;
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn keys_are_created_once_and_never_replaced() {
        let dir = tempfile::tempdir().expect("a directory");
        let directory = dir.path().join("ssh");
        let first = HostKeys::open(&directory).expect("created").public();
        assert_eq!(
            first.iter().map(|key| key.r#type.as_str()).collect::<Vec<_>>(),
            ["ssh-ed25519", "ecdsa-sha2-nistp256"]
        );
        assert!(first.iter().all(|key| key.fingerprint.starts_with("SHA256:") && !key.fingerprint.ends_with('=')));
        for (name, _) in FILES {
            let mode = fs::metadata(directory.join(name)).expect("a file").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        assert_eq!(HostKeys::open(&directory).expect("read").public(), first);
        fs::remove_file(directory.join("host_ecdsa")).expect("removed");
        let second = HostKeys::open(&directory).expect("created again").public();
        assert_eq!(second[0], first[0]);
        assert_ne!(second[1], first[1]);
        for damaged in ["", "junk", "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n"] {
            fs::write(directory.join("host_ed25519"), damaged).expect("written");
            assert!(matches!(HostKeys::open(&directory), Err(HostKeyError::Damaged { .. })), "{damaged:?}");
            assert_eq!(fs::read(directory.join("host_ed25519")).expect("kept"), damaged.as_bytes());
        }
    }

    #[test]
    fn a_key_of_another_type_is_damage() {
        let dir = tempfile::tempdir().expect("a directory");
        HostKeys::open(dir.path()).expect("created");
        fs::copy(dir.path().join("host_ecdsa"), dir.path().join("host_ed25519")).expect("copied");
        assert!(matches!(HostKeys::open(dir.path()), Err(HostKeyError::Damaged { .. })));
    }
}
