//! Scenes of the lists of a repository that its administrators manage.

use super::{super::prelude::*, Scene, on};
use crate::ui::net::{ManagementRequest as Manage, Page, ProblemKind};

pub(super) const MANAGEMENT: &[Scene] = &[
    on("repository-releases", |screen| open_managed(screen, &Manage::Releases, Ok(releases()))),
    on("repository-release", |screen| {
        open_managed(screen, &Manage::Releases, Ok(releases()));
        screen.keys("jj\n");
        screen.answer(|request| is_managed(request, &Manage::Release(1)), Ok(opened_release()));
    }),
    on("delete-release", |screen| {
        open_managed(screen, &Manage::Releases, Ok(releases()));
        screen.keys("jjD");
    }),
    on("no-releases", |screen| {
        let none = Page { items: Vec::new(), total: Some(0), last: true };
        open_managed(screen, &Manage::Releases, Ok(Answer::Releases(none)));
    }),
    on("repository-rules", |screen| open_managed(screen, &Manage::Rules, Ok(rules()))),
    on("repository-rule", |screen| {
        open_managed(screen, &Manage::Rules, Ok(rules()));
        screen.keys("j\n");
    }),
    on("add-rule", |screen| {
        open_managed(screen, &Manage::Rules, Ok(rules()));
        screen.keys("n");
    }),
    on("no-rules", |screen| open_managed(screen, &Manage::Rules, Ok(Answer::Rules(Vec::new(), Vec::new())))),
    on("repository-collaborators", |screen| {
        open_managed(screen, &Manage::Collaborators, Ok(collaborators()));
        screen.keys("j");
    }),
    on("new-collaborator", |screen| {
        open_managed(screen, &Manage::Collaborators, Ok(collaborators()));
        screen.keys("n");
    }),
    on("collaborator-permission", |screen| {
        open_managed(screen, &Manage::Collaborators, Ok(collaborators()));
        screen.keys("e");
    }),
    on("remove-collaborator", |screen| {
        open_managed(screen, &Manage::Collaborators, Ok(collaborators()));
        screen.keys("D");
    }),
    on("loading-collaborators", |screen| {
        show_managed(screen, &Manage::Collaborators);
        screen.advance(Duration::from_millis(1_240));
    }),
    on("forbidden-collaborators", |screen| {
        let text = "listing collaborators of infra/gateway: token needs the scope read:repository (403)";
        open_managed(screen, &Manage::Collaborators, Err(Problem::new(ProblemKind::Forbidden, text)));
    }),
    on("repository-deploy-keys", |screen| open_managed(screen, &Manage::DeployKeys, Ok(deploy_keys()))),
    on("new-deploy-key", |screen| {
        open_managed(screen, &Manage::DeployKeys, Ok(deploy_keys()));
        screen.keys("nci\t");
        screen.send(Msg::Paste("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl".into()));
        screen.press(Key::Tab);
    }),
    on("hidden-deploy-keys", |screen| {
        let text = "listing deploy keys of infra/gateway: not found (404)";
        open_managed(screen, &Manage::DeployKeys, Err(Problem::new(ProblemKind::NotFound, text)));
    }),
    on("repository-mirrors", |screen| open_managed(screen, &Manage::Mirrors, Ok(mirrors()))),
    on("repository-mirror", |screen| {
        open_managed(screen, &Manage::Mirrors, Ok(mirrors()));
        screen.keys("jj\n");
    }),
];
