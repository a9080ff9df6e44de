//! Imports that all tests of the model use.

pub(super) use std::time::Duration;

pub(super) use farrier_common::client::HookOwner;
pub(super) use ratatui::layout::Size;

pub(super) use super::{answers::*, organization_steps::*, test_screen::*};
pub(super) use crate::ui::{
    app::{App, Effect, Msg},
    key::Key,
    net::{Answer, ManagementRequest, Problem, Request, SeriesSpan},
    screens::ScreenId,
    settings::Settings,
    theme::Theme,
    world::Link,
};
