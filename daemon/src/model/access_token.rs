//! The format of access tokens: `frr_`, 30 random characters, and a checksum of six characters.
//!
//! All characters after the prefix are base 62. The checksum is the CRC-32 of the random characters, so that a secret
//! scanner can recognize a token without the daemon. Tokens of older versions have 40 hexadecimal digits.

use super::secret;

/// The start of every new token.
const PREFIX: &str = "frr_";
/// Number of random characters: 178 bits.
const RANDOM_CHARS: usize = 30;
/// Number of characters of the checksum. Six digits of base 62 hold every 32-bit number.
const CHECKSUM_CHARS: usize = 6;
const BASE_62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Random bytes from this value on are discarded, so that all characters have the same probability.
const BYTES_USED: u8 = 248;

/// Returns a new random token.
pub fn generate() -> String {
    let mut random = String::with_capacity(RANDOM_CHARS);
    while random.len() < RANDOM_CHARS {
        let bytes = secret::random_bytes::<32>();
        let usable = bytes.into_iter().filter(|byte| *byte < BYTES_USED);
        random.extend(usable.map(|byte| digit(u32::from(byte))).take(RANDOM_CHARS - random.len()));
    }
    format!("{PREFIX}{random}{}", checksum(&random))
}

/// Returns whether `text` has the prefix, the length and the characters of a token. Its checksum may be wrong.
pub fn has_form(text: &str) -> bool {
    parts(text).is_some()
}

/// Returns whether `text` begins like a token but cannot be one, because its form or its checksum is wrong.
pub fn is_damaged(text: &str) -> bool {
    text.starts_with(PREFIX) && parts(text).is_none_or(|(random, sum)| checksum(random) != sum)
}

/// Splits a token into its random characters and its checksum.
fn parts(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix(PREFIX)?;
    let valid = rest.len() == RANDOM_CHARS + CHECKSUM_CHARS && rest.bytes().all(|byte| byte.is_ascii_alphanumeric());
    valid.then(|| rest.split_at(RANDOM_CHARS))
}

fn checksum(random: &str) -> String {
    let mut rest = crc32fast::hash(random.as_bytes());
    let mut digits = [0; CHECKSUM_CHARS].map(|_: u8| {
        let last = digit(rest);
        rest /= 62;
        last
    });
    digits.reverse();
    digits.iter().collect()
}

/// Returns the last base-62 digit of `number`.
fn digit(number: u32) -> char {
    char::from(BASE_62[number as usize % BASE_62.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_tokens_differ_and_have_a_valid_checksum() {
        let (one, other) = (generate(), generate());
        assert_ne!(one, other);
        for token in [one, other] {
            assert!(token.len() == 40 && has_form(&token) && !is_damaged(&token), "{token}");
        }
    }

    /// `python3 -c 'import zlib; print(zlib.crc32(b"A" * 30))'` prints 830433819, which is `0uCPlr` in base 62.
    #[test]
    fn the_checksum_is_the_crc_32_in_base_62() {
        assert_eq!(checksum(&"A".repeat(30)), "0uCPlr");
        assert_eq!(checksum("").len(), CHECKSUM_CHARS, "padded with zeros");
    }

    #[test]
    fn a_changed_character_makes_a_token_damaged() {
        let token = generate();
        for at in PREFIX.len()..token.len() {
            let mut bytes = token.clone().into_bytes();
            bytes[at] = if bytes[at] == b'x' { b'y' } else { b'x' };
            let changed = String::from_utf8(bytes).expect("ASCII");
            assert!(is_damaged(&changed) && has_form(&changed), "{changed}");
        }
        for short in [PREFIX, &token[..39], &format!("{token}0"), &format!("{}-{}", &token[..10], &token[11..])] {
            assert!(is_damaged(short) && !has_form(short), "{short}");
        }
        for other in ["", "frr", "0123456789abcdef0123456789abcdef01234567", "a password"] {
            assert!(!is_damaged(other) && !has_form(other), "{other}");
        }
    }
}
