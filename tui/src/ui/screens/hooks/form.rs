//! The form of a hook, and the request it sends.

use std::collections::BTreeMap;

use farrier_common::{
    api::{CheckBranchFilter, CreateHook, EditHook, Hook, HookEvent},
    client::HookOwner,
    defaults,
};

use crate::ui::screens::FormKind;
use crate::ui::{
    form::{Field, Form, joined},
    hook::{HookCompactor, HookSummary},
    net::{NewHook, Request, SaveHook},
    redacted::Redacted,
};

/// Choices of the secret field.
const GENERATED: &str = "generated";
/// Shorter secrets can be guessed.
const SECRET_SHORT: usize = 16;
/// The types that the daemon delivers to.
const TYPES: [&str; 9] = ["farrier", "gitea", "forgejo", "gogs", "slack", "discord", "msteams", "telegram", "matrix"];

/// Returns the keys of `config` that the form shows for chat types.
fn chat_keys(kind: &str) -> &'static [&'static str] {
    match kind {
        "slack" => &["channel"],
        "telegram" => &["bot_token", "chat_id", "thread_id"],
        "matrix" => &["homeserver_url", "room_id", "access_token"],
        _ => &[],
    }
}

/// Returns whether receivers of this type check signatures. Chat services do not.
fn is_signed(kind: &str) -> bool {
    matches!(kind, "farrier" | "gitea" | "forgejo" | "gogs")
}

/// Returns whether the daemon derives the URL of a hook from the other settings of its type.
fn has_own_url(kind: &str) -> bool {
    matches!(kind, "telegram" | "matrix")
}

/// Splits at commas that are not inside braces.
fn branch_filter(text: &str) -> Option<String> {
    let mut depth = 0_i32;
    let stray = text.chars().any(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    stray.then(|| {
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        format!("write several patterns in braces: {{{}}}", parts.join(","))
    })
}

fn url(text: &str) -> Option<String> {
    let known = ["http://", "https://"];
    if let Some(rest) = known.iter().find_map(|scheme| text.strip_prefix(scheme)).filter(|rest| !rest.is_empty()) {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        return match host.rsplit_once('@') {
            Some(_) => Some("put user and password into the auth header, not into the URL".to_owned()),
            None if host.is_empty() => Some("the host is missing".to_owned()),
            None => None,
        };
    }
    // Suggests the scheme that was probably meant.
    let rest = text.trim_start_matches(|c: char| c.is_ascii_alphabetic()).trim_start_matches([':', '/']);
    Some(match text {
        _ if text.starts_with("http") && !rest.is_empty() => {
            let scheme = if text.starts_with("https") { "https" } else { "http" };
            format!("not an absolute URL; did you mean {scheme}://{rest} ?")
        }
        _ => "not an absolute URL; expected https://host/path".to_owned(),
    })
}

/// Returns the form, filled from `from`. Secrets are never among its values.
fn fields(
    owner: &HookOwner,
    from: &HookSummary,
    is_new: bool,
    secrets: &[&'static str],
    known: &[HookEvent],
) -> Vec<Field> {
    let at = |words: &[&str], word: &str| words.iter().position(|one| *one == word).unwrap_or(0);
    // Types that are no longer offered appear only if the hook already has one.
    let is_offered = |event: &&HookEvent| event.sent || from.events_exact().contains(&event.exact);
    let options: Vec<(String, String)> =
        known.iter().filter(is_offered).map(|event| (event.exact.clone(), event.description.clone())).collect();
    let all = !options.is_empty() && from.events_exact().len() >= options.len();
    let mut fields = Vec::new();
    if *owner == HookOwner::Admin {
        let kind = Field::choice("kind", "Kind", &["system", "default"], usize::from(from.is_default()));
        fields.push(kind.help("system: events of all repositories; default: copied into each new repository"));
    }
    if is_new {
        fields.push(Field::choice("type", "Type", &TYPES, at(&TYPES, from.hook_type())));
        fields.extend(chat_fields());
    }
    fields.extend([
        Field::line("url", "URL", from.url()).required().checked(url),
        Field::choice("content_type", "Content", &["json", "form"], at(&["json", "form"], from.content_type())),
        Field::choice("secret_mode", "Secret", secrets, 0).help("signs deliveries; a generated one is shown once"),
        Field::secret("secret", "Secret text").required(),
        Field::toggle("show", "Show it", false).help("the receiver needs the same text"),
        Field::secret("authorization_header", "Auth header")
            .help("value of the Authorization header; empty: unchanged or none"),
        Field::line("branch_filter", "Branches", from.branch_filter())
            .checked(branch_filter)
            .help("a pattern such as {main,release/*}; empty: all"),
        Field::choice("events", "Events", &["chosen", "all"], usize::from(all)),
        Field::many("events_exact", "Chosen", options, from.events_exact()),
        Field::toggle("active", "Active", from.is_active()),
    ]);
    fields
}

/// Settings of chat types. They are hidden for other types.
fn chat_fields() -> [Field; 7] {
    [
        Field::line("channel", "Channel", "").required().help("of Slack, such as #dev"),
        Field::secret("bot_token", "Bot token").required().help("of the Telegram bot"),
        Field::line("chat_id", "Chat ID", "").required().help("the chat that messages go to"),
        Field::line("thread_id", "Thread ID", "").help("a thread of the chat; empty: none"),
        Field::line("homeserver_url", "Homeserver", "").required().checked(url).help("https://matrix.example.net"),
        Field::line("room_id", "Room ID", "").required().help("such as !abc:example.net"),
        Field::secret("access_token", "Access token").required().help("of the Matrix account that writes"),
    ]
}

/// The button that saves and sends a test event.
pub(super) const AND_TEST: &str = "Create + test";

/// Returns the form. `above` is the highest ID of the existing hooks. A secret is generated unless the receiver checks
/// no signatures, or the copied hook has no secret.
pub(super) fn create(owner: HookOwner, above: i64, from: Option<&HookSummary>, known: &[HookEvent]) -> Form {
    let plain = HookCompactor::default().compact(Hook {
        active: true,
        r#type: defaults::HOOK_TYPE.to_owned(),
        content_type: defaults::HOOK_CONTENT_TYPE.to_owned(),
        events_exact: vec!["push".to_owned()],
        ..Hook::default()
    });
    let signs = from.is_none_or(HookSummary::has_secret);
    let from = from.unwrap_or(&plain);
    let fields = fields(&owner, from, true, &["none", "typed", GENERATED], known);
    let mut form = Form::new("New hook", "Create", FormKind::CreateHook(owner, above), fields).also(AND_TEST);
    if signs && is_signed(from.hook_type()) {
        choose_secret(&mut form, GENERATED);
        form.show_fields();
    }
    form
}

pub(super) fn edit(owner: HookOwner, hook: &HookSummary, known: &[HookEvent]) -> Form {
    let secrets: &[&str] =
        if hook.has_secret() { &["unchanged", "typed", GENERATED, "remove"] } else { &["none", "typed", GENERATED] };
    let fields = fields(&owner, hook, false, secrets, known);
    let kind = FormKind::EditHook(owner, hook.id);
    Form::new(format!("Edit hook {}", hook.id), "Save", kind, fields).editing()
}

/// Returns the values of a hook for the fields of its form, as far as the daemon sends them.
pub(crate) fn values(hook: &Hook) -> Vec<(&'static str, String)> {
    let switch = |on: bool| if on { "on" } else { "off" }.to_owned();
    vec![
        ("kind", if hook.scope == "default" { "default" } else { "system" }.to_owned()),
        ("url", hook.url.clone()),
        ("content_type", hook.content_type.clone()),
        ("branch_filter", hook.branch_filter.clone()),
        ("events_exact", joined(&hook.events_exact)),
        ("active", switch(hook.active)),
    ]
}

/// Returns whether a field has no effect with the current values of the others.
pub(crate) fn hides(form: &Form, name: &str) -> bool {
    match name {
        "secret" | "show" => !matches!(form.text("secret_mode"), "typed" | GENERATED),
        "events_exact" => form.text("events") == "all",
        "url" => has_own_url(form.text("type")),
        "channel" | "bot_token" | "chat_id" | "thread_id" | "homeserver_url" | "room_id" | "access_token" => {
            !chat_keys(form.text("type")).contains(&name)
        }
        _ => false,
    }
}

type Refusal = (&'static str, String);

/// Returns the secret to send; `None` for no secret or an unchanged one.
fn secret(form: &Form) -> Result<Option<String>, Refusal> {
    match form.text("secret_mode") {
        "typed" | GENERATED if form.text("secret").is_empty() => Err(("secret", "required".to_owned())),
        "typed" | GENERATED => Ok(Some(form.text("secret").to_owned())),
        _ => Ok(None),
    }
}

/// Returns the generated secret, which is shown once after it was saved.
fn generated(form: &Form) -> Option<String> {
    (form.text("secret_mode") == GENERATED).then(|| form.text("secret").to_owned())
}

/// Selects what the secret is, and generates it if necessary.
fn choose_secret(form: &mut Form, mode: &str) {
    if let Some(field) = form.field_mut("secret_mode") {
        field.set_value(mode);
    }
    let secret = if mode == GENERATED { generated_secret().unwrap_or_default() } else { String::new() };
    if let Some(field) = form.field_mut("secret") {
        field.fill(&secret);
    }
}

/// Puts a generated secret into a visible field, in which it can be edited.
pub(crate) fn changed(form: &mut Form, name: &str) {
    match name {
        "secret_mode" => {
            let mode = form.text(name).to_owned();
            choose_secret(form, &mode);
        }
        // A typed secret is kept, and so is a generated secret, which may have been copied or edited already.
        "type" if form.text("secret_mode") != "typed" => match (is_signed(form.text("type")), form.text("secret_mode"))
        {
            (true, GENERATED) => {}
            (true, _) => choose_secret(form, GENERATED),
            (false, _) => choose_secret(form, "none"),
        },
        "show" => {
            let on = form.is_on("show");
            if let Some(field) = form.field_mut("secret") {
                field.show(on);
            }
        }
        _ => {}
    }
}

/// Returns the warnings about the values.
pub(crate) fn warning(form: &Form, name: &str) -> Option<String> {
    match name {
        "url" if form.text("url").starts_with("http://") => Some("HTTP is not encrypted".to_owned()),
        "secret" if (1..SECRET_SHORT).contains(&form.text("secret").len()) => {
            Some(format!("shorter than {SECRET_SHORT} characters: easy to guess"))
        }
        _ => None,
    }
}

/// Returns what the daemon reports about a field.
pub(crate) fn lookup(owner: &HookOwner, form: &Form, name: &str) -> Option<Request> {
    let filter = form.text("branch_filter");
    let repository = if let HookOwner::Repository(path) = owner { path.to_string() } else { String::new() };
    let request = CheckBranchFilter { branch_filter: filter.to_owned(), repository };
    (name == "branch_filter" && !filter.is_empty()).then(|| Request::CheckBranchFilter(Box::new(request)))
}

/// Generates a secret: `whsec_` and 32 random bytes, the form that Standard Webhooks receivers accept.
pub(crate) fn generated_secret() -> Result<String, String> {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| format!("no random bytes: {error}"))?;
    Ok(format!("whsec_{}", STANDARD.encode(bytes)))
}

fn events(form: &Form) -> Result<Vec<String>, Refusal> {
    let field = form.field("events_exact");
    let names = field.map(|field| field.names(form.is_on("events"))).unwrap_or_default();
    if names.is_empty() {
        Err(("events_exact", "choose at least one; Enter opens the list".to_owned()))
    } else {
        Ok(names)
    }
}

/// Returns keys of `config`: all fields of the form for a new hook, otherwise the changed ones.
fn config(form: &Form, is_new: bool) -> Result<BTreeMap<String, String>, Refusal> {
    let mut config = BTreeMap::new();
    let is_sent = |name: &str| (is_new || form.is_changed(name)) && !hides(form, name);
    for name in ["url", "content_type"].into_iter().filter(|name| is_sent(name)) {
        config.insert(name.to_owned(), form.text(name).to_owned());
    }
    if form.field("kind").is_some() && is_sent("kind") {
        config.insert("is_system_webhook".to_owned(), (!form.is_on("kind")).to_string());
    }
    for name in chat_keys(form.text("type")).iter().filter(|name| !form.text(name).is_empty()) {
        config.insert((*name).to_owned(), form.text(name).to_owned());
    }
    if let Some(secret) = secret(form)? {
        config.insert("secret".to_owned(), secret);
    }
    Ok(config)
}

pub(crate) fn create_request(owner: &HookOwner, above: i64, form: &Form) -> Result<Request, Refusal> {
    let request = CreateHook {
        r#type: form.text("type").to_owned(),
        config: Some(config(form, true)?),
        events_exact: events(form)?,
        branch_filter: form.text("branch_filter").to_owned(),
        authorization_header: form.text("authorization_header").to_owned(),
        active: form.is_on("active"),
        ..CreateHook::default()
    };
    Ok(Request::CreateHook(Box::new(NewHook {
        owner: owner.clone(),
        request,
        test: form.pressed() == AND_TEST,
        unless_above: form.may_have_been_applied().then_some(above),
        shown_once: generated(form).map(Redacted),
    })))
}

/// Returns a request with only the fields that differ from the hook.
pub(crate) fn edit_request(owner: &HookOwner, id: i64, form: &Form) -> Result<Request, Refusal> {
    let header = form.text("authorization_header");
    let remove = form.text("secret_mode") == "remove";
    let config = config(form, false)?;
    let chose_events = form.is_changed("events") || form.is_changed("events_exact");
    let request = EditHook {
        config: (!config.is_empty()).then_some(config),
        events_exact: if chose_events { Some(events(form)?) } else { None },
        branch_filter: form.is_changed("branch_filter").then(|| form.text("branch_filter").to_owned()),
        authorization_header: (!header.is_empty()).then(|| header.to_owned()),
        active: form.is_changed("active").then(|| form.is_on("active")),
        clear: if remove { vec!["secret".to_owned()] } else { Vec::new() },
        ..EditHook::default()
    };
    if request == EditHook::default() {
        return Err(("", "Nothing was changed.".to_owned()));
    }
    let (owner, tag, shown_once) = (owner.clone(), form.tag(), generated(form).map(Redacted));
    Ok(Request::SaveHook(Box::new(SaveHook { owner, id, request, tag, shown_once })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_hook_urls_are_refused_with_a_hint() {
        assert_eq!(url("https://h/x"), None);
        let guess = url("https//ci.example.net/hook").unwrap();
        assert_eq!(guess, "not an absolute URL; did you mean https://ci.example.net/hook ?");
        assert!(url("ftp://h").unwrap().contains("expected"));
        assert!(url("https://").is_some());
        assert!(url("https://u:p@h/x").unwrap().contains("auth header"));
        assert_eq!(url("https://h/@x"), None);
    }

    #[test]
    fn generated_secrets_are_long_and_differ() {
        let (one, other) = (generated_secret().unwrap(), generated_secret().unwrap());
        assert!(one.starts_with("whsec_") && one.len() == 50 && one != other);
    }
}
