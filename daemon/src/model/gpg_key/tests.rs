use super::*;

/// 2026-03-01.
const NOW_MS: i64 = 1_772_323_200_000;
const ANN: &str = include_str!("../../../tests/data/gpg/ann.asc");
const RSA: &str = include_str!("../../../tests/data/gpg/rsa.asc");

#[test]
fn a_key_has_its_subkeys_with_their_capabilities_and_its_addresses() {
    let key = GpgPublicKey::parse(ANN, NOW_MS).expect("a key");
    let mut emails = key.emails.clone();
    emails.sort();
    assert_eq!(emails, ["ann@example.org", "ann@work.example"]);
    let shown: Vec<_> = key
        .parts
        .iter()
        .map(|part| (part.key_id, part.can_sign, part.can_certify, part.can_encrypt_comms, part.expires_ms))
        .collect();
    let expected = [
        (0xB48F_CAC6_F1EA_B04F, true, true, false, 0),
        (0x2C48_9026_9A96_77C4, true, false, false, 1_798_804_800_000),
        (0xD947_1A84_30C9_E1A0, false, false, true, 0),
    ];
    assert_eq!(shown, expected);
    assert!(key.parts.iter().all(|part| part.created_ms == 1_767_225_600_000 && part.fingerprint.len() == 20));
    assert_eq!(GpgPublicKey::parse(RSA, NOW_MS).expect("a key").parts[0].key_id, 0xD39D_1530_96FC_44AF);
}

#[test]
fn texts_that_are_no_usable_public_key_are_refused_with_a_reason() {
    let long = "x".repeat(TEXT_MAX_BYTES + 1);
    let twice = format!("{RSA}\n{RSA}");
    let cut: String = ANN.lines().take(9).collect::<Vec<_>>().join("\n") + "\n-----END PGP PUBLIC KEY BLOCK-----\n";
    for (text, expected) in [
        ("", GpgKeyProblem::NotArmored),
        ("ssh-ed25519 AAAA", GpgKeyProblem::NotArmored),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----\n", GpgKeyProblem::Private),
        (twice.as_str(), GpgKeyProblem::Several),
        (include_str!("../../../tests/data/gpg/subkey.sig"), GpgKeyProblem::NotArmored),
        (include_str!("../../../tests/data/gpg/short.asc"), GpgKeyProblem::Short { bits: 1_024 }),
        (include_str!("../../../tests/data/gpg/dsa.asc"), GpgKeyProblem::Algorithm),
        (include_str!("../../../tests/data/gpg/revoked.asc"), GpgKeyProblem::Revoked),
        // The revocation has an end, which has passed. It counts in spite of that, as in gpg.
        (include_str!("../../../tests/data/gpg/revoked_for_an_hour.asc"), GpgKeyProblem::Revoked),
        (long.as_str(), GpgKeyProblem::TooLong),
    ] {
        let start: String = text.chars().take(40).collect();
        assert_eq!(GpgPublicKey::parse(text, NOW_MS).expect_err("no key"), expected, "{start:?}");
    }
    assert!(GpgPublicKey::parse(&cut, NOW_MS).is_err(), "a cut key");
}

#[test]
fn a_key_with_changed_bytes_gives_no_subkey_and_no_address_that_its_owner_did_not_sign() {
    let sound = GpgPublicKey::parse(ANN, NOW_MS).expect("a key");
    let body = ANN.find("\n\n").expect("an end of the headers") + 2;
    let end = ANN.find("\n=").expect("a checksum");
    for at in (body..end).step_by(7).filter(|at| ANN.as_bytes()[*at] != b'\n') {
        let mut changed = ANN.to_owned();
        changed.replace_range(at..=at, if &ANN[at..=at] == "A" { "B" } else { "A" });
        // A change of the primary key makes every signature invalid.
        let Ok(key) = GpgPublicKey::parse(&changed, NOW_MS) else { continue };
        assert_eq!(key.parts[0].fingerprint, sound.parts[0].fingerprint, "at {at}");
        assert!(key.parts.iter().all(|part| sound.parts.iter().any(|known| known.key_id == part.key_id)), "at {at}");
        assert!(key.emails.iter().all(|email| sound.emails.contains(email)), "at {at}");
    }
}

#[test]
fn a_key_signs_only_if_its_flags_say_so_and_the_subkey_agrees() {
    let parts = |text: &str| GpgPublicKey::parse(text, NOW_MS).expect("a key").parts;
    let authentication = parts(include_str!("../../../tests/data/gpg/authentication.asc"));
    assert_eq!((authentication.len(), authentication[0].can_sign), (1, false), "a key for another use");
    // A key of another person whose owner has added the subkey of Ann. The subkey has not signed that.
    let adopted = parts(include_str!("../../../tests/data/gpg/adopted_subkey.asc"));
    let signs: Vec<_> = adopted.iter().map(|part| (part.key_id == 0x2C48_9026_9A96_77C4, part.can_sign)).collect();
    assert_eq!(signs, [(false, true), (true, false)]);
}

#[test]
fn addresses_are_read_from_user_ids() {
    for (id, expected) in [
        ("Ann <Ann@Example.org>", Some("ann@example.org")),
        ("ann@example.org", Some("ann@example.org")),
        ("Ann <x> <ann@example.org>", Some("ann@example.org")),
        ("Ann", None),
        ("Ann <ann@example.org", None),
        ("Ann <a b@example.org>", None),
        ("<@>", None),
        ("", None),
    ] {
        assert_eq!(address(id).as_deref(), expected, "{id}");
    }
}
