//! The forms for a new user, a new token and a new SSH key, and the requests that they send.

use farrier_common::api::{CreateToken, CreateUser};
use jiff::ToSpan as _;

use crate::{
    clock,
    ui::{
        form::{Field, Form},
        net::{KeyRequest, Request},
        screens::{FormKind, repositories::management::form as key_form},
    },
};

/// The choices of the expiry of a token, and their days; 0: never.
const EXPIRIES: [(&str, i32); 5] = [("7 days", 7), ("30 days", 30), ("90 days", 90), ("1 year", 365), ("never", 0)];
/// The scopes that are suggested for a new token.
const SCOPES: &str = "write:repository";

fn email(text: &str) -> Option<String> {
    (!text.contains('@')).then(|| "not an email address; expected name@host".to_owned())
}

/// Returns the form for a new user.
pub(super) fn create_user() -> Form {
    let fields = vec![
        Field::line("username", "Name", "").required().help("letters, digits, - _ and ."),
        Field::line("email", "Email", "").required().checked(email),
        Field::line("full_name", "Full name", ""),
        Field::toggle("admin", "Administrator", false),
        Field::secret("password", "Password").help("empty: the user can only use tokens"),
    ];
    Form::new("New user", "Create", FormKind::CreateUser, fields)
}

/// Returns the request of the form for a new user.
pub(crate) fn user_request(form: &Form) -> Request {
    let password = Some(form.text("password").to_owned()).filter(|text| !text.is_empty());
    Request::CreateUser(Box::new(CreateUser {
        username: form.text("username").to_owned(),
        email: form.text("email").to_owned(),
        full_name: form.text("full_name").to_owned(),
        admin: form.is_on("admin"),
        password,
        // Otherwise every request of the account is answered with 403 until the password is changed.
        must_change_password: Some(false),
        ..CreateUser::default()
    }))
}

/// Returns the form for a new token of a user.
pub(super) fn create_token(login: &str) -> Form {
    let choices = EXPIRIES.map(|(name, _)| name);
    let fields = vec![
        Field::line("name", "Name", "").required().help("what the token is for"),
        Field::line("scopes", "Scopes", SCOPES).required().help("such as write:repository, read:user; all: everything"),
        Field::choice("expires_at", "Expiry", &choices, 1),
    ];
    Form::new(format!("New token of {login}"), "Create", FormKind::CreateToken(login.to_owned()), fields)
}

/// Returns the request of the form for a new token.
pub(crate) fn token_request(login: &str, form: &Form) -> Request {
    let days = EXPIRIES.iter().find(|(name, _)| *name == form.text("expires_at")).map_or(0, |(_, days)| *days);
    // Days of 24 hours, because a timestamp has no time zone.
    let expires_at = (days > 0).then(|| clock::now().saturating_add((i64::from(days) * 24).hours()).ok()).flatten();
    let scopes = form.text("scopes").split([',', ' ']).filter(|scope| !scope.is_empty()).map(str::to_owned).collect();
    let name = form.text("name").to_owned();
    let expires_at = expires_at.map(|at| at.to_string());
    let request = CreateToken { name, scopes, expires_at, ..CreateToken::default() };
    Request::CreateToken(login.to_owned(), Box::new(request))
}

/// Returns the form for a new SSH key of a user. `is_own`: whether the user is the caller.
pub(super) fn add_key(login: &str, is_own: bool) -> Form {
    let kind = FormKind::AddKey(login.to_owned(), is_own);
    Form::new(format!("New SSH key of {login}"), "Add", kind, key_form::key_fields())
}

/// Returns the request of the form for a new SSH key.
pub(crate) fn key_request(login: &str, is_own: bool, form: &Form) -> Request {
    let key = Box::new(key_form::key_of(form));
    Request::AccountKeys(login.to_owned(), KeyRequest::AddSsh { is_own, key })
}
