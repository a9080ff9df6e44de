//! Arguments of `farrier gpg-key`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::Limit;

#[derive(Debug, Subcommand)]
pub(crate) enum GpgKey {
    /// List your OpenPGP keys, or those of another account
    List {
        /// Account [default: your own]
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
        #[command(flatten)]
        limit: Limit,
    },
    /// Add an OpenPGP key to your account
    ///
    /// A user ID of the key must contain the email address of your account. For other keys, give --signature: a
    /// signature of the text that `gpg-key token` prints, made with the key.
    Add(AddGpgKey),
    /// Print a text to sign with an OpenPGP key, which proves that you have the key; it changes every ten minutes
    #[command(after_help = "\
Example:
  farrier gpg-key token | gpg --armor --detach-sign | farrier gpg-key verify 8C1F0B2E5A7D9034 -")]
    Token,
    /// Prove that you have an OpenPGP key of your account, with a signature of the text that `gpg-key token` prints
    Verify {
        /// ID of the key in the list, or its OpenPGP ID
        key: String,
        /// File with the signature (gpg --armor --detach-sign), or - for standard input
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        signature: PathBuf,
    },
    /// Delete an OpenPGP key of your account
    Delete {
        /// ID of the key in the list, or its OpenPGP ID
        key: String,
        /// Skip the confirmation
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Args, Debug)]
pub(crate) struct AddGpgKey {
    /// File with the public key (gpg --armor --export), or - for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// File with a signature of the text that `gpg-key token` prints, or - for standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) signature: Option<PathBuf>,
}
