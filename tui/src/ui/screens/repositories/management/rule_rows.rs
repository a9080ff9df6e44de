//! Rules for branches and tags as rows of one list.

use std::borrow::Cow;

use farrier_common::api::{BranchProtection, TagProtection};

use crate::{
    rule_text,
    ui::{
        list::{CellText, Column, FilterColumn, Haystack, Row},
        net::ManagementRequest,
        times::Clock,
        view::Role,
        words,
    },
};

/// A rule of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::ui::screens) enum RuleRow {
    Branch(Box<BranchProtection>),
    Tag(Box<TagProtection>),
}

impl RuleRow {
    /// Returns the name or the glob of the branches or tags.
    pub(super) fn pattern(&self) -> &str {
        match self {
            Self::Branch(rule) => &rule.rule_name,
            Self::Tag(rule) => &rule.name_pattern,
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Branch(_) => "branch",
            Self::Tag(_) => "tag",
        }
    }

    pub(super) fn plural(&self) -> &'static str {
        match self {
            Self::Branch(_) => "branches",
            Self::Tag(_) => "tags",
        }
    }

    /// Returns the request that deletes the rule.
    pub(super) fn deletion(&self) -> ManagementRequest {
        match self {
            Self::Branch(rule) => ManagementRequest::DeleteBranchRule { id: rule.id, name: rule.rule_name.clone() },
            Self::Tag(rule) => ManagementRequest::DeleteTagRule { id: rule.id, pattern: rule.name_pattern.clone() },
        }
    }

    /// Returns the accounts that may push to the branches, or change the tags.
    fn pushers(&self) -> String {
        match self {
            Self::Branch(rule) => rule_text::pushers(rule),
            Self::Tag(rule) => rule_text::allowed(rule),
        }
    }

    /// Returns the accounts that may push with force. Rules for tags do not distinguish them.
    fn forcers(&self) -> String {
        match self {
            Self::Branch(rule) => rule_text::forcers(rule),
            Self::Tag(_) => String::new(),
        }
    }

    /// Returns the order in which the daemon applies rules: branch rules by priority, then tag rules.
    fn order(&self) -> (bool, i64) {
        match self {
            Self::Branch(rule) => (false, rule.priority),
            Self::Tag(rule) => (true, rule.id),
        }
    }

    /// Returns the settings that have an effect, one per line.
    pub(super) fn details(&self, clock: &Clock) -> String {
        let (created, changed) = match self {
            Self::Branch(rule) => (&rule.created_at, &rule.updated_at),
            Self::Tag(rule) => (&rule.created_at, &rule.updated_at),
        };
        let times = [("created", clock.stamp(created)), ("changed", clock.stamp(changed))];
        let own = match self {
            Self::Branch(rule) => vec![
                ("branches", rule.rule_name.clone()),
                ("priority", rule.priority.to_string()),
                ("push", self.pushers()),
                ("force", self.forcers()),
                ("files", rule.protected_file_patterns.clone()),
                ("except", rule.unprotected_file_patterns.clone()),
                ("signatures", if rule.require_signed_commits { "required" } else { "not required" }.to_owned()),
                ("warning", rule.warning.clone().unwrap_or_default()),
            ],
            Self::Tag(rule) => vec![("tags", rule.name_pattern.clone()), ("change", self.pushers())],
        };
        words::fields(own.into_iter().chain(times))
    }
}

static COLUMNS: [Column<RuleRow>; 6] = [
    Column {
        title: "RULE",
        width: 14,
        right: false,
        rank: 0,
        cell: |rule, _| CellText::plain(rule.pattern()),
        order: Some(|a, b| a.pattern().cmp(b.pattern())),
    },
    Column {
        title: "FOR",
        width: 6,
        right: false,
        rank: 1,
        cell: |rule, _| CellText::of(Role::Muted, rule.kind()),
        order: Some(|a, b| a.order().cmp(&b.order())),
    },
    Column {
        title: "PUSH",
        width: 12,
        right: false,
        rank: 2,
        cell: |rule, _| CellText::plain(rule.pushers()),
        order: None,
    },
    Column {
        title: "FORCE",
        width: 8,
        right: false,
        rank: 3,
        cell: |rule, _| CellText::plain(rule.forcers()),
        order: None,
    },
    Column {
        title: "SIGNED",
        width: 6,
        right: false,
        rank: 5,
        cell: |rule, _| {
            let is_required = matches!(rule, RuleRow::Branch(rule) if rule.require_signed_commits);
            CellText::plain(if is_required { "yes" } else { "" })
        },
        order: None,
    },
    Column {
        title: "FILES",
        width: 8,
        right: false,
        rank: 4,
        cell: |rule, _| match rule {
            RuleRow::Branch(rule) => CellText::plain(&*rule.protected_file_patterns),
            RuleRow::Tag(_) => CellText::plain(""),
        },
        order: None,
    },
];

impl Haystack for RuleRow {
    fn text(&self) -> Cow<'_, str> {
        format!("{} {} {} {}", self.kind(), self.pattern(), self.pushers(), self.forcers()).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "rule" => Some(self.pattern().to_owned()),
            "for" => Some(self.kind().to_owned()),
            "push" => Some(self.pushers()),
            "force" => Some(self.forcers()),
            _ => None,
        }
    }

    fn number(&self, _: &str) -> Option<i64> {
        None
    }
}

impl Row for RuleRow {
    type Id = (&'static str, i64);

    const LIST: &'static str = "rules";
    const COLUMNS: &'static [Column<Self>] = &COLUMNS;
    const FILTERS: &'static [FilterColumn] = &[
        FilterColumn::text("rule"),
        FilterColumn::text("for"),
        FilterColumn::text("push"),
        FilterColumn::text("force"),
    ];

    fn id(&self) -> (&'static str, i64) {
        match self {
            Self::Branch(rule) => (self.kind(), rule.id),
            Self::Tag(rule) => (self.kind(), rule.id),
        }
    }

    fn is_problem(&self) -> bool {
        matches!(self, Self::Branch(rule) if rule.warning.is_some())
    }
}
