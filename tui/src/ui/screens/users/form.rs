//! The forms for a new user and a new SSH key, and the requests that they send.

use farrier_common::api::CreateUser;

use crate::ui::{
    form::{Field, Form},
    net::{KeyRequest, Request},
    screens::{FormKind, repositories::management::form as key_form},
};

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
