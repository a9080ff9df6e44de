//! Compact representation of an organization for lists.
//!
//! Contains what the list and the form of an organization need.

use std::sync::Arc;

use farrier_common::api::Organization;

use super::{
    compact::{PackedTexts, SharedValues, short_seconds},
    words,
};

/// The places of texts among those of an organization.
const NAME: usize = 0;
const FULL_NAME: usize = 1;
const DESCRIPTION: usize = 2;
const EMAIL: usize = 3;

/// An organization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OrganizationSummary {
    pub(crate) id: i64,
    /// Name, display name, description and email address.
    texts: PackedTexts<4>,
    visibility: Arc<str>,
    rare: Option<Arc<Rare>>,
    /// Seconds since 1970; 0 for none.
    created: u32,
}

/// Values that only few organizations have.
#[derive(Debug, Default, PartialEq, Eq)]
struct Rare {
    website: String,
    location: String,
}

impl OrganizationSummary {
    pub(crate) fn name(&self) -> &str {
        self.texts.get(NAME)
    }

    /// Returns the display name; empty for none.
    pub(crate) fn full_name(&self) -> &str {
        self.texts.get(FULL_NAME)
    }

    pub(crate) fn description(&self) -> &str {
        self.texts.get(DESCRIPTION)
    }

    /// Returns who can see it: `public`, `limited` or `private`.
    pub(crate) fn visibility(&self) -> &str {
        &self.visibility
    }

    /// Returns the time of creation in seconds since 1970; 0 for none.
    pub(crate) fn created(&self) -> i64 {
        self.created.into()
    }

    /// Returns the organization with all fields that its form shows.
    pub(crate) fn editable(&self) -> Organization {
        let none = Rare::default();
        let rare = self.rare.as_deref().unwrap_or(&none);
        Organization {
            id: self.id,
            name: self.name().to_owned(),
            full_name: self.full_name().to_owned(),
            email: self.texts.get(EMAIL).to_owned(),
            description: self.description().to_owned(),
            website: rare.website.clone(),
            location: rare.location.clone(),
            visibility: self.visibility().to_owned(),
            created: words::rfc3339(self.created()),
            ..Organization::default()
        }
    }
}

/// Converts organizations to the compact form and shares common values.
#[derive(Debug, Default)]
pub(crate) struct OrganizationCompactor {
    visibilities: SharedValues<str>,
}

impl OrganizationCompactor {
    pub(crate) fn compact(&mut self, org: Organization) -> OrganizationSummary {
        let rare = Rare { website: org.website, location: org.location };
        OrganizationSummary {
            id: org.id,
            texts: PackedTexts::of([&org.name, &org.full_name, &org.description, &org.email]),
            visibility: self.visibilities.share_text(&org.visibility),
            rare: (rare != Rare::default()).then(|| Arc::new(rare)),
            created: short_seconds(&org.created),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::compact::row_bytes, *};

    fn organization() -> Organization {
        Organization {
            id: 12_345,
            name: "platform-team-12345".into(),
            full_name: "Platform Team".into(),
            description: "services of the edge".into(),
            visibility: "limited".into(),
            created: "2026-08-02T03:04:05Z".into(),
            ..Organization::default()
        }
    }

    #[test]
    fn compacting_preserves_the_fields_of_an_organization() {
        let unusual = Organization {
            email: "platform@example.org".into(),
            website: "https://platform.example.org".into(),
            location: "Zürich".into(),
            ..organization()
        };
        for sent in [organization(), unusual] {
            let one = OrganizationCompactor::default().compact(sent.clone());
            assert_eq!((one.id, one.name(), one.full_name()), (12_345, "platform-team-12345", "Platform Team"));
            assert_eq!((one.description(), one.visibility()), ("services of the edge", "limited"));
            assert_eq!(one.created(), words::seconds("2026-08-02T03:04:05Z"));
            assert_eq!(one.editable(), sent);
        }
    }

    #[test]
    fn an_organization_of_a_long_list_needs_at_most_180_bytes() {
        let mut compactor = OrganizationCompactor::default();
        let (one, other) = (compactor.compact(organization()), compactor.compact(organization()));
        assert!(Arc::ptr_eq(&one.visibility, &other.visibility) && one.rare.is_none());
        let bytes = row_bytes::<OrganizationSummary>(&[one.texts.heap_bytes()]);
        assert!(bytes <= 180, "{bytes} bytes a row");
    }
}
