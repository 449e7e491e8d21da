//! Bare `originboot`: would this machine boot without its cache; why, and what to do next.

use serde::Serialize;

use super::install::{images, not_that_image};
use super::next_boot::{End, NextBoot};
use super::out::{self, Paint, Style};
use super::{Look, Outcome};
use crate::backend::{self, CacheSet};
use crate::decide::Verdict;
use crate::device::Inventory;
use crate::device::lvm::{CacheMode, VgSeen};
use crate::evidence::stamp_of;
use crate::settings::{Action, BootPlan, NoPlan, RootLv, StampChoice, plan_for};
use crate::sys::Root;
use crate::sys::host::{built_plan, image_is_built, installed, read_settings, uninstalling};

/// What puts originboot into the images.
const INSTALL: &str = "originboot install";

/// The answer. Fields are documented in docs/json.md: added, never changed.
#[derive(Debug, Serialize)]
struct Answer {
    schema_version: u32,
    /// `None`: there is nothing to protect.
    protected: Option<bool>,
    /// Without some cache root comes up over a layer in RAM: a boot, but none to work on.
    in_part: bool,
    /// Why, a sentence each.
    why: Vec<String>,
    /// Commands, in the order to run them.
    next: Vec<String>,
    /// The owner wants stamps.
    #[serde(skip)]
    stamps: bool,
}

pub(super) fn run(look: &Look, json: bool) -> anyhow::Result<Outcome> {
    let (root, inventory) = look.inventory()?;
    let mut answer = answer(&root, &inventory)?;
    if let Some(what) = super::status::unacknowledged(&root) {
        answer.why.insert(0, format!("{what}, and nobody has taken note of it"));
        answer.next.insert(0, "originboot status".to_owned());
    }
    if json {
        out::json(&answer)?;
    } else {
        out::print(answer.text(Paint::stdout()).as_bytes())?;
    }
    Ok(if answer.protected == Some(false) { Outcome::Findings } else { Outcome::Fine })
}

fn answer(root: &Root, inventory: &Inventory) -> anyhow::Result<Answer> {
    let settings = read_settings(root).map_err(|e| super::Usage(e.to_string()))?;
    let plan = match plan_for(inventory, "/", settings.policy) {
        Ok(plan) => plan,
        Err(why @ (NoPlan::NotLvm { .. } | NoPlan::NoDevice { .. })) => {
            return Ok(Answer {
                schema_version: 1,
                protected: None,
                in_part: false,
                why: vec![why.to_string()],
                next: Vec::new(),
                stamps: false,
            });
        }
        Err(why) => return Err(why.into()),
    };
    if let Some(why) = alone(inventory) {
        let (why, next) = (vec![why], Vec::new());
        return Ok(Answer { schema_version: 1, protected: None, in_part: false, why, next, stamps: false });
    }
    let stamps = settings.stamp == StampChoice::Auto;
    let (why, next) = (Vec::new(), Vec::new());
    let mut answer = Answer { schema_version: 1, protected: Some(true), in_part: false, why, next, stamps };
    answer.images(root, &plan)?;
    answer.boot(root, inventory, &plan);
    if answer.next.is_empty() {
        answer.next.push("originboot inspect".to_owned());
    }
    Ok(answer)
}

/// A VG of one physical volume without a cache comes up or not, whatever anybody does.
fn alone(inventory: &Inventory) -> Option<String> {
    let root = RootLv::find(inventory, "/").ok()?;
    let group = &root.group;
    let caches = backend::ALL.iter().any(|b| !b.discover(std::slice::from_ref(group)).is_empty());
    (!caches && group.vg.pvs.len() < 2)
        .then(|| format!("{} has no cache and one physical volume: nothing to protect", group.vg.name))
}

impl Answer {
    fn no(&mut self, why: String, next: String) {
        self.protected = Some(false);
        self.why.push(why);
        if !self.next.contains(&next) {
            self.next.push(next);
        }
    }

    /// What the owner has to decide comes before the images are built: they carry the answer.
    fn choice(&mut self, why: String, choice: String) {
        self.protected = Some(false);
        self.why.push(why);
        if !self.next.contains(&choice) {
            self.next.insert(0, choice);
        }
    }

    /// How an UNKNOWN origin may be detached from. `install` builds the images anyway.
    fn opt_in(&self) -> String {
        let first = "to boot even so: set unknown = \"detach\" under [policy] in /etc/originboot/originboot.toml";
        if self.next.iter().any(|n| n == INSTALL) {
            first.to_owned()
        } else {
            format!("{first}, then update-initramfs -u -k all")
        }
    }

    /// Every image is built with what this stack needs.
    fn images(&mut self, root: &Root, plan: &BootPlan) -> anyhow::Result<()> {
        if uninstalling(root).is_some() {
            let why = "an uninstall was begun and did not end: images may still hold originboot";
            self.no(why.to_owned(), "originboot uninstall".to_owned());
            return Ok(());
        }
        if installed(root).is_none() {
            self.no("originboot is not installed into any image".to_owned(), INSTALL.to_owned());
            return Ok(());
        }
        let kernels = images(root)?;
        if kernels.is_empty() {
            self.no("no kernel with an image in /boot was found".to_owned(), INSTALL.to_owned());
            return Ok(());
        }
        for kernel in &kernels {
            let rebuild = format!("update-initramfs -u -k {kernel}");
            match built_plan(root, kernel) {
                None => self.no(format!("the image of kernel {kernel} was built without originboot"), rebuild),
                Some(_) if !image_is_built(root, kernel) => {
                    let why = not_that_image(kernel);
                    self.no(why.split(": ").next().unwrap_or_default().to_owned(), rebuild);
                }
                Some(built) if built.policy != plan.policy => {
                    self.no(format!("the image of kernel {kernel} has an older policy"), rebuild);
                }
                Some(built) if !same_stack(&built, plan) => {
                    self.no(format!("the image of kernel {kernel} was built for another stack than this one"), rebuild);
                }
                Some(_) => {}
            }
        }
        if self.protected == Some(true) {
            let word = if kernels.len() == 1 { "image" } else { "images" };
            self.why.push(format!("{} {word} built for this stack: {}", kernels.len(), kernels.join(", ")));
        }
        Ok(())
    }

    /// A boot without each cache comes up.
    fn boot(&mut self, root: &Root, inventory: &Inventory, plan: &BootPlan) {
        let Ok(lv) = RootLv::find(inventory, "/") else { return };
        let group = &lv.group;
        for id in &group.missing {
            let device = group.vg.pv(id).map_or("?", |pv| pv.device.as_str());
            self.no(
                format!("a physical volume of {} is missing already (was {device})", group.vg.name),
                format!("pvs -o +pv_missing; vgs {}", group.vg.name),
            );
        }
        let line = root.attribute("/proc/cmdline");
        let sets =
            backend::ALL.iter().flat_map(|b| b.discover(std::slice::from_ref(group)).into_iter().map(move |s| (b, s)));
        let mut caches = 0;
        for (backend, set) in sets {
            caches += 1;
            let gone = super::inspect::devices_of_cache(inventory, &set);
            let gone: Vec<&str> = gone.iter().map(String::as_str).collect();
            let next = NextBoot::simulate(inventory, &gone, plan, &line);
            let verdict = backend.assess(inventory, group, &set).verdict;
            self.stamp(inventory, group, &set);
            let without =
                format!("without the cache of {} ({}, {verdict}): {}", set.name(), set.mode, next.end().words());
            if next.boots() && !next.end().over_a_layer() {
                self.why.push(without);
                continue;
            }
            self.in_part |= next.end().over_a_layer();
            let simulate = format!("originboot simulate --without {}", gone.first().unwrap_or(&"DEV"));
            // Where a detach is allowed, and another volume forbids it, the owner's word changes nothing.
            let asked = plan.policy.action(verdict) != Action::Detach && !matches!(next.end(), End::NotOurs(_));
            match (verdict, set.mode) {
                (Verdict::Unsafe, CacheMode::Writeback) if asked => {
                    self.choice(without, format!("lvchange --cachemode writethrough {}", set.name()));
                }
                (Verdict::Unknown, _) => self.unknown(without, (inventory, group, &set), (!asked).then_some(simulate)),
                _ => self.no(without, simulate),
            }
        }
        if caches == 0 {
            self.why.push(format!(
                "{} has no cache; root comes up when another device of the VG is missing",
                group.vg.name
            ));
        }
    }

    /// What the stamp says, and what would be true if the power failed now.
    fn stamp(&mut self, inventory: &Inventory, group: &VgSeen, set: &CacheSet) {
        self.why.extend(super::evidence::line(inventory, &group.vg, set));
        let power = super::evidence::power(inventory, group, set);
        self.why.extend(power.map(|power| format!("if power failed now, {}: {power}", set.name())));
        // What is not installed yet makes the stamp when it is.
        let later = self.next.iter().any(|next| next == INSTALL);
        let create = format!("originboot evidence create {}", group.vg.name);
        if self.stamps && !later && no_stamp(inventory, group, set) && !self.next.contains(&create) {
            self.next.push(create);
        }
    }

    /// Nothing proves that the origin is complete: evidence comes before a standing order to do without.
    fn unknown(&mut self, without: String, evidence: (&Inventory, &VgSeen, &CacheSet), otherwise: Option<String>) {
        let (inventory, group, set) = evidence;
        if self.stamps && no_stamp(inventory, group, set) {
            self.protected = Some(false);
            self.why.push(without);
        } else if self.stamps {
            // It becomes CLEAN by itself, once the cache was opened clean and has drained.
            self.no(without, format!("originboot evidence show {}", group.vg.name));
        } else if let Some(simulate) = otherwise {
            self.no(without, simulate);
        } else {
            self.choice(without, self.opt_in());
        }
    }

    fn text(&self, paint: Paint) -> String {
        let mut out = match self.protected {
            None => format!("protected: {}\n", paint.text(Style::Good, "not needed")),
            Some(true) => format!("protected: {}\n", paint.text(Style::Good, "yes")),
            Some(false) if self.in_part => {
                format!("protected: {}\n", paint.text(Style::Bad, "no, or only in a preview"))
            }
            Some(false) => format!("protected: {}\n", paint.text(Style::Bad, "no")),
        };
        for (heading, lines) in [("why", &self.why), ("next", &self.next)] {
            for (i, line) in lines.iter().enumerate() {
                out.push_str(&format!("  {:<4}  {line}\n", if i == 0 { heading } else { "" }));
            }
        }
        out
    }
}

/// A writethrough cache lost now could be vouched for by a stamp, and there is none.
fn no_stamp(inventory: &Inventory, group: &VgSeen, set: &CacheSet) -> bool {
    set.mode == CacheMode::Writethrough && stamp_of(inventory, &group.vg, set).is_err()
}

/// Same root, same physical volumes in the same places. Kernel names change from boot to boot and do not count.
fn same_stack(built: &BootPlan, now: &BootPlan) -> bool {
    let key = |plan: &BootPlan| {
        let mut pvs: Vec<_> = plan.pvs.iter().map(|pv| (pv.id, pv.role.as_str(), format!("{:?}", pv.stack))).collect();
        pvs.sort();
        (plan.root.as_ref().map(|root| (root.vg_id, root.lv_id)), pvs)
    };
    key(built) == key(now)
}
