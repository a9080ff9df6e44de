//! The forms for a new and for an existing organization, and the requests that they send.

use farrier_common::api::{CreateOrg, EditOrg, Organization};

use crate::ui::{
    form::{Field, Form},
    net::{OrganizationKey, OrganizationRequest, Request},
    screens::FormKind,
};

/// The choices of the visibility: everyone, signed-in users, or only members.
const VISIBILITIES: [&str; 3] = ["public", "limited", "private"];
/// Greatest lengths in characters, as the daemon checks them.
const NAME_MAX: usize = 40;
const FULL_NAME_MAX: usize = 100;
const LOCATION_MAX: usize = 50;
const TEXT_MAX: usize = 255;

fn too_long(text: &str, most: usize) -> Option<String> {
    let length = text.chars().count();
    (length > most).then(|| format!("{length} characters; at most {most}"))
}

/// Returns the error in the name of an organization.
fn name(text: &str) -> Option<String> {
    let is_word = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric());
    if !text.split(['-', '_', '.']).all(is_word) {
        return Some("only letters and digits, with single '-', '_' or '.' between them".to_owned());
    }
    too_long(text, NAME_MAX)
}

fn email(text: &str) -> Option<String> {
    if !text.contains('@') {
        return Some("not an email address; expected name@host".to_owned());
    }
    too_long(text, TEXT_MAX)
}

fn website(text: &str) -> Option<String> {
    if !["https://", "http://"].iter().any(|scheme| text.starts_with(scheme)) {
        return Some("not a web address; expected https://host".to_owned());
    }
    too_long(text, TEXT_MAX)
}

fn visibility(org: &Organization) -> usize {
    VISIBILITIES.iter().position(|word| *word == org.visibility).unwrap_or(0)
}

/// Returns the fields of both forms.
fn fields(org: &Organization) -> Vec<Field> {
    vec![
        Field::line("full_name", "Full name", &org.full_name).checked(|text| too_long(text, FULL_NAME_MAX)),
        Field::line("description", "Description", &org.description).checked(|text| too_long(text, TEXT_MAX)),
        Field::choice("visibility", "Visible to", &VISIBILITIES, visibility(org))
            .help("public: everyone; limited: signed-in users; private: only members"),
        Field::line("email", "Email", &org.email).checked(email),
        Field::line("website", "Website", &org.website).checked(website),
        Field::line("location", "Location", &org.location).checked(|text| too_long(text, LOCATION_MAX)),
    ]
}

/// Returns the form for a new organization.
pub(super) fn create() -> Form {
    let name =
        Field::line("username", "Name", "").required().checked(name).help("unique among users and organizations");
    let fields = std::iter::once(name).chain(fields(&Organization::default())).collect();
    Form::new("New organization", "Create", FormKind::CreateOrganization, fields)
}

/// Returns the form for an organization, which is filled again with its current fields.
pub(super) fn edit(org: &Organization) -> Form {
    let key = OrganizationKey { id: org.id, name: org.name.clone() };
    Form::new(format!("Edit {}", org.name), "Save", FormKind::EditOrganization(key), fields(org)).editing()
}

/// Returns the values of an organization for the fields of its form.
pub(in crate::ui::screens) fn values(org: &Organization) -> Vec<(&'static str, String)> {
    let texts = [
        ("full_name", &org.full_name),
        ("description", &org.description),
        ("email", &org.email),
        ("website", &org.website),
        ("location", &org.location),
    ];
    let mut values: Vec<_> = texts.into_iter().map(|(name, text)| (name, text.trim().to_owned())).collect();
    values.push(("visibility", VISIBILITIES[visibility(org)].to_owned()));
    values
}

/// Returns the request of the form for a new organization.
pub(in crate::ui::screens) fn create_request(form: &Form) -> Request {
    let text = |name: &str| form.text(name).to_owned();
    let request = CreateOrg {
        username: text("username"),
        full_name: text("full_name"),
        email: text("email"),
        description: text("description"),
        website: text("website"),
        location: text("location"),
        visibility: text("visibility"),
        ..CreateOrg::default()
    };
    Request::Organization(OrganizationRequest::Create(None, Box::new(request)))
}

/// Returns a request with only the fields that differ from the organization.
pub(in crate::ui::screens) fn edit_request(
    key: &OrganizationKey,
    form: &Form,
) -> Result<Request, (&'static str, String)> {
    let text = |name: &str| form.is_changed(name).then(|| form.text(name).to_owned());
    let request = EditOrg {
        full_name: text("full_name"),
        email: text("email"),
        description: text("description"),
        website: text("website"),
        location: text("location"),
        visibility: text("visibility"),
        repo_admin_change_team_access: None,
    };
    if request == EditOrg::default() {
        return Err(("", "Nothing was changed.".to_owned()));
    }
    Ok(Request::Organization(OrganizationRequest::Edit(key.clone(), Box::new(request))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_single_signs_between_letters_and_digits() {
        for valid in ["acme", "a-b_c.d", "7"] {
            assert_eq!(name(valid), None, "{valid}");
        }
        let long = "a".repeat(NAME_MAX + 1);
        for invalid in ["-acme", "acme.", "a--b", "a b", "a/b", "ä", long.as_str()] {
            assert!(name(invalid).is_some(), "{invalid}");
        }
    }

    #[test]
    fn web_and_email_addresses_are_checked() {
        assert_eq!((email("a@b"), website("https://acme.example.org")), (None, None));
        for invalid in ["javascript:alert(1)", "acme.example.org", "ftp://host"] {
            assert!(website(invalid).is_some(), "{invalid}");
        }
        assert!(email("acme").is_some());
    }
}
