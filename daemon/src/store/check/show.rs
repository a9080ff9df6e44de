//! Formats keys for people, for example `rn/1/demo`.

/// Returns the components of the keys with a tag: `i` an id, `n` an id sorted newest first, `m` a time, `b` a
/// byte, `c` a character, `3` three characters, `t` a text, `h` the remaining bytes in hexadecimal. `rest` is the key
/// after the tag.
fn layout(tag: &str, rest: &[u8]) -> &'static str {
    match tag {
        "g" if matches!(rest.get(8), Some(b'b' | b'p' | b'r' | b'x')) => "ict",
        "g" if rest.get(8) == Some(&b'l') => "ici",
        "g" => "ic",
        "u" | "o" | "r" | "k" | "rk" | "rx" | "ry" | "j" | "ji" | "a" | "e" | "h" | "hx" | "hs" | "hd" | "ce"
        | "ck" | "cp" | "li" | "ya" => "i",
        "d" | "al" => "n",
        "om" | "ou" | "tu" | "ro" | "rc" | "cu" | "aw" | "gp" | "jj" | "xb" | "xt" | "hr" | "ho" | "da" | "ep"
        | "qf" | "qu" | "cc" | "ka" | "kd" | "ke" | "gk" | "gf" | "ll" | "bp" | "bt" | "ym" | "yr" | "yx" => "ii",
        "ca" => "imi",
        "cz" | "js" | "yu" => "iii",
        "jp" => "iiii",
        "jt" => "miii",
        "jr" | "ar" | "aj" | "dh" | "df" | "au" => "in",
        "jx" | "ax" | "az" | "ux" | "rz" | "of" | "hz" | "qr" | "cx" | "cq" => "mi",
        "ow" | "ue" | "wr" | "ac" => "t",
        "rn" | "rr" | "rf" | "yb" | "mp" | "gd" => "it",
        "gx" | "mq" => "mit",
        "an" => "iit",
        "rg" => "3i",
        "rl" => "ibbh",
        "fk" => "ibh",
        "t" | "kf" | "lo" | "lx" => "h",
        "lr" | "lp" => "ih",
        "lg" => "mh",
        _ => "",
    }
}

/// Formats `key` as in the table of keys in `docs/storage.md`. Bytes that do not match the layout are escaped.
pub fn show(key: &[u8]) -> String {
    let tag_end = key.iter().position(|byte| *byte == 0).unwrap_or(key.len());
    let tag = String::from_utf8_lossy(&key[..tag_end]);
    let mut rest = key.get(tag_end + 1..).unwrap_or_default();
    let mut shown = tag.to_string();
    for component in layout(&tag, rest).chars() {
        let Some((text, length)) = part(component, rest) else { break };
        shown += "/";
        shown += &text;
        rest = &rest[length..];
    }
    if !rest.is_empty() {
        shown += "/";
        shown += &rest.escape_ascii().to_string();
    }
    shown
}

/// Formats the first component of `rest` and returns it with its length in bytes.
fn part(component: char, rest: &[u8]) -> Option<(String, usize)> {
    let number = || rest.first_chunk().map(|bytes| u64::from_be_bytes(*bytes));
    match component {
        'i' => Some((number()?.to_string(), 8)),
        'n' => Some(((!number()?).to_string(), 8)),
        'm' => Some(((number()? ^ (1 << 63)).cast_signed().to_string(), 8)),
        'b' => Some((rest.first()?.to_string(), 1)),
        'c' => Some((rest.first_chunk::<1>()?.escape_ascii().to_string(), 1)),
        '3' => Some((rest.get(..3)?.escape_ascii().to_string(), 3)),
        't' => {
            let end = rest.iter().position(|byte| *byte == 0)?;
            Some((std::str::from_utf8(&rest[..end]).ok()?.escape_debug().to_string(), end + 1))
        }
        _ => Some((hex::encode(rest), rest.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::keys;

    #[test]
    fn keys_are_formatted_as_in_the_documentation() {
        for (key, expected) in [
            (keys::repository(7), "r/7"),
            (keys::repository_name(1, "Demo"), "rn/1/demo"),
            (keys::repository_run(1, 9), "jr/1/9"),
            (keys::artifact_expiry(-5, 2), "ax/-5/2"),
            (keys::hook_delivery(3, 7), "dh/3/7"),
            (keys::payload(4), "ep/4"),
            (keys::repository_version(3), "g/3/v"),
            (keys::stored_ref(3, "refs/heads/x"), "g/3/r/refs/heads/x"),
            (keys::stored_pack(3, "pack-1"), "g/3/p/pack-1"),
            (keys::inline_pack(3, "pack-1"), "g/3/b/pack-1"),
            (keys::dropped_pack(3, "pack-1"), "g/3/x/pack-1"),
            (keys::dropped_pack_due(5, 3, "pack-1"), "gx/5/3/pack-1"),
            (keys::ref_change(3, 9), "g/3/l/9"),
            (keys::unused_pack_object(3, "0af1"), "gd/3/0af1"),
            (keys::artifact_name(1, 2, "a b"), "an/1/2/a b"),
            (keys::trigram(*b"dem", 3), "rg/dem/3"),
            (keys::lfs_entry(3, &[0xab; 32]), &format!("lr/3/{}", "ab".repeat(32))),
            (keys::token(&[0xab; 32]), &format!("t/{}", "ab".repeat(32))),
            (b"rn\0short".to_vec(), "rn/short"),
            (b"zz\0\x01".to_vec(), "zz/\\x01"),
            (Vec::new(), ""),
        ] {
            assert_eq!(show(&key), expected);
        }
    }
}
