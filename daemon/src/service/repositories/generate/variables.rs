//! The variables of templates: `${NAME}` in files and in their names.

use std::collections::BTreeMap;

use super::super::create::NewRepository;
use crate::{
    clock::Millis,
    service::{Context, browse::Browse},
};

/// Changes a name for a suffix such as `_SNAKE`.
type Form = (&'static str, fn(&str) -> String);

const FORMS: [Form; 7] = [
    ("_SNAKE", |text| words(text).join("_")),
    ("_KEBAB", |text| words(text).join("-")),
    ("_CAMEL", |text| {
        let pascal = pascal(text);
        let mut chars = pascal.chars();
        chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
    }),
    ("_PASCAL", pascal),
    ("_LOWER", |text| text.to_lowercase()),
    ("_UPPER", |text| text.to_uppercase()),
    ("_TITLE", title),
];

/// The values of the variables, by name.
pub(super) struct Variables(BTreeMap<String, String>);

impl Variables {
    /// Returns the variables for a repository that is generated from the template of `browse`.
    pub(super) fn new(context: &Context, browse: &Browse, new: &NewRepository) -> Self {
        let mut all = Self(BTreeMap::new());
        all.set_date(context.now_ms());
        let template = &browse.found;
        for (prefix, owner, row) in
            [("REPO", &new.owner, &new.row), ("TEMPLATE", &template.owner, &template.repository)]
        {
            let path = format!("{}/{}", owner.name(), row.name);
            all.set_with_forms(&format!("{prefix}_NAME"), &row.name);
            all.set_with_forms(&format!("{prefix}_OWNER"), owner.name());
            all.set(&format!("{prefix}_DESCRIPTION"), row.description.clone());
            all.set(&format!("{prefix}_LINK"), format!("{}/{path}", context.root_url));
            all.set(&format!("{prefix}_HTTPS_URL"), format!("{}/{path}.git", context.root_url));
            all.set(&format!("{prefix}_SSH_URL"), context.root_url.ssh_url(&path));
        }
        all
    }

    fn set_date(&mut self, now: Millis) {
        let now = jiff::Timestamp::from_millisecond(now).unwrap_or_default().to_zoned(jiff::tz::TimeZone::UTC);
        self.set("YEAR", now.strftime("%Y").to_string());
        self.set("MONTH", now.strftime("%m").to_string());
        self.set("DAY", now.strftime("%d").to_string());
        self.set_with_forms("MONTH_ENGLISH", &now.strftime("%B").to_string());
    }

    fn set(&mut self, name: &str, value: String) {
        self.0.insert(name.to_owned(), value);
    }

    fn set_with_forms(&mut self, name: &str, value: &str) {
        self.set(name, value.to_owned());
        for (suffix, form) in FORMS {
            self.set(&format!("{name}{suffix}"), form(value));
        }
    }

    /// Replaces `${NAME}` by the value of the variable, or by `NAME` if there is no such variable. `None`: the result
    /// would have more than `limit` bytes.
    pub(super) fn expand(&self, text: &[u8], limit: usize) -> Option<Vec<u8>> {
        let mut expanded = Vec::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.windows(2).position(|pair| pair == b"${") {
            expanded.extend_from_slice(&rest[..start]);
            let after = &rest[start + 2..];
            let length = after.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
            if length > 0 && after.get(length) == Some(&b'}') {
                let name = String::from_utf8_lossy(&after[..length]);
                let value = self.0.get(&*name).map_or(&after[..length], String::as_bytes);
                expanded.extend_from_slice(value);
                rest = &after[length + 1..];
            } else {
                expanded.extend_from_slice(b"${");
                rest = after;
            }
            if expanded.len() > limit {
                return None;
            }
        }
        expanded.extend_from_slice(rest);
        (expanded.len() <= limit).then_some(expanded)
    }
}

/// Divides a name into words in lower case. A capital letter after another kind of character begins a word.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut before) = (Vec::new(), String::new(), ' ');
    for c in text.chars() {
        let begins = c.is_uppercase() && !before.is_uppercase();
        if (begins || !c.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

fn pascal(text: &str) -> String {
    words(text).iter().map(|word| title(word)).collect()
}

/// Returns the text with a capital letter at the beginning of each word.
fn title(text: &str) -> String {
    let mut is_begin = true;
    let mut titled = String::with_capacity(text.len());
    for c in text.chars() {
        if is_begin {
            titled.extend(c.to_uppercase());
        } else {
            titled.push(c);
        }
        is_begin = !c.is_alphanumeric();
    }
    titled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables() -> Variables {
        let mut all = Variables(BTreeMap::new());
        all.set_with_forms("REPO_NAME", "my-goodTool.x2");
        all.set_date(1_767_323_045_000);
        all
    }

    fn expanded(text: &str) -> String {
        String::from_utf8(variables().expand(text.as_bytes(), 10_000).expect("short")).expect("text")
    }

    #[test]
    fn names_have_forms() {
        for (form, value) in [
            ("SNAKE", "my_good_tool_x2"),
            ("KEBAB", "my-good-tool-x2"),
            ("CAMEL", "myGoodToolX2"),
            ("PASCAL", "MyGoodToolX2"),
            ("LOWER", "my-goodtool.x2"),
            ("UPPER", "MY-GOODTOOL.X2"),
            ("TITLE", "My-GoodTool.X2"),
        ] {
            assert_eq!(expanded(&format!("${{REPO_NAME_{form}}}")), value);
        }
        assert_eq!(
            expanded("${YEAR}-${MONTH}-${DAY} ${MONTH_ENGLISH} ${MONTH_ENGLISH_UPPER}"),
            "2026-01-02 January JANUARY"
        );
    }

    #[test]
    fn only_variables_in_braces_are_replaced() {
        assert_eq!(
            expanded("a ${REPO_NAME} $REPO_NAME ${UNKNOWN} ${} ${a b} ${"),
            "a my-goodTool.x2 $REPO_NAME UNKNOWN ${} ${a b} ${"
        );
        assert_eq!(expanded("${${YEAR}}"), "${2026}");
        assert_eq!(variables().expand(b"\xff${DAY}", 3), Some(b"\xff02".to_vec()));
        assert_eq!(variables().expand(b"\xff${DAY}", 2), None);
    }
}
