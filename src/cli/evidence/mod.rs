//! `originboot evidence`: the stamp on the origin, as a person makes, sees and removes it.

mod create;
mod lvm;
mod remove;
mod show;
mod words;

use anyhow::{Context as _, anyhow};

use super::{Outcome, Usage};
use crate::backend::{self, CacheSet};
use crate::device::Inventory;
use crate::device::lvm::{VgSeen, volume_groups};
use crate::settings::{RootLv, hint};

pub(super) use create::{Making, Ready, lock, ready};
pub(super) use remove::{Removal, removal};
pub(super) use show::{Speaks, speaks};
pub(super) use words::{line, power, short};

/// Keep, show or remove the stamp on the origin
///
/// The stamp says, on the big disk itself, whether that disk holds everything
/// when the cache is gone. It lies in a small volume of its own beside the
/// origin, and is kept true while the machine boots, runs and stops.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Create(create::Args),
    Remove(remove::Args),
    Show(show::Args),
}

impl Args {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        match self.action {
            Action::Create(args) => args.run(),
            Action::Remove(args) => args.run(),
            Action::Show(args) => args.run(),
        }
    }
}

/// The volume group of this name, or root's.
pub(super) fn group(inventory: &Inventory, name: Option<&str>) -> anyhow::Result<VgSeen> {
    let Some(name) = name else {
        return Ok(RootLv::find(inventory, "/").context("looking for root; name a volume group")?.group);
    };
    let mut groups = volume_groups(inventory.pvs().map(|(_, scan)| scan));
    let known: Vec<String> = groups.iter().map(|group| group.vg.name.clone()).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let unknown = || anyhow!(Usage(format!("no volume group here is called {name}{}", hint(name, &known))));
    groups.retain(|group| group.vg.name == name);
    match groups.len() {
        0 => Err(unknown()),
        1 => groups.pop().ok_or_else(unknown),
        n => Err(anyhow!(Usage(format!("{n} volume groups here are called {name}")))),
    }
}

/// Every cached LV of the group.
pub(super) fn sets(group: &VgSeen) -> Vec<CacheSet> {
    backend::ALL.iter().flat_map(|b| b.discover(std::slice::from_ref(group))).collect()
}

/// What keeps the volume group from being written: with a physical volume missing a change of any kind would mark it
/// missing, and lock it out when it comes late.
pub(super) fn not_writable(group: &VgSeen) -> Option<String> {
    let vg = &group.vg;
    let missing = vg.pvs.iter().find(|pv| pv.is_marked_missing() || group.missing.contains(&pv.id));
    let of = |what: String| Some(format!("{}: {what}", vg.name));
    match (missing, &group.conflict, group.duplicates.first(), group.damaged.first()) {
        (Some(pv), ..) => of(format!("a physical volume is missing (was {}): reconnect it first", pv.device)),
        (_, Some(conflict), ..) => of(format!("two texts have the same seqno: {conflict}")),
        (_, _, Some(id), _) => of(format!("more than one device carries physical volume {id}: remove the copy")),
        (_, _, _, Some(damage)) => of(damage.clone()),
        _ => None,
    }
}
