use super::*;

const ED25519: &str = "\
    AAAAC3NzaC1lZDI1NTE5AAAAIFSRjYh/9LUPgz8FnCw99M702Vse1jGWOKLnRZEZhzIf";
const ECDSA_256: &str = "\
    AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBNrx32EVRBQ0fARyIHuhn61KCh5qUZNAJUqNIehuBnLf\
    e47wst6y1P89m+i3oBKBz39vCo/rG/PaArndhtXBlfk=";
const ECDSA_521: &str = "\
    AAAAE2VjZHNhLXNoYTItbmlzdHA1MjEAAAAIbmlzdHA1MjEAAACFBAANcJrbRLegUUMXi7o/8j7HrIcAQlWhsPPPmysvnGPw\
    P0qLebsnJ5krvkby6j0algXsPCMoFkuL5xliFJiTKpNqVgFaSWxPc6QEfAtNsvFuMfnG8LVD8JnfKJptGxBT+YmKR9oMPC1G\
    n3SaJXPyKK5ApSNvRy2FKnbXMB0jWu3tQBO9hQ==";
const RSA_2048: &str = "\
    AAAAB3NzaC1yc2EAAAADAQABAAABAQCOZvkCI8dVnOct5Ga5tVCuXo9jYd8q8Si61XaOpAAYPyl77ikE4nXGJ6krES0JYYde\
    TwADaUVbk9J+nmYHWcyhcpsx+LpZxCjoIS1vQ+CoPDkrUrrjS1nMyBKO1iPyuR2jDNMODNsJEEtRMpcyIwwTpotooSyYDrHB\
    vZ3LpYhasjZP4GJmLGxt91DRmpb+je2dcvw5/XXrsjPl3W3t03Gv/+XVn+gL2mbg5051eQgToxSGlIQtrjiaeTo+BXLBKxuO\
    OIVeT90g5BdHZlqoKIdjFHcLG25hzvESYlcZ9WR0l+ML0RN6iZM422QyADY+gPfAW9ItzfHk48oZfjjvIYUR";
const RSA_1024: &str = "\
    AAAAB3NzaC1yc2EAAAADAQABAAAAgQCrZbv5O9tKEkzbJjvn/usM/htXUqSDcqAQcPHA0CY/0+aruepKbA4qTKslVWkrAqtn\
    hvXlwReQvhdZqiHHn9FmFiqs/Q3VwtZGHjZS6KhPKBQYZs9lA3UZnC5vud7JCp6Uv69r6GoP/pcxy65D4syw7poIpQntu6ip\
    nzAp5HvB+w==";
const DSA: &str = "\
    AAAAB3NzaC1kc3MAAACBANGi9PBCQhWhCAjzzmyedWDk+LijuJrPrlssf5EjTq1oIfcNbqwKyOdnpdEkqNJ1PVagDUA2ynJT\
    mH4M4I4DZzPrlVI3FWGQAgcN6FINi/CEZZ1NCidNUH4igd1vAScWEdXj+HP5bkzN3MZXoVWPIIFYHfR9L/HOI+3qNZfjJMKB\
    AAAAFQCav+fP6Kx6Vt4YfEQjHzPZOlgKXQAAAIEAuO8TVdt0oNhtv9qUN7O2rNT7lj4gAE736r4dUZB8kZ5XhMi0om2ExXa7\
    bdTd859nRTZ/YsWMZpLnPtHDGQuFT/SoTqDY6yPViJLMzD/IG8rMsiTtRwdNOd5dZxHwzlQCBbCt8WqdHPlSO61Nv0twiegb\
    sOEX8B5/mdgymw8fIMYAAACAQxrFxmMjALB9LOStNsNyso9QH01QLdtOomIljSm7o71VE8QyWVqGRuQqOLGMmXe+1payGLCF\
    xlFK/C/o8Sjg9vL4kq4uM6S1FkXV3vxUo21c6NFULpnBxJN+GxXWUV4olZ59aN9+pfpaVuHl1bafGw+bOtEOPwtogHs4uMl7\
    k/4=";
const CERTIFICATE: &str = "\
    AAAAKGVjZHNhLXNoYTItbmlzdHAyNTYtY2VydC12MDFAb3BlbnNzaC5jb20AAAAgiemSuDsjFk4pk20+Ca91pdrX9ACPcqFa\
    E5+F8KH8NSUAAAAIbmlzdHAyNTYAAABBBNrx32EVRBQ0fARyIHuhn61KCh5qUZNAJUqNIehuBnLfe47wst6y1P89m+i3oBKB\
    z39vCo/rG/PaArndhtXBlfkAAAAAAAAAAAAAAAEAAAACaWQAAAAAAAAAAAAAAAD//////////wAAAAAAAACCAAAAFXBlcm1p\
    dC1YMTEtZm9yd2FyZGluZwAAAAAAAAAXcGVybWl0LWFnZW50LWZvcndhcmRpbmcAAAAAAAAAFnBlcm1pdC1wb3J0LWZvcndh\
    cmRpbmcAAAAAAAAACnBlcm1pdC1wdHkAAAAAAAAADnBlcm1pdC11c2VyLXJjAAAAAAAAAAAAAAAzAAAAC3NzaC1lZDI1NTE5\
    AAAAIFSRjYh/9LUPgz8FnCw99M702Vse1jGWOKLnRZEZhzIfAAAAUwAAAAtzc2gtZWQyNTUxOQAAAEDg2ktkpT0jGbD85Odd\
    6Z5nhD78tw42MwZkXt/r+s1gma7km/Iamw7ZpQw7DKom16x62RpR1Kw+zR9Une6/mHML";
const SK_ED25519: &str = "\
    AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4fAAAABHNz\
    aDo=";
const SK_ECDSA: &str = "\
    AAAAInNrLWVjZHNhLXNoYTItbmlzdHAyNTZAb3BlbnNzaC5jb20AAAAIbmlzdHAyNTYAAABBBNrx32EVRBQ0fARyIHuhn61K\
    Ch5qUZNAJUqNIehuBnLfe47wst6y1P89m+i3oBKBz39vCo/rG/PaArndhtXBlfkAAAAEc3NoOg==";

/// The accepted keys, with their algorithms.
const ACCEPTED: [(&str, &str); 6] = [
    ("ssh-ed25519", ED25519),
    ("ecdsa-sha2-nistp256", ECDSA_256),
    ("ecdsa-sha2-nistp521", ECDSA_521),
    ("sk-ssh-ed25519@openssh.com", SK_ED25519),
    ("sk-ecdsa-sha2-nistp256@openssh.com", SK_ECDSA),
    ("ssh-rsa", RSA_2048),
];

#[test]
fn every_kind_of_key_is_accepted_and_written_again_with_its_comment() {
    for (algorithm, encoded) in ACCEPTED {
        for comment in ["", "ann@host", "a  long comment, with ümlaut"] {
            let line = format!("{algorithm} {encoded} {comment}");
            let key = PublicKey::parse(&line).unwrap_or_else(|problem| panic!("{line}: {problem}"));
            assert_eq!((key.comment.as_str(), key.line().as_str()), (comment, line.trim_end()));
            for spelling in
                [format!("{line}\n"), format!("{line}\r\n"), format!("\n {line}"), line.replacen(' ', "\t", 2)]
            {
                let other = PublicKey::parse(&spelling).expect("the same key");
                assert_eq!(other.blob, key.blob, "{spelling:?}");
            }
        }
    }
    let key = PublicKey::parse(&format!("ssh-ed25519   {ED25519}   spaces  ")).expect("a key");
    assert_eq!(key.line(), format!("ssh-ed25519 {ED25519} spaces"));
}

#[test]
fn the_format_of_rfc_4716_is_accepted() {
    let lines: Vec<String> =
        RSA_2048.as_bytes().chunks(70).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    let body = lines.join("\n");
    for (headers, comment) in [
        ("", ""),
        ("Comment: ann\n", "ann"),
        ("Comment: \"2048-bit, from \\\nhere\"\n", "2048-bit, from here"),
        ("Subject: ann\nComment: \"x\"\nx-other: y\\\nz\n", "x"),
    ] {
        let text = format!("{RFC_4716_BEGIN}\n{headers}{body}\n{RFC_4716_END}\n");
        let key = PublicKey::parse(&text).unwrap_or_else(|problem| panic!("{text}: {problem}"));
        let separator = if comment.is_empty() { "" } else { " " };
        assert_eq!(key.line(), format!("ssh-rsa {RSA_2048}{separator}{comment}"));
    }
    for (text, problem) in [
        (format!("{RFC_4716_BEGIN}\n{body}"), PublicKeyProblem::Damaged),
        (format!("{RFC_4716_BEGIN}\n{body}\n{RFC_4716_END}\nmore"), PublicKeyProblem::SeveralLines),
        (format!("{RFC_4716_BEGIN}\nComment: a\\"), PublicKeyProblem::Damaged),
        (format!("{RFC_4716_BEGIN}\n{}\n{RFC_4716_END}", &body[..200]), PublicKeyProblem::Damaged),
        (RFC_4716_BEGIN.to_owned(), PublicKeyProblem::Damaged),
    ] {
        assert_eq!(PublicKey::parse(&text), Err(problem), "{text}");
    }
}

#[test]
fn other_texts_are_refused_with_the_reason() {
    let ed25519 = format!("ssh-ed25519 {ED25519}");
    for (text, problem) in [
        (String::new(), PublicKeyProblem::Algorithm),
        ("junk".into(), PublicKeyProblem::Algorithm),
        (format!("junk {ED25519}"), PublicKeyProblem::Algorithm),
        (ED25519.into(), PublicKeyProblem::Algorithm),
        ("ssh-ed25519".into(), PublicKeyProblem::Damaged),
        ("ssh-ed25519 ".into(), PublicKeyProblem::Damaged),
        ("ssh-ed25519 junk!".into(), PublicKeyProblem::Damaged),
        (ed25519[..60].to_owned(), PublicKeyProblem::Damaged),
        (format!("ssh-rsa {ED25519}"), PublicKeyProblem::Damaged),
        (format!("ecdsa-sha2-nistp384 {ECDSA_256}"), PublicKeyProblem::Damaged),
        (format!("no-pty {ed25519}"), PublicKeyProblem::Options),
        (format!("command=\"echo a b\",restrict {ed25519}"), PublicKeyProblem::Options),
        (format!("{ed25519}\n{ed25519}"), PublicKeyProblem::SeveralLines),
        (format!("{ed25519} a\n# comment"), PublicKeyProblem::SeveralLines),
        (format!("{ed25519} a\rb"), PublicKeyProblem::SeveralLines),
        (format!("ssh-rsa {RSA_1024}"), PublicKeyProblem::Short { bits: 1_024 }),
        (format!("ssh-dss {DSA}"), PublicKeyProblem::Dsa),
        (format!("ssh-rsa {DSA}"), PublicKeyProblem::Dsa),
        (format!("ecdsa-sha2-nistp256-cert-v01@openssh.com {CERTIFICATE}"), PublicKeyProblem::Certificate),
        (format!("ecdsa-sha2-nistp256 {CERTIFICATE}"), PublicKeyProblem::Certificate),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n".into(), PublicKeyProblem::Private),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n".into(), PublicKeyProblem::Private),
        ("PuTTY-User-Key-File-3: ssh-ed25519\n".into(), PublicKeyProblem::Private),
        ("---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n".into(), PublicKeyProblem::Private),
        ("-----BEGIN RSA PUBLIC KEY-----\nMIIB\n".into(), PublicKeyProblem::Pem),
        (format!("{ed25519} \u{1b}[31mred"), PublicKeyProblem::Comment),
        (format!("{ed25519} {}", "x".repeat(COMMENT_MAX_CHARS + 1)), PublicKeyProblem::Comment),
        (format!("{ed25519} {}", "x".repeat(TEXT_MAX_BYTES)), PublicKeyProblem::TooLong),
    ] {
        assert_eq!(PublicKey::parse(&text), Err(problem), "{text}");
    }
}

fn field(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend(u32::try_from(bytes.len()).expect("short").to_be_bytes());
    out.extend(bytes);
}

fn rsa(exponent: &[u8], modulus: &[u8]) -> Result<PublicKey, PublicKeyProblem> {
    let mut blob = Vec::new();
    for part in [b"ssh-rsa".as_slice(), exponent, modulus] {
        field(&mut blob, part);
    }
    PublicKey::parse(&format!("ssh-rsa {}", STANDARD.encode(blob)))
}

#[test]
fn numbers_of_rsa_keys_are_checked() {
    let modulus = |bytes: usize, first: u8, last: u8| {
        let mut number = vec![0, first];
        number.resize(bytes, 0x55);
        number.push(last);
        number
    };
    let e = [1, 0, 1];
    assert!(rsa(&e, &modulus(256, 0x80, 1)).is_ok());
    assert_eq!(rsa(&e, &modulus(256, 0x80, 2)), Err(PublicKeyProblem::Damaged), "an even modulus");
    let exponents: [&[u8]; 5] = [&[], &[1], &[2], &[0x81], &[1; 9]];
    for exponent in exponents {
        assert_eq!(rsa(exponent, &modulus(256, 0x80, 1)), Err(PublicKeyProblem::Damaged), "{exponent:?}");
    }
    let mut short = modulus(255, 0x7f, 1);
    short.remove(0);
    assert_eq!(rsa(&e, &short), Err(PublicKeyProblem::Short { bits: 2_039 }));
    assert_eq!(rsa(&e, &modulus(2_049, 0x80, 1)), Err(PublicKeyProblem::Long { bits: 16_392 }));
    let mut negative = modulus(256, 0x80, 1);
    negative.remove(0);
    assert_eq!(rsa(&e, &negative), Err(PublicKeyProblem::Damaged), "a negative modulus");
    let padded = [&[0, 0][..], &modulus(256, 0x80, 1)].concat();
    assert_eq!(rsa(&e, &padded), Err(PublicKeyProblem::Damaged), "a second encoding of the same number");
}

#[test]
fn bytes_after_a_key_and_cut_keys_are_refused() {
    for (algorithm, encoded) in ACCEPTED {
        let blob = STANDARD.decode(encoded).expect("base64");
        let parse = |blob: &[u8]| PublicKey::parse(&format!("{algorithm} {}", STANDARD.encode(blob)));
        assert!(parse(&blob).is_ok());
        assert_eq!(parse(&[&blob[..], &[0]].concat()), Err(PublicKeyProblem::Damaged), "{algorithm}");
        for length in 0..blob.len() {
            let problem = parse(&blob[..length]).expect_err("a cut key");
            let is_known = matches!(
                problem,
                PublicKeyProblem::Damaged | PublicKeyProblem::Algorithm | PublicKeyProblem::Short { .. }
            );
            assert!(is_known, "{algorithm} {length}: {problem}");
        }
    }
    let mut endless = vec![0xff; 4];
    endless.extend(b"ssh-rsa");
    let text = format!("ssh-rsa {}", STANDARD.encode(endless));
    assert_eq!(PublicKey::parse(&text), Err(PublicKeyProblem::Damaged), "a length beyond the end");
}

#[test]
fn fingerprints_are_those_of_openssh() {
    let key = PublicKey::parse(&format!("sk-ssh-ed25519@openssh.com {SK_ED25519}")).expect("a key");
    assert_eq!(fingerprint(&key.blob), "SHA256:/p0CbeE3dk2SyW1OXXsThGc12ezDVD8eGw2/vtztDfk");
}
