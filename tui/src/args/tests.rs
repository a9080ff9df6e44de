//! Command lines that users and scripts write.

use super::*;

fn parse(line: &str) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(line.split_whitespace())
}

#[test]
fn the_clap_definition_is_valid() {
    <Cli as clap::CommandFactory>::command().debug_assert();
}

/// Valid command lines.
const UNDERSTOOD: &[&str] = &[
    "farrier",
    "farrier --ascii --color false --read-only --socket /s",
    "farrier status --json",
    "farrier --socket /s status",
    "farrier status --url http://h --token-file f",
    "farrier user create a --email a@b.c --admin --password-stdin",
    "farrier log show --json",
    "farrier log set info,farrierd::http=debug",
    "farrier status --watch --jsonl",
    "farrier task list --json",
    "farrier task show 7",
    "farrier task wait 7 -q",
    "farrier task cancel 7",
    "farrier user list",
    "farrier user list text --json",
    "farrier user show a",
    "farrier user edit a --email e@x.y --admin false --active true --visibility limited --password-stdin",
    "farrier user edit a --rename b",
    "farrier user off a",
    "farrier user delete a --yes --purge",
    "farrier org list -q",
    "farrier org show o",
    "farrier org create o --owner a --full-name O --description d --visibility private",
    "farrier org delete o --yes",
    "farrier token list --user a --json",
    "farrier token revoke --user a ci",
    "farrier token create --user a --name n --scopes all",
    "farrier token create --user a --name n --scopes all --json --expires 30d",
    "farrier key list --limit 3 --jsonl",
    "farrier key list --user a",
    "farrier key add id.pub",
    "farrier key add - --title laptop --user a --json",
    "farrier key delete laptop --user a --yes",
    "farrier repo deploy-key list o/n -q",
    "farrier repo deploy-key add o/n id.pub --title ci --write",
    "farrier repo deploy-key delete o/n 7 --yes",
    "farrier repo protect list o/n --tags --json",
    "farrier repo protect add o/n release/** --push listed --users a,b --teams t --deploy-keys true --force nobody",
    "farrier repo protect add o/n main --files *.lock;a --except-files a/b --signed false --priority 2",
    "farrier repo protect add o/n v* --tags --users a",
    "farrier repo protect edit o/n main --force listed --force-users a --force-teams t",
    "farrier repo protect remove o/n main --yes",
    "farrier repo create o/n --private --description d --default-branch b",
    "farrier repo show o/n --json",
    "farrier repo list",
    "farrier repo list octo --jsonl",
    "farrier repo create o/n --init --readme Default --license MIT --gitignore Rust,Go --template",
    "farrier repo create o/n --object-format sha256",
    "farrier repo edit o/n --name m --archived true --private false --description=",
    "farrier repo delete o/n --yes",
    "farrier repo fork o/n",
    "farrier repo fork o/n --org acme --name m --json",
    "farrier repo sync-fork o/n",
    "farrier repo sync-fork o/n --branch main --ff-only -q",
    "farrier repo migrate http://h/a.git o/n --wait --private --username u --password-stdin",
    "farrier repo archive o/n",
    "farrier repo archive o/n --ref v1 --format tar.gz -o - --force",
    "farrier repo branches o/n --jsonl",
    "farrier release list o/n --limit 3 --json",
    "farrier release show o/n v1",
    "farrier release create o/n v1 --title t --notes n --target main --draft --prerelease --tag-message m",
    "farrier release create o/n v1 --notes-file f",
    "farrier release edit o/n v1 --rename v2 --draft false --prerelease true",
    "farrier release delete o/n v1 --yes",
    "farrier release upload o/n v1 a b",
    "farrier release download o/n v1 a -o dir/ --force",
    "farrier hook list",
    "farrier hook list --default --json",
    "farrier hook list --repo o/n",
    "farrier hook show 7 --org acme",
    "farrier hook create http://h/ --system --events push,create --branch-filter main --generate-secret",
    "farrier hook create http://h/ --repo o/n --type slack --set channel=#dev --inactive --json",
    "farrier hook edit 7 --name n --target http://h/ --events push --secret-stdin --clear authorization",
    "farrier hook on 7",
    "farrier hook off 7 --mine",
    "farrier hook test 7 --repo o/n",
    "farrier hook apply 7",
    "farrier hook delete 7 --yes",
    "farrier hook export --repo o/n",
    "farrier hook import hooks.json --repo o/n",
    "farrier events --follow --repo o/n --kind push,create --json",
    "farrier events --after 7 --limit 10",
    "farrier events --follow --last 10",
    "farrier ci begin --repo o/n --run 7 --job j --sha s --branch b --workflow w --json",
    "farrier ci end 7 --conclusion success",
    "farrier ci exec --repo o/n -- cmd --json -q",
    "farrier passwd --password-stdin --revoke-tokens",
    "farrier completion bash",
    "farrier man",
    "farrier man repo create",
    "farrier repo list --limit 5 --time iso",
    "farrier org list --limit 5 --time relative",
    "farrier task list --limit 1",
    "farrier token create --user a --name n --scopes all --repo o/n,o/m --repo o/p",
    "farrier repo create o/n --public",
    "farrier ci exec --repo o/n --grace 3 --report-timeout 5 -- cmd",
    "farrier run list --repo o/n --status in_progress --limit 5 --json",
    "farrier run show 7 --url https://forge.example --ca ca.pem",
    "farrier run cancel 7",
    "farrier artifact upload --name n --repo o/n --retention-days 5 --concurrency 2 a b",
    "farrier artifact list --repo o/n --run 7 --jsonl",
    "farrier artifact download 7 --repo o/n --run 7 -o d/ --no-extract",
    "farrier artifact download x -o d --extract --force",
    "farrier artifact delete 7 x --yes",
    "farrier artifact expire x --repo o/n --at 2026-12-31 --json",
    "farrier delivery list --failed --hook 7 --since 1h --json",
    "farrier delivery show x --request --response",
    "farrier delivery show x --body",
    "farrier delivery list --repo octo/demo",
    "farrier delivery redeliver x y",
    "farrier delivery redeliver --failed --hook 7 --since 1h --yes",
    "farrier delivery recover 7 --since 2026-01-02 --yes",
    "farrier repo list --color always",
    "farrier artifact list --limit 5",
    "farrier --screen Hooks",
    "farrier config check",
    "farrier --screen hooks --color 256 --slow --mouse --ascii --read-only",
    "farrier hook list --read-only",
];

#[test]
fn valid_command_lines_are_parsed() {
    for line in UNDERSTOOD {
        parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
}

#[test]
fn invalid_arguments_are_usage_errors() {
    let lines = [
        "farrier nonsense",
        "farrier task cancel x",
        "farrier user",
        "farrier user create a",
        "farrier user edit a --admin maybe",
        "farrier org create o --visibility odd",
        "farrier token revoke ci",
        "farrier key add",
        "farrier repo deploy-key add o/n",
        "farrier token create --user a --name n",
        "farrier repo create justname",
        "farrier repo edit o/n --private maybe",
        "farrier repo migrate http://h/a.git",
        "farrier repo archive o/n --format rar",
        "farrier hook create",
        "farrier hook create http://h/ --system --default",
        "farrier hook create http://h/ --set nonsense",
        "farrier hook create http://h/ --generate-secret --secret-stdin",
        "farrier hook delete x --yes",
        "farrier events --limit x",
        "farrier ci begin",
        "farrier ci begin --repo o/n --run x",
        "farrier ci end 7 --conclusion maybe",
        "farrier ci exec --repo o/n",
        "farrier run cancel",
        "farrier completion nonsense",
        "farrier repo list --limit 0",
        "farrier status --time odd",
        "farrier token create --user a --name n --scopes all --repo justname",
        "farrier run list --status odd",
        "farrier run list --limit 0",
        "farrier artifact upload",
        "farrier artifact upload --concurrency 0 a",
        "farrier artifact delete",
        "farrier artifact expire 7",
        "farrier artifact expire --days 3",
        "farrier artifact expire 7 --days 0",
        "farrier artifact expire 7 --days 3 --at 2026-12-31",
        "farrier delivery list --failed --status success",
        "farrier delivery redeliver",
        "farrier delivery redeliver x --failed",
        "farrier delivery redeliver --yes",
        "farrier delivery list --limit 0",
        "farrier delivery recover x",
        "farrier --socket /s --url http://h status",
        "farrier status --json -q",
        "farrier --screen nowhere",
        "farrier --color pink",
    ];
    for line in lines {
        let error = parse(line).expect_err(line);
        assert_eq!(error.exit_code(), 2, "{line}");
    }
}

#[test]
fn arguments_after_the_double_dash_are_the_command() {
    let cli = parse("farrier ci exec --repo o/n -- cmd --json -q --repo x").unwrap();
    let Some(Command::Ci(Ci::Exec(exec))) = cli.command else { panic!() };
    assert_eq!(exec.command, ["cmd", "--json", "-q", "--repo", "x"]);
    assert!(!cli.global.format.json);
}
