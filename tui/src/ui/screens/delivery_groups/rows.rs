//! Groups of deliveries as rows.

use std::borrow::Cow;

use farrier_common::api::DeliveryGroup;

use crate::ui::{
    list::{CellText, Column, FilterColumn, Haystack, Row},
    view::Role,
    words,
};

/// Returns the hook of a group of one hook; `None` for a group of a reason or a host.
pub(super) fn hook(group: &DeliveryGroup) -> Option<u64> {
    group.key.parse().ok()
}

/// Returns whether it is the group of a hook that was deleted. Its deliveries cannot be sent again.
pub(super) fn is_of_deleted_hook(group: &DeliveryGroup) -> bool {
    hook(group).is_some() && group.host.is_none()
}

/// Returns the hook with the host of its URL, or the reason or host of the group.
pub(super) fn name(group: &DeliveryGroup) -> String {
    match (hook(group), &group.host) {
        (Some(id), Some(host)) => format!("hook {id}   {host}"),
        (Some(id), None) => format!("hook {id}   deleted"),
        (None, _) => group.key.clone(),
    }
}

static COLUMNS: [Column<DeliveryGroup>; 7] = [
    Column {
        title: "GROUP",
        width: 26,
        right: false,
        rank: 0,
        cell: |group, _| CellText::plain(name(group)),
        order: Some(|a, b| name(a).cmp(&name(b))),
    },
    Column {
        title: "FAILED",
        width: 6,
        right: true,
        rank: 0,
        cell: |group, _| {
            let role = if group.failed > 0 { Role::Error } else { Role::Muted };
            CellText::of(role, words::count(group.failed))
        },
        order: Some(|a, b| b.failed.cmp(&a.failed)),
    },
    Column {
        title: "WAITS",
        width: 5,
        right: true,
        rank: 3,
        cell: |group, _| CellText::plain(words::count(group.pending)),
        order: Some(|a, b| b.pending.cmp(&a.pending)),
    },
    Column {
        title: "ALL",
        width: 6,
        right: true,
        rank: 1,
        cell: |group, _| CellText::plain(words::count(group.count)),
        order: Some(|a, b| b.count.cmp(&a.count)),
    },
    Column {
        title: "HOOKS",
        width: 5,
        right: true,
        rank: 4,
        cell: |group, _| CellText::plain(words::count(group.hook_count)),
        order: Some(|a, b| b.hook_count.cmp(&a.hook_count)),
    },
    Column {
        title: "FIRST",
        width: 5,
        right: true,
        rank: 5,
        cell: |group, clock| CellText::plain(clock.age(&group.first_at)),
        order: None,
    },
    Column {
        title: "LAST",
        width: 5,
        right: true,
        rank: 2,
        cell: |group, clock| CellText::plain(clock.age(&group.last_at)),
        order: Some(|a, b| words::seconds(&b.last_at).cmp(&words::seconds(&a.last_at))),
    },
];

impl Haystack for DeliveryGroup {
    fn text(&self) -> Cow<'_, str> {
        name(self).into()
    }

    fn column(&self, _: &str) -> Option<String> {
        None
    }

    fn number(&self, name: &str) -> Option<i64> {
        match name {
            "failed" => Some(self.failed),
            "all" => Some(self.count),
            "last" => words::seconds_since(&self.last_at, crate::clock::now()),
            _ => None,
        }
    }
}

impl Row for DeliveryGroup {
    type Id = String;

    const COLUMNS: &'static [Column<Self>] = &COLUMNS;
    const FILTERS: &'static [FilterColumn] =
        &[FilterColumn::count("failed"), FilterColumn::count("all"), FilterColumn::age("last")];

    fn id(&self) -> String {
        self.key.clone()
    }

    fn is_problem(&self) -> bool {
        self.failed > 0
    }

    fn ages() -> &'static [&'static str] {
        &["FIRST", "LAST"]
    }
}
