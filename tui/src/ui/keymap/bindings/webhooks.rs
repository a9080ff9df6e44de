//! The bindings of hooks, deliveries, and groups of deliveries.

use super::{A, Binding, C, Key, O, S, bind};
use crate::ui::screens::ScreenId;

pub(super) const WEBHOOKS: &[Binding] = &[
    bind(S::Hooks, &[Key::Enter, C('l'), Key::Right], A::Open, "Show deliveries of the hook", "deliveries").of(O::Hook),
    bind(S::Hooks, &[C('n')], A::New, "Create a hook", "new").words("hook create").also("add make webhook").changes(),
    bind(S::Hooks, &[C('e')], A::Edit, "Edit the hook", "edit").words("hook edit").also("change").of(O::Hook).changes(),
    bind(S::Hooks, &[C('c')], A::Clone, "Copy the hook into a new form", "").also("duplicate").of(O::Hook).changes(),
    bind(S::Hooks, &[C('t')], A::Toggle, "Turn the hook on or off", "on/off")
        .also("toggle switch enable disable pause resume activate")
        .of(O::Hook)
        .changes(),
    bind(S::Hooks, &[], A::TurnOn, "Turn the hook on", "")
        .words("hook on")
        .also("enable activate resume")
        .of(O::Hook)
        .changes(),
    bind(S::Hooks, &[], A::TurnOff, "Turn the hook off", "")
        .words("hook off")
        .also("disable pause deactivate stop")
        .of(O::Hook)
        .changes(),
    bind(S::Hooks, &[C('T')], A::Test, "Send a test event", "test")
        .words("hook test")
        .also("ping try")
        .of(O::Hook)
        .changes(),
    bind(S::Hooks, &[C('A')], A::Apply, "Copy a default hook into repositories without it", "")
        .words("hook apply")
        .of(O::Hook)
        .changes(),
    bind(S::Hooks, &[C('y')], A::Copy, "Copy URL, ID or JSON", "copy").of(O::Hook),
    bind(S::Hooks, &[C('D')], A::Delete, "Delete the hook", "delete")
        .words("hook delete")
        .also("remove")
        .of(O::Hook)
        .changes(),
    bind(S::Hooks, &[C(']')], A::NextPart, "Next tab", ""),
    bind(S::Hooks, &[C('[')], A::PreviousPart, "Previous tab", ""),
    bind(S::Hooks, &[C('R')], A::Recover, "Redeliver failed deliveries of the hook", "")
        .words("delivery recover")
        .also("resend retry again replay")
        .of(O::Hook)
        .changes(),
    bind(S::Deliveries, &[Key::Enter, C('l'), Key::Right], A::Open, "Open the delivery", "open").of(O::Delivery),
    bind(S::Deliveries, &[C('R')], A::Redeliver, "Redeliver", "redeliver")
        .words("delivery redeliver")
        .also("resend retry again replay")
        .of(O::Delivery)
        .changes(),
    bind(S::Deliveries, &[C('H')], A::ChooseHook, "Filter by hook", "hook"),
    bind(S::Deliveries, &[C('O')], A::ChooseHost, "Filter by the host of the hook", "host").also("receiver domain"),
    bind(S::Deliveries, &[C('E')], A::ChooseEvent, "Filter by event", "event"),
    bind(S::Deliveries, &[C('o')], A::Screen(ScreenId::DeliveryGroups), "Group by hook, reason or host", "groups")
        .words("delivery groups")
        .also("triage cause latency chart results"),
    bind(S::Deliveries, &[C('y')], A::Copy, "Copy ID, body or a curl command", "").of(O::Delivery),
    bind(S::Deliveries, &[C(']')], A::NextPart, "Next tab", ""),
    bind(S::Deliveries, &[C('[')], A::PreviousPart, "Previous tab", ""),
    bind(
        S::DeliveryGroups,
        &[Key::Enter, C('l'), Key::Right],
        A::Open,
        "Show the deliveries of the group",
        "deliveries",
    ),
    bind(S::DeliveryGroups, &[C('R')], A::Recover, "Redeliver the group", "redeliver")
        .also("resend retry again replay")
        .changes(),
    bind(S::DeliveryGroups, &[C(']')], A::NextPart, "Group by hook, by reason or by host", "hook/reason/host"),
    bind(S::DeliveryGroups, &[C('[')], A::PreviousPart, "Previous grouping", ""),
    bind(S::DeliveryGroups, &[C('t')], A::NextSpan, "Chart of the last hour, day or week", "hour/day/week")
        .also("period span graph latency"),
    bind(S::DeliveryGroups, &[C('o')], A::Screen(ScreenId::Deliveries), "Show deliveries", "list"),
    bind(S::Inspector, &[C(']')], A::NextPart, "Next tab", "tab"),
    bind(S::Inspector, &[C('[')], A::PreviousPart, "Previous tab", ""),
    bind(S::Inspector, &[C('R')], A::Redeliver, "Redeliver", "redeliver")
        .also("resend retry again replay")
        .of(O::Delivery)
        .changes(),
    bind(S::Inspector, &[C('J')], A::NextItem, "Next delivery", "next"),
    bind(S::Inspector, &[C('K')], A::PreviousItem, "Previous delivery", ""),
    bind(S::Inspector, &[C('/')], A::Filter, "Search", "search").also("find"),
    bind(S::Inspector, &[C('n')], A::NextMatch, "Next match", ""),
    bind(S::Inspector, &[C('N')], A::PreviousMatch, "Previous match", ""),
    bind(S::Inspector, &[C('w')], A::Wrap, "Wrap long lines", "wrap"),
    bind(S::Inspector, &[C('b')], A::Hex, "Show bodies as text or bytes", "bytes").also("hex"),
    bind(S::Inspector, &[C('o')], A::Pager, "Open the body in $PAGER", "pager").also("less"),
    bind(S::Inspector, &[C('c')], A::CheckSignature, "Check the signature with a secret", "check signature")
        .also("verify hmac sha256"),
    bind(S::Inspector, &[C('P')], A::Replay, "Replay to another URL", "")
        .words("delivery replay")
        .also("send resend target receiver test")
        .of(O::Delivery)
        .changes(),
    bind(S::Inspector, &[C('E')], A::EditPayload, "Replay with an edited payload", "")
        .words("delivery replay --payload-file")
        .also("edit retry resend change body")
        .of(O::Delivery)
        .changes(),
    bind(S::Inspector, &[C('y')], A::Copy, "Copy ID, body or a curl command", "copy").of(O::Delivery),
];
