//! Lists of accounts: filtered, sorted, paged.

use std::cmp::Ordering;

use farrier_proto::store::{User, Visibility};

use crate::{
    service::{Error, viewer::Viewer},
    store::{Read, owners::Owner, users},
};

/// Accounts that are read at a time.
const PIECE: usize = 1_000;

/// Which accounts a list shows. What is `None` does not matter.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// A part of the name, the name for display or, for administrators, the address.
    pub text: Option<String>,
    /// Whether addresses are searched, too.
    pub in_email: bool,
    /// One number.
    pub id: Option<u64>,
    /// Whether it may be used.
    pub active: Option<bool>,
    /// Whether it administers the site.
    pub admin: Option<bool>,
    /// Whether it sees only what it is given.
    pub restricted: Option<bool>,
    /// Whether signing in is closed.
    pub prohibited: Option<bool>,
    /// Who sees it.
    pub visibility: Option<Visibility>,
}

/// What a list is sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Number.
    #[default]
    Id,
    /// Name, in any case.
    Name,
    /// When it was made.
    Created,
    /// When it was changed.
    Updated,
}

impl Filter {
    fn keeps(&self, user: &User) -> bool {
        let is = |wanted: Option<bool>, found: bool| wanted.is_none_or(|wanted| wanted == found);
        is(self.active, !user.inactive)
            && is(self.admin, user.admin)
            && is(self.restricted, user.restricted)
            && is(self.prohibited, user.prohibit_login)
            && self.id.is_none_or(|id| id == user.id)
            && self.visibility.is_none_or(|visibility| visibility == user.visibility())
            && self.text.as_deref().is_none_or(|text| self.finds(text, user))
    }

    fn finds(&self, text: &str, user: &User) -> bool {
        let text = text.to_lowercase();
        let within = |field: &str| field.to_lowercase().contains(&text);
        within(&user.name) || within(&user.full_name) || (self.in_email && within(&user.email))
    }
}

impl Order {
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

/// A page of the accounts that `viewer` sees and `filter` keeps, and how many there are.
pub async fn list(
    read: &impl Read,
    viewer: &Viewer,
    filter: &Filter,
    (order, reverse): (Order, bool),
    (skip, limit): (u64, usize),
) -> Result<(Vec<User>, u64), Error> {
    let mut found = Vec::new();
    let mut next = None;
    loop {
        let (rows, after) = users::batch(read, next.as_deref(), PIECE).await?;
        let kept = rows.into_iter().filter(|user| filter.keeps(user));
        found.extend(kept.map(Owner::User).filter(|owner| viewer.sees(owner)).filter_map(|owner| match owner {
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
