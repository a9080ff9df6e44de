//! Runs command lines of the palette, with the commands and flags of the shell.
//!
//! The clap definitions of the shell parse them. A line names the object that it acts on; the cursor is not used.

mod artifacts;
mod hooks;
mod organizations;
mod runs;
mod shell;
mod users;

use std::fmt::Display;

use clap::Parser as _;
use farrier_common::{api, client::RepositoryPath};

use super::{App, RequestOwner};
use crate::{
    args::{self, Cli, Command},
    ui::{
        keymap::Object,
        layer::Layer,
        net::{Existing, Request},
        screens::{GroupFilter, RepositoryTab, ScreenId, Screens},
        world::World,
    },
};

/// Why a line cannot be run.
type LineResult = Result<(), String>;

/// Returns whether a word is a command of the shell or an option.
fn is_command(word: &str) -> bool {
    use clap::CommandFactory as _;
    word.starts_with('-') || Cli::command().find_subcommand(word).is_some()
}

impl App {
    /// Runs a line. After an error nothing was done.
    pub(super) fn run_line(&mut self, line: &str) -> Result<(), String> {
        // The splitter takes a word that begins with # as a comment.
        if line.starts_with('#') {
            return self.jump(line);
        }
        let words = shlex::split(line).ok_or_else(|| "a quote is not closed".to_owned())?;
        let plain: Vec<&str> = words.iter().map(String::as_str).collect();
        match plain.as_slice() {
            ["time", style] => self.set_time_style(style),
            ["theme", name] => self.set_theme(name),
            ["connect", target] => self.connect(target)?,
            ["artifact" | "run", id] if id.parse::<i64>().is_ok() => {
                let id = id.parse().unwrap_or_default();
                if plain[0] == "run" {
                    self.show_run(id);
                } else {
                    self.show_artifacts(None, None);
                    self.screens.artifacts.show_artifact(id);
                }
            }
            ["commit", of, commit] => return self.show_commit(&parsed(of)?, commit),
            ["commits", of] => return self.show_tab(&parsed(of)?, RepositoryTab::Commits),
            ["collaborators", of] => return self.show_tab(&parsed(of)?, RepositoryTab::Collaborators),
            ["files", of, reference] => return self.show_files(&parsed(of)?, reference),
            ["artifacts", of] => self.show_artifacts(Some(parsed(of)?), None),
            [word] if !is_command(word) => return self.jump(word),
            _ => return self.shell_line(&words),
        }
        Ok(())
    }

    fn shell_line(&mut self, words: &[String]) -> LineResult {
        let line = std::iter::once("farrier").chain(words.iter().map(String::as_str));
        let cli = Cli::try_parse_from(line).map_err(|error| usage(&error))?;
        let args::Global { socket, url, context, ca, token_file, read_only, .. } = &cli.global;
        if url.is_some() || context.is_some() || [socket, ca, token_file].into_iter().any(Option::is_some) {
            return Err("the connection cannot be changed per command; use `connect NAME|PATH|URL`".to_owned());
        }
        // The requests of screens do not know this option of a single command.
        if *read_only {
            return self.shell_command(words);
        }
        let done = match cli.command {
            Some(Command::Status { .. }) => {
                self.go(ScreenId::Dashboard);
                Some(Ok(()))
            }
            Some(Command::Repo(command)) => self.repo_line(command),
            Some(Command::Hook(command)) => self.hook_line(command),
            Some(Command::Delivery(command)) => self.delivery_line(command),
            Some(Command::Artifact(command)) => self.artifact_line(command),
            Some(Command::Audit(args::Audit::Show { id })) => {
                self.go(ScreenId::Audit);
                self.filter(&format!("id:{id}"));
                Some(Ok(()))
            }
            Some(Command::Audit(args::Audit::List(list))) => self.show_audit(*list),
            Some(Command::Cache(args::Cache::List(list))) => {
                self.show_caches(&list);
                Some(Ok(()))
            }
            Some(Command::Run(command)) => self.run_command(command),
            Some(Command::Task(command)) => self.task_command(&command),
            Some(Command::Logs(args)) => self.show_logs(args),
            Some(Command::Release(args::Release::List { repo, .. })) => {
                Some(self.show_tab(&repo, RepositoryTab::Releases))
            }
            Some(Command::Mirror(args::Mirror::List { repo, .. })) => {
                Some(self.show_tab(&repo, RepositoryTab::Mirrors))
            }
            Some(Command::Org(command)) => Some(self.org_line(command)),
            Some(Command::Team(command)) => Some(self.team_line(command)),
            Some(Command::User(command)) => self.user_line(command),
            Some(Command::Token(command)) => self.token_line(command),
            _ => None,
        };
        // No screen shows the result of the other commands.
        done.unwrap_or_else(|| self.shell_command(words))
    }

    /// Shows the audit log with the filters of the command. Returns `None` if the screen cannot express one of them.
    fn show_audit(&mut self, list: args::ListAudit) -> Option<LineResult> {
        let args::ListAudit { since: None, until: None, own: false, follow: false, .. } = list else {
            return None;
        };
        let text = filter_words(&list.text.unwrap_or_default())?;
        let columns = [
            ("action", list.action),
            ("actor", list.actor),
            ("object", list.object.map(|object| object.replacen(':', " ", 1))),
            ("result", list.result),
            ("request", list.request),
            ("repo", list.repo),
            ("user", list.user),
        ];
        let given: Vec<(&str, String)> = columns
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.filter(|value| !value.is_empty())?)))
            .collect();
        if given.iter().any(|(_, value)| value.contains('"')) {
            return None;
        }
        let words = given.iter().map(|(name, value)| filter_word(name, "=", value));
        let filter = words.chain(Some(text).filter(|text| !text.is_empty())).collect::<Vec<_>>().join(" ");
        self.go(ScreenId::Audit);
        self.filter(&filter);
        Some(Ok(()))
    }

    /// Shows the cache entries with the filters of the command.
    fn show_caches(&mut self, list: &args::ListCaches) {
        let repo = list.repo.as_ref().map(ToString::to_string).unwrap_or_default();
        let prefix = if list.key.is_empty() { String::new() } else { format!("^{}", list.key) };
        let columns = [("repo", "=", &repo), ("key", "", &prefix), ("ref", "=", &list.git_ref)];
        let words = columns.iter().filter(|(.., value)| !value.is_empty());
        let words = words.map(|(name, test, value)| filter_word(name, test, value));
        let filter = words.collect::<Vec<_>>().join(" ");
        self.go(ScreenId::Caches);
        self.filter(&filter);
    }

    /// Returns an error while changes are not possible.
    fn may_change(&self) -> Result<(), String> {
        self.world.no_changes().map_or(Ok(()), Err)
    }

    /// Opens a question of the screen `owner` before a change.
    fn question(&mut self, owner: ScreenId, build: impl FnOnce(&Screens, &World) -> Layer) -> LineResult {
        self.may_change()?;
        let layer = build(&self.screens, &self.world);
        self.open(RequestOwner::Screen(owner), layer);
        Ok(())
    }

    /// Sends a request; the screen `owner` reports its result.
    fn change(&mut self, owner: ScreenId, request: Request) -> LineResult {
        self.may_change()?;
        self.send(RequestOwner::Screen(owner), request);
        Ok(())
    }

    fn repo_line(&mut self, command: args::Repo) -> Option<LineResult> {
        Some(match command {
            args::Repo::List { deleted: true, owner, .. } => {
                self.go(ScreenId::DeletedRepositories);
                if let Some(owner) = owner {
                    self.filter(&format!("^{owner}/"));
                }
                Ok(())
            }
            args::Repo::Restore { repo, target } => self.restore_repository(&repo, target),
            args::Repo::Purge { repo, .. } => self.screens.deleted_repositories.find(&repo).and_then(|(id, _)| {
                self.question(ScreenId::DeletedRepositories, |screens, world| {
                    screens.deleted_repositories.purge_question(id, world)
                })
            }),
            args::Repo::List { owner, .. } => {
                self.go(ScreenId::Repositories);
                if let Some(owner) = owner {
                    self.filter(&format!("^{owner}/"));
                }
                Ok(())
            }
            args::Repo::Show { repo } => self.show_repository(&repo),
            args::Repo::Protect(args::Protect::List { repo, .. }) => self.show_tab(&repo, RepositoryTab::Rules),
            args::Repo::DeployKey(args::DeployKey::List { repo, .. }) => {
                self.show_tab(&repo, RepositoryTab::DeployKeys)
            }
            args::Repo::Create(args) => {
                let owner = args.repo.owner.clone();
                self.change(
                    ScreenId::Repositories,
                    Request::CreateRepository { owner, request: Box::new(args.request()) },
                )
            }
            args::Repo::Edit(args) => {
                let path = args.repo.clone();
                let request = args.request();
                if request == api::EditRepository::default() {
                    Err("nothing to change; add a flag such as --description TEXT, or press `e` for the form"
                        .to_owned())
                } else {
                    self.change(ScreenId::Repositories, Request::EditRepository(path, Box::new(request)))
                }
            }
            args::Repo::Delete { repo, .. } => self.question(ScreenId::Repositories, |screens, world| {
                screens.repositories.delete_question(&[repo], world)
            }),
            args::Repo::Migrate(args) if !args.password_stdin => {
                self.change(ScreenId::Repositories, Request::MigrateRepository(Box::new(args.request(String::new()))))
            }
            args::Repo::Migrate(_) => Err("type the password into the form: M on the screen Repositories".to_owned()),
            args::Repo::Archive(args) if args.output.is_none() => {
                let branch = self.screens.repositories.default_branch(&args.repo).unwrap_or_default();
                if branch.is_empty() && args.reference.is_none() {
                    Err(format!("name a branch, tag or commit of {} with --ref", args.repo))
                } else {
                    let content = args.content(&branch);
                    let request = Request::Archive { repo: args.repo, content, existing: Existing::Keep };
                    self.send(RequestOwner::Transfers, request);
                    Ok(())
                }
            }
            _ => return None,
        })
    }

    /// Restores the deleted repository `word`: an ID, or a name that only one of them had.
    fn restore_repository(&mut self, word: &str, target: Option<RepositoryPath>) -> LineResult {
        let (id, name) = self.screens.deleted_repositories.find(word)?;
        let target = target.map_or_else(api::RestoreRepository::default, |path| api::RestoreRepository {
            owner: Some(path.owner),
            name: Some(path.name),
        });
        self.change(ScreenId::DeletedRepositories, Request::RestoreRepository { id, name, target: Box::new(target) })
    }

    pub(super) fn show_repository(&mut self, path: &RepositoryPath) -> LineResult {
        if !self.screens.is_known(Object::Repository) {
            self.go(ScreenId::Repositories);
            self.filter(&path.to_string());
            return Ok(());
        }
        if !self.screens.repositories.show_named(&path.to_string()) {
            return Err(format!("{path} is not in the list of repositories; r refreshes it"));
        }
        self.go(ScreenId::Repositories);
        Ok(())
    }

    /// Shows a tab of a repository.
    fn show_tab(&mut self, path: &RepositoryPath, tab: RepositoryTab) -> LineResult {
        self.show_repository(path)?;
        self.with_screens(ScreenId::Repositories, |screens, env| screens.repositories.open_tab(path, tab, env));
        Ok(())
    }

    /// Shows the files of a repository at a branch or tag.
    fn show_files(&mut self, path: &RepositoryPath, reference: &str) -> LineResult {
        self.show_tab(path, RepositoryTab::Files)?;
        self.with_screens(ScreenId::Repositories, |screens, env| {
            screens.repositories.choose_reference(path, reference, env);
        });
        Ok(())
    }

    fn delivery_line(&mut self, command: args::Delivery) -> Option<LineResult> {
        Some(match command {
            args::Delivery::List(list) => {
                let args::FilterArgs { failed, status, hook, event, host, reason: None, repo: None, since: None } =
                    list.filter
                else {
                    return None;
                };
                let state = if failed { "failure".to_owned() } else { status.unwrap_or_default() };
                let filter = GroupFilter { hook, host: host.unwrap_or_default(), ..GroupFilter::default() };
                self.show_deliveries(|screen, env| screen.choose_all(filter, event.unwrap_or_default(), &state, env));
                Ok(())
            }
            args::Delivery::Groups { by, filter } if filter == args::FilterArgs::default() => {
                if !self.screens.delivery_groups.group_by(&by) {
                    return None;
                }
                self.go(ScreenId::DeliveryGroups);
                Ok(())
            }
            args::Delivery::Show { delivery, .. } => {
                self.show_deliveries(|screen, env| screen.find(delivery, env));
                Ok(())
            }
            args::Delivery::Redeliver { deliveries, .. } if !deliveries.is_empty() => self
                .question(ScreenId::Deliveries, |screens, world| {
                    screens.deliveries.redeliver_question(deliveries, world)
                }),
            args::Delivery::Recover { hook, since: None, .. } => {
                let id = i64::try_from(hook).unwrap_or_default();
                self.question(ScreenId::Hooks, |screens, world| screens.hooks.recover_question(&[id], world))
            }
            _ => return None,
        })
    }
}

/// Returns the word of a filter that tests a column. `test` is `=` for the exact value, or empty for a part of it.
fn filter_word(column: &str, test: &str, value: &str) -> String {
    if value.contains(char::is_whitespace) {
        format!("{column}:{test}\"{value}\"")
    } else {
        format!("{column}:{test}{value}")
    }
}

/// Returns the words in a text as words of a filter, which ignore case. `None` if one has another meaning in filters.
fn filter_words(text: &str) -> Option<String> {
    // An upper-case letter makes a word case-sensitive.
    let text = text.to_lowercase();
    let has_meaning =
        |word: &str| word.contains([':', '"']) || word.starts_with(['!', '^', '~']) || word.ends_with('$');
    (!text.split_whitespace().any(has_meaning)).then_some(text)
}

/// Returns the first paragraph of a clap error, which names the problem.
fn usage(error: &clap::Error) -> String {
    let text = error.to_string();
    let problem: Vec<&str> = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim).collect();
    let problem = problem.join(" ");
    problem.strip_prefix("error: ").unwrap_or(&problem).to_owned()
}

fn parsed<T: std::str::FromStr>(text: &str) -> Result<T, String>
where
    T::Err: Display,
{
    text.parse().map_err(|error: T::Err| error.to_string())
}
