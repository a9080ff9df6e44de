//! Compact representation of a user for lists.
//!
//! Contains all fields of the API. What users have in common is stored once: settings, and the beginnings of addresses.

use std::sync::Arc;

use farrier_common::api::User;

use super::{
    compact::{PackedTexts, SharedValues, short_seconds},
    words,
};

/// The places of texts among those of a user.
const LOGIN: usize = 0;
const FULL_NAME: usize = 1;
const EMAIL: usize = 2;

const ADMIN: u8 = 1;
const RESTRICTED: u8 = 2;
const ACTIVE: u8 = 4;
const NO_SIGN_IN: u8 = 8;
const MUST_CHANGE_PASSWORD: u8 = 16;

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UserSummary {
    pub(crate) id: i64,
    /// Login name, display name and email address.
    texts: PackedTexts<3>,
    kind: Arc<Kind>,
    about: Option<Arc<About>>,
    /// Seconds since 1970; 0 for none.
    last_login: u32,
    created: u32,
}

/// Values that many users have in common.
#[derive(Debug, PartialEq, Eq)]
struct Kind {
    login_name: String,
    source_id: i64,
    avatar: Address,
    page: Address,
    language: String,
    visibility: String,
    followers_count: i64,
    following_count: i64,
    starred_repos_count: i64,
    switches: u8,
}

/// Values that only few users have.
#[derive(Debug, Default, PartialEq, Eq)]
struct About {
    location: String,
    website: String,
    description: String,
}

/// An address of a user on the daemon.
#[derive(Debug, PartialEq, Eq)]
enum Address {
    /// What comes before the ID or the login name, which is its end.
    Before(String),
    Whole(String),
}

impl Address {
    fn of(whole: String, end: &str) -> Self {
        let before = whole.strip_suffix(end).map(str::to_owned);
        before.map_or(Self::Whole(whole), Self::Before)
    }

    fn with(&self, end: &str) -> String {
        match self {
            Self::Before(before) => format!("{before}{end}"),
            Self::Whole(whole) => whole.clone(),
        }
    }
}

impl UserSummary {
    pub(crate) fn login(&self) -> &str {
        self.texts.get(LOGIN)
    }

    /// Returns the display name; empty for none.
    pub(crate) fn full_name(&self) -> &str {
        self.texts.get(FULL_NAME)
    }

    pub(crate) fn email(&self) -> &str {
        self.texts.get(EMAIL)
    }

    pub(crate) fn is_admin(&self) -> bool {
        self.has(ADMIN)
    }

    /// Returns whether the user sees only what it was given access to.
    pub(crate) fn is_restricted(&self) -> bool {
        self.has(RESTRICTED)
    }

    pub(crate) fn is_active(&self) -> bool {
        self.has(ACTIVE)
    }

    /// Returns whether the user is not allowed to sign in.
    pub(crate) fn cannot_sign_in(&self) -> bool {
        self.has(NO_SIGN_IN)
    }

    fn has(&self, switch: u8) -> bool {
        self.kind.switches & switch != 0
    }

    /// Returns the time of the last sign-in in seconds since 1970; 0 for none.
    pub(crate) fn last_login(&self) -> i64 {
        self.last_login.into()
    }

    /// Returns the time of creation in seconds since 1970; 0 for none.
    pub(crate) fn created(&self) -> i64 {
        self.created.into()
    }

    /// Returns the user as the daemon sent it.
    pub(crate) fn user(&self) -> User {
        let none = About::default();
        let (kind, about) = (&self.kind, self.about.as_deref().unwrap_or(&none));
        User {
            id: self.id,
            login: self.login().to_owned(),
            login_name: kind.login_name.clone(),
            source_id: kind.source_id,
            full_name: self.full_name().to_owned(),
            email: self.email().to_owned(),
            avatar_url: kind.avatar.with(&self.id.to_string()),
            html_url: kind.page.with(self.login()),
            language: kind.language.clone(),
            is_admin: self.is_admin(),
            last_login: words::rfc3339(self.last_login()),
            created: words::rfc3339(self.created()),
            restricted: self.is_restricted(),
            active: self.is_active(),
            prohibit_login: self.cannot_sign_in(),
            location: about.location.clone(),
            website: about.website.clone(),
            description: about.description.clone(),
            visibility: kind.visibility.clone(),
            followers_count: kind.followers_count,
            following_count: kind.following_count,
            starred_repos_count: kind.starred_repos_count,
            // The API defines it as the same.
            username: self.login().to_owned(),
            must_change_password: self.has(MUST_CHANGE_PASSWORD),
        }
    }
}

/// Converts users to the compact form and shares common values.
#[derive(Debug, Default)]
pub(crate) struct UserCompactor {
    kinds: SharedValues<Kind>,
}

impl UserCompactor {
    pub(crate) fn compact(&mut self, user: User) -> UserSummary {
        let switches = [
            (user.is_admin, ADMIN),
            (user.restricted, RESTRICTED),
            (user.active, ACTIVE),
            (user.prohibit_login, NO_SIGN_IN),
            (user.must_change_password, MUST_CHANGE_PASSWORD),
        ];
        let about = About { location: user.location, website: user.website, description: user.description };
        UserSummary {
            id: user.id,
            texts: PackedTexts::of([&user.login, &user.full_name, &user.email]),
            last_login: short_seconds(&user.last_login),
            created: short_seconds(&user.created),
            about: (about != About::default()).then(|| Arc::new(about)),
            kind: self.kinds.share(Kind {
                login_name: user.login_name,
                source_id: user.source_id,
                avatar: Address::of(user.avatar_url, &user.id.to_string()),
                page: Address::of(user.html_url, &user.login),
                language: user.language,
                visibility: user.visibility,
                followers_count: user.followers_count,
                following_count: user.following_count,
                starred_repos_count: user.starred_repos_count,
                switches: switches.into_iter().filter_map(|(on, bit)| on.then_some(bit)).sum(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::compact::row_bytes, *};

    fn user(id: i64) -> User {
        let login = format!("design-system-{id}");
        User {
            id,
            full_name: format!("Mia Okafor {id}"),
            email: format!("{login}@example.org"),
            avatar_url: format!("https://forge.example.org/avatars/{id}"),
            html_url: format!("https://forge.example.org/{login}"),
            last_login: "2026-11-21T11:00:00Z".into(),
            created: "2026-01-02T03:04:05Z".into(),
            active: true,
            visibility: "public".into(),
            username: login.clone(),
            login,
            ..User::default()
        }
    }

    fn compacted(user: &User) -> UserSummary {
        UserCompactor::default().compact(user.clone())
    }

    #[test]
    fn a_user_is_returned_as_the_daemon_sent_it() {
        let other_addresses =
            User { avatar_url: "https://cdn.example.org/a.png".into(), html_url: String::new(), ..user(7) };
        let unusual = User {
            login_name: "cn=mia".into(),
            source_id: 3,
            language: "de".into(),
            is_admin: true,
            last_login: "0001-01-01T00:00:00Z".into(),
            restricted: true,
            active: false,
            prohibit_login: true,
            location: "Zürich".into(),
            website: "https://mia.example.org".into(),
            description: "builds\nand deploys".into(),
            visibility: "private".into(),
            followers_count: 1,
            following_count: 2,
            starred_repos_count: 4,
            must_change_password: true,
            ..user(8)
        };
        let only_one = User { website: "https://mia.example.org".into(), ..user(9) };
        for sent in [user(6), other_addresses, unusual, only_one] {
            assert_eq!(compacted(&sent).user(), sent);
        }
    }

    #[test]
    fn each_switch_of_a_user_is_kept() {
        let none = User { active: false, ..user(1) };
        let switches = |user: &UserSummary| {
            [
                user.is_admin(),
                user.is_restricted(),
                user.is_active(),
                user.cannot_sign_in(),
                user.user().must_change_password,
            ]
        };
        assert_eq!(switches(&compacted(&none)), [false; 5]);
        let each: [fn(&mut User); 5] = [
            |user| user.is_admin = true,
            |user| user.restricted = true,
            |user| user.active = true,
            |user| user.prohibit_login = true,
            |user| user.must_change_password = true,
        ];
        for (at, set) in each.into_iter().enumerate() {
            let mut one = none.clone();
            set(&mut one);
            let expected: [bool; 5] = std::array::from_fn(|switch| switch == at);
            assert_eq!(switches(&compacted(&one)), expected);
        }
    }

    #[test]
    fn a_changed_user_differs_from_the_older_one() {
        let changes: [fn(&mut User); 4] = [
            |user| user.full_name.push('x'),
            |user| user.active = false,
            |user| user.description.push('x'),
            |user| user.last_login = "2026-11-21T11:00:01Z".into(),
        ];
        for change in changes {
            let mut changed = user(7);
            change(&mut changed);
            assert_ne!(compacted(&changed), compacted(&user(7)));
        }
        assert_eq!(compacted(&user(7)), compacted(&user(7)));
    }

    #[test]
    fn a_user_of_a_long_list_needs_at_most_180_bytes() {
        let mut compactor = UserCompactor::default();
        let (one, other) = (compactor.compact(user(12_345)), compactor.compact(user(12_346)));
        assert!(Arc::ptr_eq(&one.kind, &other.kind) && one.about.is_none());
        let bytes = row_bytes::<UserSummary>(&[one.texts.heap_bytes()]);
        assert!(bytes <= 180, "{bytes} bytes a row");
    }
}
