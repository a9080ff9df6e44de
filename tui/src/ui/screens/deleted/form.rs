//! The form that restores a deleted repository.

use farrier_common::api::RestoreRepository;

use crate::ui::screens::FormKind;
use crate::ui::{
    deleted::DeletedRepositorySummary,
    form::{Field, Form},
    net::Request,
};

/// Returns the form with the former owner and name. A former owner that no longer exists is left out.
pub(super) fn form(deleted: &DeletedRepositorySummary) -> Form {
    let (owner, name) = deleted.full_name().split_once('/').unwrap_or(("", deleted.full_name()));
    let owner = if deleted.owner_exists { owner } else { "" };
    let fields = vec![
        Field::line("owner", "Owner", owner).required().help("a user or an organization"),
        Field::line("name", "Name", name)
            .required()
            .checked(crate::ui::screens::repositories::form::name)
            .help("choose another one if it is taken by now"),
    ];
    let kind = FormKind::RestoreRepository(deleted.id, deleted.full_name().to_owned());
    Form::new(format!("Restore {}", deleted.full_name()), "Restore", kind, fields)
}

/// Returns what the form requests: a changed owner or name, otherwise the former ones.
pub(crate) fn request(id: i64, repository: &str, form: &Form) -> Request {
    let (owner, name) = repository.split_once('/').unwrap_or(("", repository));
    let changed = |field: &str, former: &str| Some(form.text(field).to_owned()).filter(|text| text != former);
    let target = RestoreRepository { owner: changed("owner", owner), name: changed("name", name) };
    Request::RestoreRepository { id, name: repository.to_owned(), target: Box::new(target) }
}
