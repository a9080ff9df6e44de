//! The form for a new branch.

use farrier_common::{api::CreateBranch, client::RepositoryPath};

use crate::ui::screens::FormKind;
use crate::ui::{
    form::{Field, Form},
    net::Ask,
};

pub(super) fn create(path: RepositoryPath, from: &str) -> Form {
    let fields = vec![
        Field::line("new_branch_name", "Name", "").required(),
        Field::line("old_ref_name", "From", from).required().help("a branch, a tag or a commit"),
    ];
    Form::new(format!("New branch in {path}"), "Create", FormKind::CreateBranch(path), fields)
}

pub(crate) fn ask(path: &RepositoryPath, form: &Form) -> Ask {
    let wanted = CreateBranch {
        new_branch_name: form.text("new_branch_name").to_owned(),
        old_ref_name: form.text("old_ref_name").to_owned(),
        ..CreateBranch::default()
    };
    Ask::CreateBranch(path.clone(), Box::new(wanted))
}
