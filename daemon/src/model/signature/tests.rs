use base64::{Engine as _, engine::general_purpose::STANDARD};
use farrier_proto::store::GpgKey;

use super::*;
use crate::model::{gpg_key::GpgPublicKey, ssh_key::PublicKey};

/// A month after the signatures were made.
const NOW_MS: i64 = 1_775_000_000_000;
const PAYLOAD: &[u8] = b"tree t\n\nmessage\n";

macro_rules! data {
    ($name:literal) => {
        include_str!(concat!("../../../tests/data/", $name))
    };
}

fn gpg_key(text: &str) -> GpgKey {
    let key = GpgPublicKey::parse(text, NOW_MS).expect("a key");
    GpgKey { parts: key.parts, ..GpgKey::default() }
}

fn open_pgp(text: &str) -> OpenPgpSignature {
    OpenPgpSignature::parse(text).expect("a signature")
}

fn ssh(text: &str) -> SshSignature {
    SshSignature::parse(text).expect("a signature")
}

#[test]
fn signatures_of_primary_keys_and_subkeys_fit_the_signed_data_only() {
    let (ann, rsa) = (gpg_key(data!("gpg/ann.asc")), gpg_key(data!("gpg/rsa.asc")));
    for (text, key, other, id) in [
        (data!("gpg/subkey.sig"), &ann, &rsa, 0x2C48_9026_9A96_77C4),
        (data!("gpg/primary.sig"), &ann, &rsa, 0xB48F_CAC6_F1EA_B04F_u64),
        (data!("gpg/rsa.sig"), &rsa, &ann, 0xD39D_1530_96FC_44AF),
    ] {
        let signature = open_pgp(text);
        assert_eq!(signature.key_id(), id);
        assert!(signature.fits(key, PAYLOAD, NOW_MS), "{text}");
        assert!(!signature.fits(other, PAYLOAD, NOW_MS), "another key");
        for changed in [&b"tree t\n\nmessage"[..], b"tree t\r\n\r\nmessage\r\n", b""] {
            assert!(!signature.fits(key, changed, NOW_MS), "{changed:?}");
        }
    }
}

#[test]
fn signatures_with_sha_1_of_texts_and_outside_the_life_of_a_key_do_not_count() {
    let ann = gpg_key(data!("gpg/ann.asc"));
    for text in [data!("gpg/sha1.sig"), data!("gpg/text.sig")] {
        assert!(!open_pgp(text).fits(&ann, PAYLOAD, NOW_MS), "{text}");
    }
    let signature = open_pgp(data!("gpg/subkey.sig"));
    let made_ms = 1_772_323_200_000;
    let with = |change: &dyn Fn(&mut GpgKey)| {
        let mut key = ann.clone();
        change(&mut key);
        signature.fits(&key, PAYLOAD, NOW_MS)
    };
    assert!(with(&|key| key.parts[1].expires_ms = made_ms + 1));
    assert!(!with(&|key| key.parts[1].expires_ms = made_ms), "an expired subkey");
    assert!(!with(&|key| key.parts[0].expires_ms = made_ms), "an expired primary key");
    assert!(!with(&|key| key.parts[1].created_ms = made_ms + 1), "a signature from before the key");
    assert!(!with(&|key| key.parts[1].can_sign = false));
    assert!(!with(&|key| key.parts[1].packet.clear()), "a damaged row");
    assert!(!with(&|key| key.parts.clear()), "an empty row");
}

#[test]
fn the_signature_of_a_subkey_does_not_count_for_a_key_to_which_it_was_added_by_somebody_else() {
    let (ann, other) = (gpg_key(data!("gpg/ann.asc")), gpg_key(data!("gpg/adopted_subkey.asc")));
    let signature = open_pgp(data!("gpg/subkey.sig"));
    assert!(signature.fits(&ann, PAYLOAD, NOW_MS) && !signature.fits(&other, PAYLOAD, NOW_MS));
}

#[test]
fn a_text_with_several_signatures_or_with_anything_else_is_not_read() {
    let (first, second) = (data!("gpg/subkey.sig"), data!("gpg/primary.sig"));
    let bytes = |text: &str| {
        let body = text.lines().skip_while(|line| !line.is_empty()).take_while(|line| !line.starts_with('='));
        STANDARD.decode(body.collect::<String>()).expect("base64")
    };
    let written = |bytes: &[u8]| {
        let body = STANDARD.encode(bytes);
        let lines: Vec<_> = body.as_bytes().chunks(64).map(String::from_utf8_lossy).collect();
        format!("-----BEGIN PGP SIGNATURE-----\n\n{}\n-----END PGP SIGNATURE-----\n", lines.join("\n"))
    };
    let (one, other) = (bytes(first), bytes(second));
    assert!(open_pgp(&written(&one)).fits(&gpg_key(data!("gpg/ann.asc")), PAYLOAD, NOW_MS));
    for text in [
        written(&[&one[..], &other[..]].concat()),
        written(&[&one[..], &one[..]].concat()),
        // A marker packet.
        written(&[&one[..], &b"\xca\x03PGP"[..]].concat()),
        format!("{first}{second}"),
        format!("{first}\n{first}"),
        format!("x\n{first}"),
        format!("{first}x\n"),
        format!("{first}x\n-----END PGP SIGNATURE-----\n"),
    ] {
        assert!(ObjectSignature::parse(&text).is_none(), "{text}");
    }
}

#[test]
fn ssh_signatures_fit_the_signed_data_and_name_their_key() {
    for (text, line) in [
        (data!("ssh-signatures/ed25519.sig"), data!("ssh-signatures/ed25519.pub")),
        (data!("ssh-signatures/ecdsa.sig"), data!("ssh-signatures/ecdsa.pub")),
        (data!("ssh-signatures/rsa.sig"), data!("ssh-signatures/rsa.pub")),
    ] {
        let signature = ssh(text);
        assert_eq!(signature.blob(), PublicKey::parse(line).expect("a key").blob);
        assert!(signature.fits(PAYLOAD), "{text}");
        assert!(!signature.fits(b"tree t\n\nother\n"));
    }
    assert!(!ssh(data!("ssh-signatures/other_namespace.sig")).fits(PAYLOAD), "a signature for another purpose");
}

#[test]
fn a_signature_of_a_security_key_counts_only_if_somebody_touched_it() {
    let key = PublicKey::parse(data!("ssh-signatures/sk.pub")).expect("a key");
    for (text, counts) in [
        (data!("ssh-signatures/sk_touched.sig"), true),
        (data!("ssh-signatures/sk_untouched.sig"), false),
        (data!("ssh-signatures/sk_untouched_as_rsa.sig"), false),
    ] {
        let signature = ssh(text);
        assert_eq!(signature.blob(), key.blob);
        assert_eq!(signature.fits(PAYLOAD), counts, "{text}");
    }
}

#[test]
fn damaged_signatures_do_not_fit_or_are_not_read() {
    let text = data!("ssh-signatures/ed25519.sig");
    let encoded: String = text.lines().filter(|line| !line.starts_with('-')).collect();
    let bytes = STANDARD.decode(encoded).expect("base64");
    let written = |bytes: &[u8]| {
        format!("-----BEGIN SSH SIGNATURE-----\n{}\n-----END SSH SIGNATURE-----\n", STANDARD.encode(bytes))
    };
    assert!(ssh(&written(&bytes)).fits(PAYLOAD));
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        let parsed = SshSignature::parse(&written(&changed));
        assert!(parsed.is_none_or(|signature| !signature.fits(PAYLOAD)), "byte {at}");
        assert!(SshSignature::parse(&written(&bytes[..at])).is_none(), "cut at {at}");
    }
    assert!(SshSignature::parse(&written(&[&bytes[..], b"x"].concat())).is_none(), "a longer text");
    for text in [
        "",
        "-----BEGIN SSH SIGNATURE-----",
        "-----BEGIN SSH SIGNATURE-----\n!\n-----END SSH SIGNATURE-----",
        "-----BEGIN PGP SIGNATURE-----\n\n-----END PGP SIGNATURE-----\n",
        "-----BEGIN SIGNED MESSAGE-----\nMII\n-----END SIGNED MESSAGE-----\n",
        data!("gpg/ann.asc"),
        &text.replace('\n', &" ".repeat(20_000)),
    ] {
        assert!(ObjectSignature::parse(text).is_none(), "{}", text.len());
    }
}
