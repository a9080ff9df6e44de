//! Forms about repositories, branches and tags, and the requests that they send.

use farrier_common::{
    api::{CreateBranch, CreateRepository, CreateTag, EditRepository, MigrateRepository, Repository},
    client::RepositoryPath,
    names,
};

use crate::ui::screens::FormKind;
use crate::ui::{
    form::{Field, Form},
    net::{Request, SaveRepository},
    repo::RepositorySummary,
};

const DESCRIPTION_MAX: usize = 2_048;
/// The choices of visibility; the second one is private.
const VISIBILITY: [&str; 2] = ["public", "private"];
/// The choices of visibility of a new repository. The first one leaves the decision to the daemon.
const NEW_VISIBILITY: [&str; 3] = ["default", "public", "private"];
/// The button that only checks the values.
pub(crate) const CHECK: &str = "Check";

pub(crate) fn name(text: &str) -> Option<String> {
    names::check_repository(text).err().map(|error| error.to_string())
}

fn description(text: &str) -> Option<String> {
    let length = text.chars().count();
    (length > DESCRIPTION_MAX).then(|| format!("{length} characters; at most {DESCRIPTION_MAX}"))
}

fn source(text: &str) -> Option<String> {
    let known = ["http://", "https://", "git://"];
    if known.iter().any(|scheme| text.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty())) {
        return None;
    }
    Some("not a URL to import from; expected https://host/owner/name.git".to_owned())
}

fn new_visibility() -> Field {
    Field::choice("private", "Visibility", &NEW_VISIBILITY, 0).help("default: as the daemon is configured")
}

/// Returns whether a new repository is private. `None`: as the daemon is configured.
fn is_private(form: &Form) -> Option<bool> {
    match form.text("private") {
        "public" => Some(false),
        "private" => Some(true),
        _ => None,
    }
}

/// Returns the form. `login` is the caller, the most likely owner.
pub(super) fn create(login: &str) -> Form {
    let fields = vec![
        Field::line("owner", "Owner", login).required().help("a user or an organization"),
        Field::line("name", "Name", "").required().checked(name).help("letters, digits, - _ and ."),
        Field::line("description", "Description", "").checked(description),
        new_visibility(),
        Field::toggle("auto_init", "First commit", false).help("adds a readme; otherwise the repository is empty"),
        Field::line("default_branch", "Default branch", "").help("empty: main"),
        Field::choice("object_format_name", "Object format", &["sha1", "sha256"], 0),
    ];
    Form::new("New repository", "Create", FormKind::CreateRepository, fields)
}

pub(crate) fn create_request(form: &Form) -> Request {
    Request::CreateRepository {
        owner: form.text("owner").to_owned(),
        request: Box::new(CreateRepository {
            name: form.text("name").to_owned(),
            description: form.text("description").to_owned(),
            private: is_private(form),
            auto_init: form.is_on("auto_init"),
            default_branch: form.text("default_branch").to_owned(),
            object_format_name: form.text("object_format_name").to_owned(),
            ..CreateRepository::default()
        }),
    }
}

pub(super) fn edit(repo: &RepositorySummary, path: RepositoryPath) -> Form {
    let fields = vec![
        Field::line("name", "Name", repo.name()).required().checked(name).help("the old name redirects to the new one"),
        Field::line("description", "Description", repo.description()).checked(description),
        Field::line("website", "Website", repo.website()),
        Field::choice("private", "Visibility", &VISIBILITY, repo.is_private().into()),
        Field::toggle("archived", "Archived", repo.is_archived()).help("an archived repository accepts no pushes"),
        Field::line("default_branch", "Default branch", repo.default_branch()),
    ];
    Form::new(format!("Edit {path}"), "Save", FormKind::EditRepository(path), fields).editing()
}

/// Returns the values of a repository for the fields of its form.
pub(crate) fn values(repo: &Repository) -> Vec<(&'static str, String)> {
    vec![
        ("name", repo.name.clone()),
        ("description", repo.description.trim().to_owned()),
        ("website", repo.website.trim().to_owned()),
        ("private", if repo.private { "private" } else { "public" }.to_owned()),
        ("archived", if repo.archived { "on" } else { "off" }.to_owned()),
        ("default_branch", repo.default_branch.clone()),
    ]
}

/// Returns a request with only the fields that differ from the repository.
pub(crate) fn edit_request(path: &RepositoryPath, form: &Form) -> Result<Request, (&'static str, String)> {
    let text = |name: &str| form.is_changed(name).then(|| form.text(name).to_owned());
    let switch = |name: &str| form.is_changed(name).then(|| form.is_on(name));
    let request = EditRepository {
        name: text("name"),
        description: text("description"),
        website: text("website"),
        private: switch("private"),
        archived: switch("archived"),
        default_branch: text("default_branch").filter(|branch| !branch.is_empty()),
        ..EditRepository::default()
    };
    if request == EditRepository::default() {
        return Err(("", "Nothing was changed.".to_owned()));
    }
    Ok(Request::SaveRepository(Box::new(SaveRepository { path: path.clone(), request, tag: form.tag() })))
}

pub(super) fn migrate(login: &str) -> Form {
    let fields = vec![
        Field::line("clone_addr", "Clone from", "").required().checked(source).help("http, https or git"),
        Field::line("repo_owner", "Owner", login).required(),
        Field::line("repo_name", "Name", "").required().checked(name),
        new_visibility(),
        Field::line("description", "Description", "").checked(description),
        Field::choice("auth", "Sign in with", &["nothing", "token", "user and password"], 0),
        Field::line("auth_username", "User", "").required().help("at the source"),
        Field::secret("auth_secret", "Token/password").required().help("sent to the source, not saved"),
    ];
    Form::new("Import a repository", "Import", FormKind::Migrate, fields).also(CHECK)
}

/// Returns the form that imports a repository again after its import failed, with the values of the failed one. The
/// name of a failed import is free. `known`: the repository; `None` if the import left none.
pub(super) fn migrate_again(path: &RepositoryPath, known: Option<&Repository>) -> Form {
    let mut form = migrate(&path.owner);
    let mut values = vec![("repo_name", path.name.as_str())];
    if let Some(repository) = known {
        values.extend([
            ("clone_addr", repository.original_url.as_str()),
            ("private", if repository.private { "private" } else { "public" }),
            ("description", repository.description.trim()),
        ]);
    }
    for (field, value) in values {
        if let Some(field) = form.field_mut(field) {
            field.set_value(value);
        }
    }
    form
}

/// Derives the name from the URL unless a name was typed.
pub(crate) fn field_left(form: &mut Form, left: &str) {
    if left != "clone_addr" || !form.text("repo_name").is_empty() {
        return;
    }
    let address = form.text("clone_addr").trim_end_matches('/');
    let last = address.rsplit('/').next().unwrap_or_default();
    let guess = last.strip_suffix(".git").unwrap_or(last).to_owned();
    if let Some(field) = form.field_mut("repo_name").filter(|_| name(&guess).is_none()) {
        field.fill(&guess);
    }
}

/// Returns whether a field has no effect with the current values of the others.
pub(crate) fn hides(form: &Form, name: &str) -> bool {
    match name {
        "auth_username" => form.text("auth") != "user and password",
        "auth_secret" => form.text("auth") == "nothing",
        _ => false,
    }
}

/// Checks whether the name is free, when the owner or name field loses the focus.
pub(crate) fn lookup(form: &Form, left: &str, owner: &str, name: &str) -> Option<Request> {
    let named = left == name && !form.text(name).is_empty();
    named.then(|| format!("{}/{}", form.text(owner), form.text(name)).parse().ok().map(Request::CheckName)).flatten()
}

/// Returns the action of a submitted or checked form.
pub(crate) fn migrate_request(form: &Form) -> Result<Box<MigrateRepository>, (&'static str, String)> {
    let secret = form.text("auth_secret").to_owned();
    let (username, password, token) = match form.text("auth") {
        "token" if secret.is_empty() => return Err(("auth_secret", "required to sign in with a token".to_owned())),
        "token" => (String::new(), String::new(), secret),
        "user and password" if form.text("auth_username").is_empty() => {
            return Err(("auth_username", "required to sign in with a password".to_owned()));
        }
        "user and password" => (form.text("auth_username").to_owned(), secret, String::new()),
        _ => Default::default(),
    };
    Ok(Box::new(MigrateRepository {
        clone_addr: form.text("clone_addr").to_owned(),
        repo_owner: form.text("repo_owner").to_owned(),
        repo_name: form.text("repo_name").to_owned(),
        private: is_private(form),
        description: form.text("description").to_owned(),
        auth_username: username,
        auth_password: password,
        auth_token: token,
        ..MigrateRepository::default()
    }))
}

/// Returns the form for a new branch that starts at `from`.
pub(super) fn create_branch(path: RepositoryPath, from: &str) -> Form {
    let fields = vec![
        Field::line("new_branch_name", "Name", "").required(),
        Field::line("old_ref_name", "From", from).required().help("a branch, a tag or a commit"),
    ];
    Form::new(format!("New branch in {path}"), "Create", FormKind::CreateBranch(path), fields)
}

/// Returns the request of the form for a new branch.
pub(crate) fn create_branch_request(path: &RepositoryPath, form: &Form) -> Request {
    let request = CreateBranch {
        new_branch_name: form.text("new_branch_name").to_owned(),
        old_ref_name: form.text("old_ref_name").to_owned(),
        ..CreateBranch::default()
    };
    Request::CreateBranch(path.clone(), Box::new(request))
}

/// Returns the form for a new tag of the commit that `target` names.
pub(super) fn create_tag(path: RepositoryPath, target: &str) -> Form {
    let fields = vec![
        Field::line("tag_name", "Name", "").required().help("such as v1.2.0"),
        Field::line("target", "Target", target).required().help("a branch, a tag or a commit"),
        Field::line("message", "Message", "").help("creates an annotated tag; empty: a lightweight tag"),
    ];
    Form::new(format!("New tag in {path}"), "Create", FormKind::CreateTag(path), fields)
}

/// Returns the request of the form for a new tag.
pub(crate) fn create_tag_request(path: &RepositoryPath, form: &Form) -> Request {
    let request = CreateTag {
        tag_name: form.text("tag_name").to_owned(),
        target: form.text("target").to_owned(),
        message: form.text("message").to_owned(),
    };
    Request::CreateTag(path.clone(), Box::new(request))
}
