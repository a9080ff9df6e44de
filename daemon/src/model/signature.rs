//! Signatures of commits and tags: by whom they claim to be, and whether they fit the signed data. Does no I/O.

mod open_pgp;
mod ssh;
#[cfg(test)]
mod tests;

pub use self::{open_pgp::OpenPgpSignature, ssh::SshSignature};

/// Longest text of a signature, in bytes. A longer one is not read.
pub const TEXT_MAX_BYTES: usize = 64 << 10;

/// A signature of a commit or tag.
#[derive(Debug)]
pub enum ObjectSignature {
    /// A signature with an SSH key.
    Ssh(SshSignature),
    /// A signature with an OpenPGP key.
    OpenPgp(OpenPgpSignature),
}

impl ObjectSignature {
    /// Reads the text form of a signature; `None` if its format is not known or it is damaged.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > TEXT_MAX_BYTES {
            return None;
        }
        if text.starts_with(ssh::BEGIN) {
            SshSignature::parse(text).map(Self::Ssh)
        } else {
            OpenPgpSignature::parse(text).map(Self::OpenPgp)
        }
    }
}
