//! Lists accounts, filtered, sorted and paged.

use std::cmp::Ordering;

use farrier_proto::store::{User, Visibility};

use crate::{
    service::{Error, viewer::Viewer},
    store::{
        Read,
        owners::{self, Owner},
    },
};

/// Accounts to read per scan.
const BATCH: usize = 1_000;

/// Which accounts a list contains. `None` means any value.
#[derive(Clone, Debug, Default)]
pub struct AccountFilter {
    /// A part of the name, the full name or, with `in_email`, the e-mail address.
    pub text: Option<String>,
    /// Whether to search e-mail addresses. Only for callers who may see them.
    pub in_email: bool,
    /// Whether the text is also searched in hidden e-mail addresses.
    pub in_hidden_email: bool,
    /// The id.
    pub id: Option<u64>,
    /// Whether the account is active.
    pub active: Option<bool>,
    /// Whether it is a site administrator.
    pub admin: Option<bool>,
    /// Whether it is restricted to what it has explicit access to.
    pub restricted: Option<bool>,
    /// Whether it is prohibited from signing in.
    pub prohibited: Option<bool>,
    /// Its visibility.
    pub visibility: Option<Visibility>,
}

/// The sort order of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccountOrder {
    /// By id.
    #[default]
    Id,
    /// By name, ignoring case.
    Name,
    /// By creation time.
    Created,
    /// By time of the last change.
    Updated,
}

impl AccountFilter {
    fn matches(&self, user: &User) -> bool {
        let is = |expected: Option<bool>, actual: bool| expected.is_none_or(|expected| expected == actual);
        is(self.active, !user.inactive)
            && is(self.admin, user.admin)
            && is(self.restricted, user.restricted)
            && is(self.prohibited, user.prohibit_login)
            && self.id.is_none_or(|id| id == user.id)
            && self.visibility.is_none_or(|visibility| visibility == user.visibility())
            && self.text.as_deref().is_none_or(|text| self.contains_text(text, user))
    }

    fn contains_text(&self, text: &str, user: &User) -> bool {
        let text = text.to_lowercase();
        let within = |field: &str| field.to_lowercase().contains(&text);
        within(&user.name)
            || within(&user.full_name)
            || (self.in_email && (self.in_hidden_email || !user.hide_email) && within(&user.email))
    }
}

impl AccountOrder {
    fn compare(self, left: &User, right: &User) -> Ordering {
        let by_id = left.id.cmp(&right.id);
        match self {
            Self::Id => by_id,
            Self::Name => left.name.to_lowercase().cmp(&right.name.to_lowercase()),
            Self::Created => left.created_ms.cmp(&right.created_ms).then(by_id),
            Self::Updated => left.updated_ms.cmp(&right.updated_ms).then(by_id),
        }
    }
}

/// Returns a page of the accounts that `viewer` sees and `filter` matches, and the total number of these.
pub async fn list(
    read: &impl Read,
    viewer: &Viewer,
    filter: &AccountFilter,
    (order, reverse): (AccountOrder, bool),
    (skip, limit): (u64, usize),
) -> Result<(Vec<User>, u64), Error> {
    let mut found = Vec::new();
    let mut next = None;
    loop {
        let (rows, after) = owners::users_batch(read, next.as_deref(), BATCH).await?;
        let matching = rows.into_iter().filter(|user| filter.matches(user));
        found.extend(matching.map(Owner::User).filter(|owner| viewer.sees(owner)).filter_map(|owner| match owner {
            Owner::User(user) => Some(user),
            Owner::Org(_) => None,
        }));
        match after {
            Some(_) => next = after,
            None => break,
        }
    }
    found.sort_by(|left, right| if reverse { order.compare(right, left) } else { order.compare(left, right) });
    let total = found.len() as u64;
    let skip = usize::try_from(skip).unwrap_or(usize::MAX);
    Ok((found.into_iter().skip(skip).take(limit).collect(), total))
}
