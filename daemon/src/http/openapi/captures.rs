//! Path parameters.

use serde_json::{Value, json};

/// The form of a path parameter.
#[derive(Clone, Copy)]
enum Kind {
    Number,
    Text,
    /// Text that matches this regular expression.
    Form(&'static str),
}
use Kind::{Form, Number, Text};

/// Path parameters by their name in the route table: name, description, form.
const CAPTURES: &[(&str, &str, Kind)] = &[
    ("owner", "Account or organization that owns the repository.", Text),
    ("repo", "Name of the repository.", Text),
    ("org", "Name of the organization.", Text),
    ("name", "Name of the account or organization.", Text),
    ("user", "Name of the account.", Text),
    ("team", "Number of the team.", Number),
    ("team_name", "Name of the team.", Text),
    ("token", "Number or name of the token.", Text),
    ("id", "Number of the object.", Number),
    ("delivery", "Identifier or number of the delivery.", Text),
    ("entry", "Number of the entry.", Number),
    ("run", "Number of the run.", Number),
    ("job", "Number of the job.", Number),
    ("task", "Number of the task.", Number),
    ("cron", "Name of the scheduled task.", Text),
    ("mirror", "Name of the push mirror.", Text),
    ("attempt", "Number of the attempt: always 1.", Number),
    ("key", "Key of the license.", Text),
    ("topic", "The topic.", Text),
    ("ref", "Branch, tag, id, or another git revision such as `main~1`.", Text),
    ("template", "Name of the template.", Text),
    ("sha", "Full id of the object.", Form("^([0-9a-f]{40}|[0-9a-f]{64})$")),
    ("*sha", "Branch, tag, id, or another git revision such as `main~1`.", Text),
    ("*branch", "Name of the branch.", Text),
    ("*tag", "Name of the tag.", Text),
    ("*rule", "Name of the rule.", Text),
    ("*prefix", "Prefix of the names, without `refs/`.", Text),
    ("*both", "Two revisions, separated by three dots.", Form("^.+\\.\\.\\..+$")),
    ("*path", "Path of the file or directory.", Text),
    ("asset", "Number of the file.", Number),
    ("uuid", "Identifier of the file.", Text),
    ("*file", "Name of the tag, a slash, and the name of the file.", Form("^.+/.+$")),
    ("*name", "A revision, followed by `.zip`, `.tar.gz` or `.bundle`.", Form("^.+\\.(zip|tar\\.gz|bundle)$")),
    ("*ref", "Branch, tag, id, or another git revision such as `main~1`.", Text),
];

/// Returns the parameter of the capture `name`.
pub(super) fn parameter(name: &str) -> Value {
    let known = CAPTURES.iter().find(|capture| capture.0 == name);
    let (_, about, kind) = known.copied().unwrap_or((name, "", Text));
    let schema = match kind {
        Number => json!({ "type": "integer", "format": "int64", "minimum": 1 }),
        Text => json!({ "type": "string", "minLength": 1 }),
        Form(pattern) => json!({ "type": "string", "pattern": pattern }),
    };
    let name = name.trim_start_matches('*');
    json!({ "name": name, "in": "path", "required": true, "description": about, "schema": schema })
}
