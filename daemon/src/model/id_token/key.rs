//! The key pairs that sign ID tokens, and their public keys in the format of RFC 7517.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use ring::{
    rand::SystemRandom,
    rsa::PublicKeyComponents,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair},
};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::rsa;
use crate::model::secret;

/// A signature algorithm of JWTs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// RSA with PKCS #1 v1.5 and SHA-256. Every service that accepts ID tokens supports it.
    #[default]
    Rs256,
    /// ECDSA with P-256 and SHA-256.
    Es256,
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Self; 2] = [Self::Rs256, Self::Es256];

    /// Returns the name in JWTs, in the configuration and in the store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Es256 => "ES256",
        }
    }

    /// Returns the algorithm with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }
}

/// A key pair.
pub struct KeyPair {
    /// The thumbprint of the public key (RFC 7638).
    id: String,
    public: Value,
    pair: Pair,
}

enum Pair {
    Rsa(RsaKeyPair),
    P256(EcdsaKeyPair),
}

impl fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyPair").field("id", &self.id).finish_non_exhaustive()
    }
}

impl KeyPair {
    /// Creates a key pair and returns its secret. Takes a part of a second for RSA.
    pub fn generate(algorithm: Algorithm) -> Zeroizing<Vec<u8>> {
        match algorithm {
            Algorithm::Rs256 => rsa::generate(),
            Algorithm::Es256 => {
                let pair = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
                Zeroizing::new(pair.expect("the system gives randomness").as_ref().to_vec())
            }
        }
    }

    /// Returns the key pair with this secret. `None` if it is not one of a key pair.
    pub fn open(algorithm: Algorithm, secret: &[u8]) -> Option<Self> {
        let pair = match algorithm {
            Algorithm::Rs256 => Pair::Rsa(rsa::open(secret)?),
            Algorithm::Es256 => {
                let random = SystemRandom::new();
                let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, secret, &random);
                Pair::P256(pair.ok()?)
            }
        };
        // The members of the thumbprint, in its order.
        let (thumbprint, mut public) = match &pair {
            Pair::Rsa(pair) => {
                let PublicKeyComponents { n, e } = PublicKeyComponents::<Vec<u8>>::from(pair.public_key());
                let (n, e) = (BASE64.encode(n), BASE64.encode(e));
                (format!(r#"{{"e":"{e}","kty":"RSA","n":"{n}"}}"#), json!({ "kty": "RSA", "e": e, "n": n }))
            }
            Pair::P256(pair) => {
                // An uncompressed point: a byte, then both coordinates.
                let (x, y) = pair.public_key().as_ref().get(1..)?.split_at_checked(32)?;
                let (x, y) = (BASE64.encode(x), BASE64.encode(y));
                let thumbprint = format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#);
                (thumbprint, json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y }))
            }
        };
        let id = BASE64.encode(secret::sha256(thumbprint.as_bytes()));
        public["kid"] = json!(id);
        public["use"] = json!("sig");
        public["alg"] = json!(algorithm.name());
        Some(Self { id, public, pair })
    }

    /// Returns the id, which tokens name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the algorithm.
    pub fn algorithm(&self) -> Algorithm {
        match self.pair {
            Pair::Rsa(_) => Algorithm::Rs256,
            Pair::P256(_) => Algorithm::Es256,
        }
    }

    /// Returns the public key as a JSON Web Key.
    pub fn public(&self) -> &Value {
        &self.public
    }

    /// Returns the signature of `bytes`.
    pub fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, bytes, &mut signature).expect("the buffer has the right length");
                signature
            }
            Pair::P256(pair) => pair.sign(&random, bytes).expect("the system gives randomness").as_ref().to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use ring::signature::{
        ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
    };

    use super::*;

    fn decoded(key: &KeyPair, name: &str) -> Vec<u8> {
        BASE64.decode(key.public()[name].as_str().expect("text")).expect("base64url")
    }

    #[test]
    fn signatures_are_verified_with_the_public_key() {
        for algorithm in Algorithm::ALL {
            let secret = KeyPair::generate(algorithm);
            let key = KeyPair::open(algorithm, &secret).expect("valid");
            let signature = key.sign(b"text");
            let verified = |text: &[u8]| match algorithm {
                Algorithm::Rs256 => RsaPublicKeyComponents { n: decoded(&key, "n"), e: decoded(&key, "e") }.verify(
                    &RSA_PKCS1_2048_8192_SHA256,
                    text,
                    &signature,
                ),
                Algorithm::Es256 => {
                    let point = [vec![4], decoded(&key, "x"), decoded(&key, "y")].concat();
                    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(text, &signature)
                }
            };
            assert!(verified(b"text").is_ok() && verified(b"other").is_err(), "{algorithm:?}");
            assert_eq!(key.algorithm(), algorithm);
            assert_eq!(KeyPair::open(algorithm, &secret).expect("valid").public(), key.public());
            assert!(key.public().get("d").is_none() && key.public()["kid"] == key.id());
        }
    }

    #[test]
    fn secrets_of_the_other_algorithm_are_refused() {
        for (one, other) in [(Algorithm::Rs256, Algorithm::Es256), (Algorithm::Es256, Algorithm::Rs256)] {
            assert!(KeyPair::open(other, &KeyPair::generate(one)).is_none());
        }
    }
}
