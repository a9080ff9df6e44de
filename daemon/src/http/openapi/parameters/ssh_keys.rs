//! Query parameters of SSH keys.

use utoipa::IntoParams;

queries! {
    /// Filter of keys.
    FingerprintParams {
        /// Only the key with this fingerprint, as OpenSSH shows it.
        #[param(example = "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU")]
        fingerprint: String,
    }

    /// Filter of deploy keys.
    DeployKeyParams {
        /// Only the deploy key with this content.
        #[param(minimum = 0)]
        key_id: u64,
    }
}
