//! Commands about hooks.

use farrier_common::{api::EditHook, client::HookOwner};

use super::LineResult;
use crate::{
    args,
    ui::{
        app::App,
        net::{NewHook, Request},
        redacted::Redacted,
        screens::{ScreenId, generated_secret},
    },
};

impl App {
    /// Returns the owner of a hook: the one in the line, else the one in the list.
    fn owner(&self, owner: &args::HookOwnerArgs, id: i64) -> HookOwner {
        match owner.api() {
            HookOwner::Admin => self.screens.hooks.owner_of(id).unwrap_or(HookOwner::Any),
            owner => owner,
        }
    }

    /// Runs a command about hooks. Returns `None` if it runs only in the shell.
    pub(super) fn hook_line(&mut self, command: args::Hook) -> Option<LineResult> {
        Some(match command {
            args::Hook::List { owner, .. } => {
                match owner.api() {
                    HookOwner::Repository(path) => self.show_hooks(path, None),
                    HookOwner::Admin => self.go(ScreenId::Hooks),
                    _ => return None,
                }
                Ok(())
            }
            args::Hook::Show { id, owner } => {
                if let HookOwner::Repository(path) = self.owner(&owner, id) {
                    self.show_hooks(path, Some(id));
                } else {
                    self.go(ScreenId::Hooks);
                    self.with_screens(ScreenId::Hooks, |screens, env| screens.hooks.show(id, env));
                }
                Ok(())
            }
            args::Hook::On { id, owner } => self.switch_hook(&owner, id, true),
            args::Hook::Off { id, owner } => self.switch_hook(&owner, id, false),
            args::Hook::Test { id, owner } => {
                let owner = self.owner(&owner, id);
                self.change(ScreenId::Hooks, Request::TestHook(owner, id))
            }
            args::Hook::Apply { id } => self.change(ScreenId::Hooks, Request::ApplyHook(id)),
            args::Hook::Delete { id, owner, .. } => {
                let owner = self.owner(&owner, id);
                self.question(ScreenId::Hooks, |screens, world| screens.hooks.delete_question(&[(owner, id)], world))
            }
            args::Hook::Create(args) => self.create_hook(args),
            args::Hook::Edit(args) => self.edit_hook(args),
            _ => return None,
        })
    }

    fn switch_hook(&mut self, owner: &args::HookOwnerArgs, id: i64, on: bool) -> LineResult {
        let changes = EditHook { active: Some(on), ..EditHook::default() };
        let owner = self.owner(owner, id);
        self.change(ScreenId::Hooks, Request::EditHook(owner, id, Box::new(changes)))
    }

    fn create_hook(&mut self, args: args::CreateHook) -> LineResult {
        secrets_are_for_forms(&args.change)?;
        let secret = if args.change.generate_secret { Some(generated_secret()?) } else { None };
        let owner = args.owner.api();
        let request = args.request(secret.clone(), None);
        self.change(
            ScreenId::Hooks,
            Request::CreateHook(Box::new(NewHook {
                owner,
                request,
                test: false,
                unless_above: None,
                shown_once: secret.map(Redacted),
            })),
        )
    }

    fn edit_hook(&mut self, args: args::EditHook) -> LineResult {
        secrets_are_for_forms(&args.change)?;
        if args.change.generate_secret {
            return Err("a secret is generated in the form: e on the screen Hooks".to_owned());
        }
        let (id, owner) = (args.id, self.owner(&args.owner, args.id));
        let request = args.request(None, None);
        if request == EditHook::default() {
            return Err("nothing to change; add a flag such as --events push, or press `e` for the form".to_owned());
        }
        self.change(ScreenId::Hooks, Request::EditHook(owner, id, Box::new(request)))
    }
}

/// Rejects flags that read standard input, because it is the keyboard of the full screen.
fn secrets_are_for_forms(change: &args::Change) -> Result<(), String> {
    if change.secret_stdin || change.authorization_stdin {
        return Err("type secrets into the form: n or e on the screen Hooks".to_owned());
    }
    Ok(())
}
