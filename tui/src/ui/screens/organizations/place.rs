//! The place of the organizations screen: the organization, its team, the tab and the row in it.

use super::{OrganizationTab, Organizations};
use crate::ui::{list::ListView, place::ScreenPlace, screens::places::Placed, world::Env};

/// The tabs in the order of their numbers in places.
const TABS: [OrganizationTab; 6] = [
    OrganizationTab::Teams,
    OrganizationTab::Members,
    OrganizationTab::Repositories,
    OrganizationTab::Rights,
    OrganizationTab::TeamMembers,
    OrganizationTab::TeamRepositories,
];

impl Placed for Organizations {
    fn place(&self) -> ScreenPlace {
        let tab = TABS.iter().position(|tab| *tab == self.tab()).unwrap_or(0);
        let place = ScreenPlace {
            list: ListView::place(&self.rows),
            tab,
            is_open: self.in_pane,
            pane: self.pane_list().map(ListView::place).unwrap_or_default(),
            ..ScreenPlace::default()
        };
        let team = self.team.as_ref().map(|team| team.name.clone()).unwrap_or_default();
        place.limited("org", self.current().map(|org| org.name).unwrap_or_default()).limited("team", team)
    }

    fn restore(&mut self, place: &ScreenPlace, env: &mut Env) {
        let tab = TABS.get(place.tab).copied().unwrap_or(OrganizationTab::Teams);
        ListView::restore(&mut self.rows, &place.list);
        let list: Option<&mut dyn ListView> = match tab {
            OrganizationTab::Teams => Some(&mut self.teams),
            OrganizationTab::Members => Some(&mut self.members),
            OrganizationTab::Repositories => Some(&mut self.repositories),
            OrganizationTab::Rights => None,
            OrganizationTab::TeamMembers => Some(&mut self.team_members),
            OrganizationTab::TeamRepositories => Some(&mut self.team_repositories),
        };
        if let Some(list) = list {
            list.restore(&place.pane);
        }
        if OrganizationTab::OF_ORGANIZATION.contains(&tab) {
            self.tab = tab;
        }
        self.in_pane = false;
        if place.is_open {
            let team = Some(place.limit("team").to_owned()).filter(|team| !team.is_empty());
            self.open(place.limit("org").to_owned(), team, tab, env);
        }
    }

    fn objects(&self) -> Option<&dyn ListView> {
        Some(&self.rows)
    }
}
