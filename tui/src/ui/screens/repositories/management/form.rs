//! The forms for collaborators and for public keys, and the requests that they send.

use farrier_common::{api::CreateKey, client::RepositoryPath};

use crate::{
    args,
    ui::{
        form::{Field, Form},
        net::{Collaborator, ManagementRequest, Request},
        screens::FormKind,
    },
};

/// The choices of the permission of a collaborator.
const PERMISSIONS: [&str; 3] = ["read", "write", "admin"];
/// How the names of the algorithms of SSH keys begin.
const ALGORITHMS: [&str; 4] = ["ssh-", "ecdsa-", "sk-ssh-", "sk-ecdsa-"];
/// Longest title of a key, in characters.
const TITLE_MAX: usize = 255;

/// Returns the error in the title of a key. A private key pasted into the wrong field must not be sent either.
fn title(text: &str) -> Option<String> {
    if args::is_private_key(text) {
        return Some("this is a private key; clear the field".to_owned());
    }
    let length = text.chars().count();
    (length > TITLE_MAX).then(|| format!("{length} characters; at most {TITLE_MAX}"))
}

/// Returns the error in a public key. A private key must not leave this machine.
fn key(text: &str) -> Option<String> {
    if args::is_private_key(text) {
        return Some("this is a private key; paste the content of the file that ends with .pub".to_owned());
    }
    // A word before the algorithm can be a part of a private key without its first line.
    let has_algorithm = ALGORITHMS.iter().any(|algorithm| text.starts_with(algorithm));
    let has_parts = text.split_whitespace().nth(1).is_some();
    (!has_algorithm || !has_parts)
        .then(|| "not a public key; expected a line such as: ssh-ed25519 AAAA… comment".to_owned())
}

/// Returns the fields for the title and the text of a public key.
pub(in crate::ui::screens) fn key_fields() -> Vec<Field> {
    vec![
        Field::line("title", "Title", "").required().checked(title).help("such as the machine that has the key"),
        Field::line("key", "Public key", "").required().checked(key).help("the line in the file that ends with .pub"),
    ]
}

/// Returns the request body of a form with the fields of a key.
pub(in crate::ui::screens) fn key_of(form: &Form) -> CreateKey {
    CreateKey {
        title: form.text("title").to_owned(),
        key: form.text("key").to_owned(),
        read_only: form.is_on("read_only"),
    }
}

pub(super) fn add_deploy_key(path: RepositoryPath) -> Form {
    let mut fields = key_fields();
    fields.push(Field::toggle("read_only", "Read only", true).help("a read-only key may only fetch"));
    Form::new(format!("New deploy key of {path}"), "Add", FormKind::AddDeployKey(path), fields)
}

pub(in crate::ui::screens) fn deploy_key_request(path: &RepositoryPath, form: &Form) -> Request {
    Request::Manage(path.clone(), ManagementRequest::AddDeployKey(Box::new(key_of(form))))
}

fn permission(at: usize) -> Field {
    Field::choice("permission", "Permission", &PERMISSIONS, at).help("write: may push; admin: may change settings")
}

pub(super) fn add_collaborator(path: RepositoryPath) -> Form {
    let fields = vec![Field::line("user", "User", "").required().help("the name of an account"), permission(1)];
    Form::new(format!("Add a collaborator to {path}"), "Add", FormKind::AddCollaborator(path), fields)
}

/// Returns the form for the permission that was granted to a collaborator. Its title has the effective permission if
/// that is another one: the form cannot reduce it.
pub(super) fn change_collaborator(path: RepositoryPath, collaborator: &Collaborator) -> Form {
    let Collaborator { login, permission: effective, direct, .. } = collaborator;
    let at = PERMISSIONS.iter().position(|one| one == direct).unwrap_or(1);
    let note = if effective == direct { String::new() } else { format!(" (effective: {effective})") };
    let title = format!("Permission of {login} in {path}{note}");
    Form::new(title, "Save", FormKind::ChangeCollaborator(path, login.clone()), vec![permission(at)])
}

/// Returns the request of both forms for collaborators.
pub(in crate::ui::screens) fn collaborator_request(path: &RepositoryPath, user: &str, form: &Form) -> Request {
    let (user, permission) = (user.to_owned(), form.text("permission").to_owned());
    Request::Manage(path.clone(), ManagementRequest::SetCollaborator { user, permission })
}
