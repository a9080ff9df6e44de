//! `farrier artifact …`

mod delete;
mod deleted;
mod download;
mod each;
mod expire;
mod list;
mod source;
mod upload;

use crate::{
    args::{Artifact, Global},
    exit::Failure,
    output::Output,
};

pub(super) async fn run(command: Artifact, global: &Global, output: &Output) -> Result<u8, Failure> {
    match command {
        Artifact::Upload(args) => upload::run(args, global, output).await,
        Artifact::List(args) if args.deleted => {
            deleted::list(args.scope.repo.as_ref(), args.limit.items(), global, output).await
        }
        Artifact::List(args) => list::run(args, global, output).await,
        Artifact::Download(args) => download::run(args, global, output).await,
        Artifact::Expire(args) => expire::run(args, global, output).await,
        Artifact::Delete(args) => delete::run(args, global, output).await,
        Artifact::Restore { id } => deleted::restore(id, global, output).await,
        Artifact::Purge { id, yes } => deleted::purge(id, yes, global, output).await,
    }
}
