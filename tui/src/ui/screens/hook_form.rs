//! The form of a hook, and what it asks for.

use std::collections::BTreeMap;

use farrier_common::{
    api::{CheckBranchFilter, CreateHook, EditHook, Hook, HookEvent},
    client::HookPlace,
};

use super::Purpose;
use crate::ui::{
    form::{Field, Form},
    net::{Ask, NewHook},
};

/// A word of the choice of secrets.
const GENERATED: &str = "generated";
/// Shorter secrets can be guessed.
const SECRET_SHORT: usize = 16;
const TYPES: [&str; 4] = ["farrier", "gitea", "forgejo", "gogs"];

fn url(text: &str) -> Option<String> {
    let known = ["http://", "https://"];
    if let Some(rest) = known.iter().find_map(|scheme| text.strip_prefix(scheme)).filter(|rest| !rest.is_empty()) {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        return match host.rsplit_once('@') {
            Some(_) => Some("user and password do not belong here; the auth header is the place for them".to_owned()),
            None if host.is_empty() => Some("there is no host in it".to_owned()),
            None => None,
        };
    }
    // A scheme that is nearly right is worth a guess.
    let rest = text.trim_start_matches(|c: char| c.is_ascii_alphabetic()).trim_start_matches([':', '/']);
    Some(match text {
        _ if text.starts_with("http") && !rest.is_empty() => {
            let scheme = if text.starts_with("https") { "https" } else { "http" };
            format!("not an absolute address; did you mean {scheme}://{rest} ?")
        }
        _ => "not an absolute address; it looks like https://host/path".to_owned(),
    })
}

/// `from` fills the form; secrets are never among what it holds.
fn fields(place: &HookPlace, from: &Hook, secrets: &[&'static str], known: &[HookEvent]) -> Vec<Field> {
    let at = |words: &[&str], word: &str| words.iter().position(|one| *one == word).unwrap_or(0);
    let options: Vec<(String, String)> =
        known.iter().map(|event| (event.exact.clone(), event.description.clone())).collect();
    let all = !options.is_empty() && from.events_exact.len() >= options.len();
    let mut fields = Vec::new();
    if *place == HookPlace::Admin {
        let kind = Field::choice("kind", "Kind", &["system", "default"], usize::from(from.scope == "default"));
        fields.push(kind.help("system: events of all repositories; default: copied into each new one"));
    }
    fields.extend([
        Field::choice("type", "Type", &TYPES, at(&TYPES, &from.r#type)),
        Field::line("url", "URL", &from.url).required().checked(url),
        Field::choice("content_type", "Content", &["json", "form"], at(&["json", "form"], &from.content_type)),
        Field::choice("secret_mode", "Secret", secrets, 0).help("signs deliveries; shown by nobody afterwards"),
        Field::secret("secret", "Secret text").help("only when it is typed or generated"),
        Field::toggle("show", "Show it", false).help("so that the receiver can be given the same"),
        Field::secret("authorization_header", "Auth header").help("the whole value; empty: none, or as it is"),
        Field::line("branch_filter", "Branches", &from.branch_filter)
            .help("a pattern such as {main,release/*}; empty: all"),
        Field::choice("events", "Events", &["chosen", "all"], usize::from(all)),
        Field::many("events_exact", "Chosen", options, &from.events_exact),
        Field::toggle("active", "Active", from.active),
    ]);
    fields
}

/// The button that also sends a test.
pub(super) const AND_TEST: &str = "Create + test";

/// `above` is the highest number of the hooks that are there.
pub(super) fn create(place: HookPlace, above: i64, from: Option<&Hook>, known: &[HookEvent]) -> Form {
    let plain = Hook {
        active: true,
        r#type: TYPES[0].to_owned(),
        content_type: "json".to_owned(),
        events_exact: vec!["push".to_owned()],
        ..Hook::default()
    };
    let fields = fields(&place, from.unwrap_or(&plain), &["none", "typed", GENERATED], known);
    let form = Form::new("New hook", "Create", Purpose::CreateHook(place, above), fields);
    form.also(AND_TEST)
}

pub(super) fn edit(place: HookPlace, hook: &Hook, known: &[HookEvent]) -> Form {
    let secrets: &[&str] =
        if hook.has_secret { &["as it is", "typed", GENERATED, "remove"] } else { &["none", "typed", GENERATED] };
    let fields = fields(&place, hook, secrets, known);
    let purpose = Purpose::EditHook(place, hook.id);
    Form::new(format!("Edit hook {}", hook.id), "Save", purpose, fields)
}

type Refusal = (&'static str, String);

/// The secret that the form asks for; none when there is to be none or it stays.
fn secret(form: &Form) -> Result<Option<String>, Refusal> {
    match form.text("secret_mode") {
        "typed" | GENERATED if form.text("secret").is_empty() => {
            Err(("secret", "needed: it is to be typed".to_owned()))
        }
        "typed" | GENERATED => Ok(Some(form.text("secret").to_owned())),
        _ => Ok(None),
    }
}

/// The generated secret, which is shown once it is in use.
fn generated(form: &Form) -> Option<String> {
    (form.text("secret_mode") == GENERATED).then(|| form.text("secret").to_owned())
}

/// A generated secret is put where it can be read; what is typed becomes a typed one.
pub(super) fn changed(form: &mut Form, name: &str) {
    match name {
        "secret_mode" => {
            let made =
                if form.text("secret_mode") == GENERATED { made_up().unwrap_or_default() } else { String::new() };
            if let Some(field) = form.field_mut("secret") {
                field.fill(&made);
            }
        }
        "show" => {
            let on = form.is_on("show");
            if let Some(field) = form.field_mut("secret") {
                field.show(on);
            }
        }
        _ => {}
    }
}

/// What is worth a second thought.
pub(super) fn remark(form: &Form, name: &str) -> Option<String> {
    match name {
        "url" if form.text("url").starts_with("http://") => {
            Some("http: what is sent can be read on the way".to_owned())
        }
        "secret" if (1..SECRET_SHORT).contains(&form.text("secret").len()) => {
            Some(format!("shorter than {SECRET_SHORT} characters: it may be guessed"))
        }
        _ => None,
    }
}

/// What the daemon knows about a field.
pub(super) fn wonder(place: &HookPlace, form: &Form, name: &str) -> Option<Ask> {
    let filter = form.text("branch_filter");
    let repository = if let HookPlace::Repository(path) = place { path.to_string() } else { String::new() };
    let wanted = CheckBranchFilter { branch_filter: filter.to_owned(), repository };
    (name == "branch_filter" && !filter.is_empty()).then(|| Ask::CheckBranchFilter(Box::new(wanted)))
}

/// `whsec_` and 32 random bytes, which also receivers of the common standard understand.
pub(crate) fn made_up() -> Result<String, String> {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| format!("no random bytes: {error}"))?;
    Ok(format!("whsec_{}", STANDARD.encode(bytes)))
}

fn events(form: &Form) -> Result<Vec<String>, Refusal> {
    let field = form.field("events_exact");
    let names = field.map(|field| field.names(form.is_on("events"))).unwrap_or_default();
    if names.is_empty() { Err(("events_exact", "at least one; Enter opens the list".to_owned())) } else { Ok(names) }
}

fn config(form: &Form) -> Result<BTreeMap<String, String>, Refusal> {
    let mut config = BTreeMap::from([
        ("url".to_owned(), form.text("url").to_owned()),
        ("content_type".to_owned(), form.text("content_type").to_owned()),
    ]);
    if form.field("kind").is_some() {
        config.insert("is_system_webhook".to_owned(), (!form.is_on("kind")).to_string());
    }
    if let Some(secret) = secret(form)? {
        config.insert("secret".to_owned(), secret);
    }
    Ok(config)
}

pub(super) fn create_ask(place: &HookPlace, above: i64, form: &Form) -> Result<Ask, Refusal> {
    let wanted = CreateHook {
        r#type: form.text("type").to_owned(),
        config: Some(config(form)?),
        events_exact: events(form)?,
        branch_filter: form.text("branch_filter").to_owned(),
        authorization_header: form.text("authorization_header").to_owned(),
        active: form.is_on("active"),
        ..CreateHook::default()
    };
    Ok(Ask::CreateHook(Box::new(NewHook {
        place: place.clone(),
        wanted,
        test: form.pressed() == AND_TEST,
        unless_above: form.may_be_done().then_some(above),
        shown_once: generated(form),
    })))
}

pub(super) fn edit_ask(place: &HookPlace, id: i64, form: &Form) -> Result<Ask, Refusal> {
    let header = form.text("authorization_header");
    let remove = form.text("secret_mode") == "remove";
    let wanted = EditHook {
        config: Some(config(form)?),
        events_exact: Some(events(form)?),
        branch_filter: Some(form.text("branch_filter").to_owned()),
        authorization_header: (!header.is_empty()).then(|| header.to_owned()),
        active: Some(form.is_on("active")),
        clear: if remove { vec!["secret".to_owned()] } else { Vec::new() },
        ..EditHook::default()
    };
    Ok(Ask::EditHook(place.clone(), id, Box::new(wanted)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_nearly_right_is_guessed() {
        assert_eq!(url("https://h/x"), None);
        let guess = url("https//ci.example.net/hook").unwrap();
        assert_eq!(guess, "not an absolute address; did you mean https://ci.example.net/hook ?");
        assert!(url("ftp://h").unwrap().contains("looks like"));
        assert!(url("https://").is_some());
        assert!(url("https://u:p@h/x").unwrap().contains("auth header"));
        assert_eq!(url("https://h/@x"), None);
    }

    #[test]
    fn made_up_secrets_are_long_and_never_the_same() {
        let (one, other) = (made_up().unwrap(), made_up().unwrap());
        assert!(one.starts_with("whsec_") && one.len() == 50 && one != other);
    }
}
