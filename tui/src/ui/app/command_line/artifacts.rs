//! Commands about artifacts.

use farrier_common::api;

use super::LineResult;
use crate::{
    args,
    ui::{
        app::{App, RequestOwner},
        net::Request,
        screens::ScreenId,
    },
};

impl App {
    pub(super) fn artifact_line(&mut self, command: args::Artifact) -> Option<LineResult> {
        let ids = |words: &[String]| -> Result<Vec<i64>, String> {
            words.iter().map(|word| word.parse().map_err(|_| format!("{word} is not an ID; type the number"))).collect()
        };
        Some(match command {
            args::Artifact::List(list) if list.deleted => {
                self.go(ScreenId::DeletedArtifacts);
                if let Some(repo) = list.scope.repo {
                    self.filter(&format!("repo:{repo}"));
                }
                Ok(())
            }
            args::Artifact::Restore { id } => {
                self.screens.deleted_artifacts.find(&id.to_string()).and_then(|(id, name)| {
                    self.change(ScreenId::DeletedArtifacts, Request::RestoreArtifact { id, name })
                })
            }
            args::Artifact::Purge { id, .. } => self.question(ScreenId::DeletedArtifacts, |screens, world| {
                screens.deleted_artifacts.purge_question(id, world)
            }),
            args::Artifact::List(list) if list.name.is_none() => {
                self.show_artifacts(list.scope.repo, None);
                if let Some(run) = list.scope.run {
                    self.screens.artifacts.show_run(run);
                }
                Ok(())
            }
            args::Artifact::Delete(args::Delete { oldest: Some(count), scope, .. }) if scope.run.is_none() => {
                let count = usize::try_from(count).unwrap_or(usize::MAX);
                match self.screens.artifacts.oldest(count, scope.repo.as_ref()) {
                    Ok(ids) => self
                        .question(ScreenId::Artifacts, |screens, world| screens.artifacts.delete_question(&ids, world)),
                    Err(why) => Err(why),
                }
            }
            args::Artifact::Delete(args) if args.oldest.is_none() => ids(&args.artifacts).and_then(|ids| {
                self.question(ScreenId::Artifacts, |screens, world| screens.artifacts.delete_question(&ids, world))
            }),
            args::Artifact::Expire(args) => ids(&args.artifacts).and_then(|ids| {
                let at = args.at.as_deref().map(crate::moment::read).transpose()?;
                let request = api::EditArtifact { days: args.days, expires_at: at };
                self.change(
                    ScreenId::Artifacts,
                    Request::EditArtifacts(ids.into_iter().map(|id| (id, request.clone())).collect()),
                )
            }),
            args::Artifact::Download(args) if args.output.is_none() && !args.extract => {
                ids(&[args.artifact]).and_then(|ids| match self.screens.artifacts.download_of(ids[0]) {
                    Some(request) => {
                        self.send(RequestOwner::Transfers, request);
                        Ok(())
                    }
                    None => Err(format!("artifact {} is not in the list; 5 shows it", ids[0])),
                })
            }
            _ => return None,
        })
    }
}
