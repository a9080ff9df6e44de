//! What can be done with deliveries, each with its question or its menu, and what came of it.

use super::{
    Screen as _,
    deliveries::Deliveries,
    delivery_rows,
    delivery_text::{body, curl},
    named_first,
};
use crate::ui::{
    layer::{
        Confirm, Layer, Menu,
        menu::{Item, Pick},
    },
    net::Ask,
    world::{Cmd, Env},
};

/// More than these at once want their number typed.
const REDELIVER_MAX: usize = 20;

impl Deliveries {
    pub(super) fn redeliver(&self, env: &mut Env) {
        let ids: Vec<String> = self.rows.list.targets().into_iter().map(|one| one.guid.clone()).collect();
        let named = self.rows.list.targets().into_iter();
        let mut lines = named_first(
            named.map(|one| format!("{}   hook {}   {}", one.guid, one.hook_id, delivery_rows::event(one))),
        );
        lines.push("The receiver gets them once more, under the same identifiers.".to_owned());
        let (title, count) = (format!("Deliver {} again", ids.len()), ids.len());
        let ask = Ask::Redeliver(ids);
        let question = if count > REDELIVER_MAX {
            Confirm::typed(title, lines, "Deliver", count.to_string(), ask, env.world)
        } else {
            Confirm::simple(title, lines, "Deliver", ask, env.world)
        };
        env.open(Layer::Confirm(question));
    }

    pub(super) fn choose_hook(&self, env: &mut Env) {
        let item = |(title, hook): (String, Option<u64>)| Item {
            key: None,
            title,
            off: None,
            pick: Pick::Do(Cmd::Deliveries(hook)),
        };
        let hooks = self.hooks.iter().map(|id| (format!("hook {id}"), Some(*id)));
        let items = std::iter::once(("all hooks".to_owned(), None)).chain(hooks).map(item).collect();
        env.open(Layer::Menu(Menu::new("Deliveries of", items)));
    }

    pub(super) fn offer_events(&self, env: &mut Env) {
        let item = |(title, event): (&str, &str)| Item {
            key: None,
            title: title.to_owned(),
            off: None,
            pick: Pick::Do(Cmd::DeliveriesOf(event.to_owned())),
        };
        let events = self.events.iter().map(|event| (event.as_str(), event.as_str()));
        let items = std::iter::once(("all events", "")).chain(events).map(item).collect();
        env.open(Layer::Menu(Menu::new("Deliveries of", items)));
    }

    pub(super) fn copy(&self, env: &mut Env) {
        let ids: Vec<String> = self.rows.list.targets().into_iter().map(|one| one.guid.clone()).collect();
        let shown = self.inspector.detail.as_ref().filter(|detail| ids.first() == Some(&detail.delivery.guid));
        let texts = vec![
            ('i', "identifier", ids.join("\n")),
            ('b', "body", shown.map(body).unwrap_or_default()),
            ('c', "curl", shown.map(curl).unwrap_or_default()),
        ];
        let title = if shown.is_some() { "Copy" } else { "Copy (Enter first: body and curl)" };
        env.open(Layer::Menu(Menu::copies(title, texts)));
    }

    pub(super) fn redelivered(&mut self, each: &[(String, Option<String>)], env: &mut Env) {
        let failed: Vec<&(String, Option<String>)> = each.iter().filter(|(_, error)| error.is_some()).collect();
        self.rows.list.mark_only(failed.iter().map(|(id, _)| id.clone()));
        match failed.first() {
            None => env.tell(format!("{} in line to be delivered again", each.len())),
            Some((_, error)) => env.warn(format!(
                "{} in line, {} refused and stay marked: {}",
                each.len() - failed.len(),
                failed.len(),
                error.as_deref().unwrap_or_default()
            )),
        }
        self.rows.stop(env);
        self.refresh(env);
    }
}
