//! RSA keys: creates the two primes of a key and computes the numbers that signing needs.
//!
//! `ring` signs, but cannot create RSA keys. Only the primes are secret data to store; the other numbers follow.

use crypto_bigint::{NonZero, U1024, U2048};
use crypto_primes::{
    Flavor,
    hazmat::{SetBits, SmallFactorsSieveFactory},
    is_prime, sieve_and_find,
};
use getrandom::{SysRng, rand_core::UnwrapErr};
use ring::rsa::{KeyPair, KeyPairComponents, PublicKeyComponents};
use zeroize::Zeroizing;

/// Size of a prime, in bits. The key has twice as many.
const PRIME_BITS: u32 = 1_024;
const PRIME_BYTES: usize = 128;
/// The public exponent.
const EXPONENT: u32 = 65_537;
const EXPONENT_BYTES: [u8; 3] = [1, 0, 1];

/// Returns the two primes of a new key of 2048 bits. Takes a part of a second.
pub(super) fn generate() -> Zeroizing<Vec<u8>> {
    loop {
        let primes = [prime(), prime()];
        let bytes: Vec<u8> = primes.iter().flat_map(|prime| prime.to_be_bytes().as_ref().to_vec()).collect();
        let secret = Zeroizing::new(bytes);
        // Refuses the rare primes for which the exponent has no inverse, and equal primes.
        if open(&secret).is_some() {
            return secret;
        }
    }
}

/// Returns the key with these primes. `None` if they are not those of a key.
pub(super) fn open(secret: &[u8]) -> Option<KeyPair> {
    let (p, q) = secret.split_at_checked(PRIME_BYTES).filter(|(_, q)| q.len() == PRIME_BYTES)?;
    let (p, q) = (U1024::from_be_slice(p), U1024::from_be_slice(q));
    // As `ring` requires.
    let (p, q) = if p > q { (p, q) } else { (q, p) };
    let one = U1024::ONE;
    let (p1, q1) =
        (NonZero::new(p.wrapping_sub(&one)).into_option()?, NonZero::new(q.wrapping_sub(&one)).into_option()?);
    let exponent = U1024::from_u32(EXPONENT);
    let d_p = exponent.invert_mod(&p1).into_option()?;
    let d_q = exponent.invert_mod(&q1).into_option()?;
    let q_inverse = q.invert_mod(&NonZero::new(p).into_option()?).into_option()?;
    let n: U2048 = p.concatenating_mul(&q);
    let totient: U2048 = p1.get().concatenating_mul(&q1.get());
    let d = U2048::from_u32(EXPONENT).invert_mod(&NonZero::new(totient).into_option()?).into_option()?;
    let bytes = |number: U1024| significant(number.to_be_bytes().as_ref());
    KeyPair::from_components(&KeyPairComponents {
        public_key: PublicKeyComponents {
            n: significant(n.to_be_bytes().as_ref()),
            e: Zeroizing::new(EXPONENT_BYTES.to_vec()),
        },
        d: significant(d.to_be_bytes().as_ref()),
        p: bytes(p),
        q: bytes(q),
        dP: bytes(d_p),
        dQ: bytes(d_q),
        qInv: bytes(q_inverse),
    })
    .ok()
}

/// Returns a random prime whose two highest bits are set, so that the product of two has twice as many bits.
fn prime() -> U1024 {
    let sieve = SmallFactorsSieveFactory::<U1024>::new(Flavor::Any, PRIME_BITS, SetBits::TwoMsb);
    let sieve = sieve.expect("the number of bits is valid");
    let found = sieve_and_find(&mut UnwrapErr(SysRng), sieve, |_, number| is_prime(Flavor::Any, number));
    found.expect("the number of bits is valid").expect("there are primes")
}

/// Removes leading zeros, which `ring` refuses.
fn significant(bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    Zeroizing::new(bytes[zeros..].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_has_2048_bits_and_can_be_opened_again() {
        let secret = generate();
        let (first, second) = (open(&secret).expect("valid"), open(&secret).expect("valid"));
        assert_eq!(first.public().modulus_len(), 256);
        assert_eq!(first.public().as_ref(), second.public().as_ref());
        assert_ne!(*generate(), *secret);
    }

    #[test]
    fn other_bytes_are_not_a_key() {
        let secret = generate();
        let mut same = secret[..PRIME_BYTES].to_vec();
        same.extend_from_within(..);
        for bad in [&[][..], &secret[1..], &[0; 256], &[255; 256], &same] {
            assert!(open(bad).is_none(), "{} bytes", bad.len());
        }
    }
}
