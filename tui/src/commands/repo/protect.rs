//! `farrier repo protect`: lists, adds, changes and deletes rules that protect branches and tags.

use farrier_common::{
    api::{BranchProtection, ChangeBranchProtection, ChangeTagProtection, TagProtection},
    client::{Client, RepositoryPath},
};
use serde::Serialize;

use super::super::{
    confirm,
    list::{self, Listed},
};
use crate::{
    args::{Protect, RuleArgs, RuleFields},
    exit::Failure,
    output::{Output, Table},
    rule_text,
};

#[derive(Serialize)]
struct Rules<T> {
    total_count: usize,
    rules: Vec<T>,
}

pub(super) async fn run(command: Protect, client: &Client, output: &Output) -> Result<(), Failure> {
    match command {
        Protect::List { repo, tags: false, limit } => {
            let all =
                client.branch_protections(&repo).await.map_err(Failure::call(format!("listing rules of {repo}")))?;
            let all = Listed::cut(all, limit.items());
            list::show(output, all, |rule| rule.rule_name.clone(), table, document)
        }
        Protect::List { repo, tags: true, limit } => {
            let all = Listed::cut(tag_rules(client, &repo).await?, limit.items());
            list::show(output, all, |rule| rule.name_pattern.clone(), tag_table, document)
        }
        Protect::Add { rule, fields } => add(rule, fields, client, output).await,
        Protect::Edit { rule, fields } => edit(rule, fields, client, output).await,
        Protect::Delete { rule, yes } => delete(rule, yes, client, output).await,
    }
}

fn document<T>(total_count: usize, rules: Vec<T>) -> Rules<T> {
    Rules { total_count, rules }
}

async fn add(rule: RuleArgs, fields: RuleFields, client: &Client, output: &Output) -> Result<(), Failure> {
    let RuleArgs { repo, pattern, tags } = rule;
    let doing = format!("adding the rule {pattern} to {repo}");
    if tags {
        let request = ChangeTagProtection { name_pattern: Some(pattern.clone()), ..fields.tag_request() };
        let added = client.add_tag_protection(&repo, &request).await.map_err(Failure::call(doing))?;
        return output.object(&added, &added.id.to_string(), || format!("Tags {pattern} of {repo} protected"));
    }
    let request = fields.new_branch_request(&pattern);
    let added = client.add_branch_protection(&repo, &request).await.map_err(Failure::call(doing))?;
    shown(&added, output, || format!("Branch {pattern} of {repo} protected"))
}

async fn edit(rule: RuleArgs, fields: RuleFields, client: &Client, output: &Output) -> Result<(), Failure> {
    let RuleArgs { repo, pattern, tags } = rule;
    let doing = format!("changing the rule {pattern} of {repo}");
    let done = || format!("Rule {pattern} of {repo} changed");
    if tags {
        let request = fields.tag_request();
        if request == ChangeTagProtection::default() {
            return Err(Failure::nothing_to_change("--users NAMES"));
        }
        let id = tag_rule(client, &repo, &pattern).await?.id;
        let changed = client.edit_tag_protection(&repo, id, &request).await.map_err(Failure::call(doing))?;
        return output.object(&changed, &changed.id.to_string(), done);
    }
    let request = fields.branch_request();
    if request == ChangeBranchProtection::default() {
        return Err(Failure::nothing_to_change("--push listed"));
    }
    let changed = client.edit_branch_protection(&repo, &pattern, &request).await.map_err(Failure::call(doing))?;
    shown(&changed, output, done)
}

async fn delete(rule: RuleArgs, yes: bool, client: &Client, output: &Output) -> Result<(), Failure> {
    let RuleArgs { repo, pattern, tags } = rule;
    let tag_rule = if tags { Some(tag_rule(client, &repo, &pattern).await?) } else { None };
    confirm::deletion(&format!("Rule {pattern} of {repo}"), &pattern, yes).await?;
    let result = match tag_rule {
        Some(rule) => client.delete_tag_protection(&repo, rule.id).await,
        None => client.delete_branch_protection(&repo, &pattern).await,
    };
    result.map_err(Failure::call(format!("deleting the rule {pattern} of {repo}")))?;
    let deleted = serde_json::json!({ "deleted": pattern });
    output.object(&deleted, &pattern, || format!("Rule {pattern} of {repo} deleted"))
}

fn shown(rule: &BranchProtection, output: &Output, text: impl FnOnce() -> String) -> Result<(), Failure> {
    output.object(rule, &rule.rule_name, || match &rule.warning {
        Some(warning) => format!("{}\nWarning: {warning}", text()),
        None => text(),
    })
}

async fn tag_rules(client: &Client, repo: &RepositoryPath) -> Result<Vec<TagProtection>, Failure> {
    client.tag_protections(repo).await.map_err(Failure::call(format!("listing rules of {repo}")))
}

/// Returns the tag rule with this pattern or, if there is none, with this ID.
async fn tag_rule(client: &Client, repo: &RepositoryPath, which: &str) -> Result<TagProtection, Failure> {
    let all = tag_rules(client, repo).await?;
    let by_pattern = all.iter().find(|rule| rule.name_pattern == which);
    let found = by_pattern.or_else(|| all.iter().find(|rule| rule.id.to_string() == which));
    found.cloned().ok_or_else(|| Failure::NotFound(format!("{repo} has no tag rule {which}")))
}

fn table(all: &[BranchProtection]) -> String {
    let mut table = Table::new(["PRIORITY", "RULE", "PUSH", "FORCE", "FILES"]);
    for rule in all {
        let (push, force) = (rule_text::pushers(rule), rule_text::forcers(rule));
        let files = rule.protected_file_patterns.clone();
        table.row([rule.priority.to_string(), rule.rule_name.clone(), push, force, files]);
    }
    table.render()
}

fn tag_table(all: &[TagProtection]) -> String {
    let mut table = Table::new(["ID", "RULE", "ALLOWED"]);
    for rule in all {
        table.row([rule.id.to_string(), rule.name_pattern.clone(), rule_text::allowed(rule)]);
    }
    table.render()
}
