//! Actions on deliveries, with their confirmations, menus and notices.

use std::collections::BTreeMap;

use farrier_common::{api::DeliveryDetail, client::HookOwner};

use super::{
    Deliveries,
    choice::HooksMenu,
    replay::{self, ReplaySource},
    rows as delivery_rows, short,
    signature::{self, SignedText},
    text::{body, curl},
};
use crate::ui::screens::Screen as _;
use crate::ui::{
    bulk::{self, BulkAction},
    delivery::{DeliveryId, DeliverySummary},
    hook::HookSummary,
    keymap::Action,
    layer::{
        Layer, Menu,
        menu::{Item, Pick},
    },
    list::ListView as _,
    net::Request,
    world::{Cmd, Env, World},
};

impl Deliveries {
    pub(super) fn redeliver(&self, env: &mut Env) {
        let ids = self.rows.list.targets().into_iter().map(DeliverySummary::guid).collect();
        let question = self.redeliver_question(ids, env.world);
        env.open(question);
    }

    /// Returns the confirmation before deliveries are sent again, whether they are listed or not.
    pub(crate) fn redeliver_question(&self, ids: Vec<String>, world: &World) -> Layer {
        let notes = self.rows.list.hidden_note().into_iter().collect();
        redeliver_question(ids, self.rows.list.rows(), notes, world)
    }

    /// Requests all hooks, to offer them or their hosts in the menu when they are loaded.
    pub(super) fn list_hooks(&mut self, menu: HooksMenu, env: &mut Env) {
        if self.choosing.replace(menu).is_some() {
            // Parts of two responses would list hooks twice.
            env.push(Cmd::Cancel(Request::Hooks(HookOwner::Any)));
        }
        self.listed_hooks.clear();
        env.send(Request::Hooks(HookOwner::Any));
    }

    /// Opens the menu of the hosts of hooks, each with the number of its hooks.
    pub(super) fn offer_hosts(hooks: &[HookSummary], env: &mut Env) {
        let mut hosts: BTreeMap<String, usize> = BTreeMap::new();
        for host in hooks.iter().filter_map(|hook| host_of(hook.url())) {
            *hosts.entry(host).or_default() += 1;
        }
        let item = |(title, host): (String, String)| Item {
            key: None,
            title,
            off: None,
            pick: Pick::Do(Cmd::DeliveriesOfHost(host)),
        };
        let named = |(host, count): (String, usize)| (format!("{host}   {}", bulk::counted(count, "hook")), host);
        let all = std::iter::once(("All hosts".to_owned(), String::new())).chain(hosts.into_iter().map(named));
        env.open(Layer::Menu(Menu::new("Deliveries to", all.map(item).collect())));
    }

    /// Opens the menu of hooks with their URLs. If the hooks could not be listed, it offers the hooks of the loaded
    /// deliveries.
    pub(super) fn offer_hooks(&self, hooks: &[HookSummary], env: &mut Env) {
        let item = |(title, hook): (String, Option<u64>)| Item {
            key: None,
            title,
            off: None,
            pick: Pick::Do(Cmd::Deliveries(hook)),
        };
        let named = |hook: &HookSummary| {
            let title = format!("hook {:<5} {}   {}", hook.id, hook.url(), hook.owner());
            Some((title, Some(u64::try_from(hook.id).ok()?)))
        };
        let seen = self.hooks.iter().filter(|_| hooks.is_empty()).map(|id| (format!("hook {id}"), Some(*id)));
        let all = std::iter::once(("All hooks".to_owned(), None)).chain(hooks.iter().filter_map(named)).chain(seen);
        env.open(Layer::Menu(Menu::new("Deliveries of", all.map(item).collect())));
    }

    pub(super) fn offer_events(&self, env: &mut Env) {
        let item = |(title, event): (&str, &str)| Item {
            key: None,
            title: title.to_owned(),
            off: None,
            pick: Pick::Do(Cmd::DeliveriesOf(event.to_owned())),
        };
        let events = self.events.iter().map(|event| (event.as_str(), event.as_str()));
        let items = std::iter::once(("All events", "")).chain(events).map(item).collect();
        env.open(Layer::Menu(Menu::new("Deliveries of", items)));
    }

    pub(super) fn copy(&self, env: &mut Env) {
        let ids: Vec<String> = self.rows.list.targets().into_iter().map(DeliverySummary::guid).collect();
        let shown = self.inspector.detail.as_ref().filter(|detail| ids.first() == Some(&detail.delivery.guid));
        let texts = vec![
            ('i', "ID", ids.join("\n")),
            ('b', "body", shown.map(body).unwrap_or_default()),
            ('c', "curl", shown.map(curl).unwrap_or_default()),
        ];
        let title = if shown.is_some() { "Copy" } else { "Copy (open it first for body and curl)" };
        env.open(Layer::Menu(Menu::copies(title, texts)));
    }

    /// Asks for a secret to check the signature of the delivery under the cursor.
    pub(super) fn check_signature(&self, env: &mut Env) {
        match self.signed() {
            Ok((delivery, signed)) => env.open(Layer::Form(Box::new(signature::form(short(delivery), signed)))),
            Err(why) => env.warn(why),
        }
    }

    /// Returns the GUID of the delivery under the cursor and what its last request signed, or why there is nothing to
    /// check.
    pub(super) fn signed(&self) -> Result<(&str, SignedText), &'static str> {
        let detail = self.loaded()?;
        Ok((detail.delivery.guid.as_str(), SignedText::of(detail)?))
    }

    /// Returns the delivery under the cursor, or why it is not available.
    pub(super) fn loaded(&self) -> Result<&DeliveryDetail, &'static str> {
        let current = self.rows.list.current().ok_or("no delivery is open")?;
        // While the cursor moves, the inspector still has the delivery of an earlier row.
        let detail = self.inspector.detail.as_ref().filter(|detail| detail.delivery.guid == current.guid());
        detail.ok_or("the delivery is not loaded yet")
    }

    /// Opens the form for a replay of the delivery under the cursor.
    pub(super) fn replay(&self, action: Action, env: &mut Env) {
        let form = match self.loaded().map(ReplaySource::of) {
            Ok(source) if action == Action::EditPayload => replay::edit_form(source),
            Ok(source) => replay::form(source),
            Err(why) => return env.warn(why),
        };
        env.open(Layer::Form(Box::new(form)));
    }

    pub(super) fn redelivered(&mut self, each: &[(String, Option<String>)], env: &mut Env) {
        let failed: Vec<(String, String)> =
            each.iter().filter_map(|(id, error)| Some((id.clone(), error.clone()?))).collect();
        self.rows.list.mark_only(failed.iter().map(|(id, _)| DeliveryId::of(id)));
        bulk::report(each.len(), "delivery", "queued for redelivery", &failed, env);
        self.rows.stop(env);
        self.refresh(env);
    }
}

/// Returns the confirmation before deliveries are sent again. `known` are deliveries whose hooks and events can be
/// shown; `notes` are lines about the selection, such as which deliveries are left out.
pub(in crate::ui::screens) fn redeliver_question(
    ids: Vec<String>,
    known: &[DeliverySummary],
    notes: Vec<String>,
    world: &World,
) -> Layer {
    let name = |guid: &String| {
        let id = DeliveryId::of(guid);
        match known.iter().find(|one| one.id == id) {
            Some(one) => format!("{guid}   hook {}   {}", one.hook, delivery_rows::event(one)),
            None => guid.clone(),
        }
    };
    let bulk = BulkAction {
        verb: "Redeliver",
        noun: "delivery",
        names: ids.iter().map(name).collect(),
        effect: if ids.len() == 1 {
            "It is sent again with the same ID."
        } else {
            "They are sent again with the same IDs."
        },
        skipped: notes,
        ..BulkAction::default()
    };
    Layer::Confirm(bulk.question(Request::Redeliver(ids), world))
}

/// Returns the host of a URL, with its port if that is not the default of the scheme, as the daemon compares it.
pub(in crate::ui::screens) fn host_of(text: &str) -> Option<String> {
    let url = url::Url::parse(text).ok()?;
    let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
    (!host.is_empty()).then(|| host.to_owned())
}
