//! Changes when artifacts expire: a menu of common times, and a form for any other time.

use farrier_common::api::EditArtifact;

use crate::ui::screens::FormKind;
use crate::{
    moment,
    output::counted,
    ui::{
        form::{Field, Form},
        key::Key,
        layer::{
            Layer, Menu,
            menu::{Item, Pick},
        },
        net::Request,
        world::{Cmd, World},
    },
};

/// Common times, with their keys.
const DAYS: [(char, i64); 4] = [('1', 1), ('7', 7), ('3', 30), ('9', 90)];

/// Opens the menu; `what` describes the artifacts `ids`.
pub(super) fn menu(ids: &[i64], what: &str, world: &World) -> Menu {
    let most = world.status.as_ref().map_or(0, |status| status.artifacts.max_retention_days);
    let item = |(key, days): (char, i64)| Item {
        key: Some(Key::Char(key)),
        title: format!("{} from now", counted(days, "day")),
        off: (most > 0 && days > most).then(|| format!("at most {}", counted(most, "day"))),
        pick: Pick::Do(Cmd::Send(edit_all(ids, &EditArtifact { days: Some(days), ..EditArtifact::default() }))),
    };
    let mut menu = Menu::new(format!("Set the expiry of {what}"), DAYS.map(item).into());
    menu.add(Item {
        key: Some(Key::Char('o')),
        title: "Another time or number of days".to_owned(),
        off: None,
        pick: Pick::Do(Cmd::Open(Box::new(Layer::Form(Box::new(form(ids, what)))))),
    });
    menu
}

fn form(ids: &[i64], what: &str) -> Form {
    let field = Field::line("expires_at", "Expires", "")
        .required()
        .checked(|text| expiry(text).err())
        .help("days from now, or a time in UTC: 2026-12-31, 2026-12-31T18:00:00Z");
    Form::new(format!("Set the expiry of {what}"), "Set", FormKind::EditArtifacts(ids.to_vec()), vec![field])
}

/// Returns the request of a submitted form.
pub(crate) fn form_request(ids: &[i64], form: &Form) -> Result<Request, (&'static str, String)> {
    let request = expiry(form.text("expires_at")).map_err(|why| ("expires_at", why))?;
    Ok(edit_all(ids, &request))
}

fn expiry(text: &str) -> Result<EditArtifact, String> {
    if let Ok(days) = text.trim().parse() {
        return Ok(EditArtifact { days: Some(days), ..EditArtifact::default() });
    }
    Ok(EditArtifact {
        expires_at: Some(moment::read(text).map_err(|why| format!("{why}, or a number of days"))?),
        ..EditArtifact::default()
    })
}

fn edit_all(ids: &[i64], request: &EditArtifact) -> Request {
    Request::EditArtifacts(ids.iter().map(|id| (*id, request.clone())).collect())
}
