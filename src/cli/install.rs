//! `originboot install`: switches the packaged hook on and rebuilds every kernel's image.

use super::evidence::{Making, Ready, group, ready, sets};
use super::render::{Outfit, Target, Wanted};
use super::{Look, Outcome, Usage};
use crate::settings::{BootPlan, StampChoice};
use crate::sys::Root;
use crate::sys::host::{
    Installed, STATE, built_plan, image_is_built, in_chroot, installed, kernels, read_settings, state_is_empty,
    uninstalling,
};
use anyhow::{Context as _, bail};
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

/// What rebuilds the images.
pub(super) const UPDATE: &str = "/usr/sbin/update-initramfs";
/// Files of the package without which an image would be built in vain, and what to do when one is not there.
const PACKAGED: &[&str] = &[
    "/usr/share/initramfs-tools/hooks/originboot",
    "/usr/share/initramfs-tools/scripts/local-block/originboot",
    "/usr/lib/originboot/last-good",
    "/etc/initramfs/post-update.d/originboot",
    "/usr/libexec/originboot/originboot-early",
];
/// The units: what keeps the record of a boot, what keeps the stamp true, what empties a writeback cache at shutdown.
const UNITS: [&str; 3] = ["originboot-report.service", "originboot-agent.service", "originboot-flush.service"];
/// Where it is wanted.
const WANTS: &str = "/etc/systemd/system/multi-user.target.wants";

/// Protect this machine: put originboot into every kernel's image
///
/// Checks first, says what it will do, and asks.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    look: Look,
}

/// How a changing command is told to go on.
#[derive(Debug, clap::Args)]
pub(super) struct Consent {
    /// Say what would be done, and do nothing
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

impl Args {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let wanted = self.target.wanted(&self.look)?;
        let plan = match &wanted.plan {
            Ok(plan) => plan,
            Err(nothing) => {
                eprintln!("originboot: {nothing}");
                return Ok(Outcome::Findings);
            }
        };
        let releases = images(&wanted.target)?;
        let problems = problems(&wanted, plan, &releases)?;
        for sentence in &problems {
            eprintln!("originboot: {sentence}");
        }
        if !problems.is_empty() {
            return Ok(Outcome::Findings);
        }
        for sentence in wanted.warnings(plan)? {
            eprintln!("originboot: {sentence}");
        }
        let before = installed(&wanted.target);
        let new = to_make(&wanted.target);
        let mut steps: Vec<String> = Vec::new();
        if before.is_none() {
            steps.push(format!("note in {STATE}/installed that the hook is to act"));
        }
        steps.extend(new.dirs.iter().filter(|dir| *dir != STATE).map(|dir| format!("make {dir}")));
        steps.extend(new.links.iter().map(|(path, _)| format!("link {path}")));
        steps.push(format!("run update-initramfs -u -k all, for {}", releases.join(", ")));
        let stamp = self.stamp(&wanted)?;
        steps.extend(stamp.iter().flat_map(|making| making.steps.iter().cloned()));
        if !self.consent.given("install", &steps)? {
            return Ok(Outcome::Fine);
        }
        // What an uninstall has not come to take away is made already, and still to be taken away one day.
        let mut made = before.or_else(|| uninstalling(&wanted.target)).unwrap_or_default();
        made.add(new);
        made.make(&wanted.target)?;
        rebuild(&wanted.target, &self.look.sysroot)?;
        let outcome = report(&wanted.target, plan, &releases);
        // A stamp is worth something once every image arms it.
        match stamp {
            Some(making) if outcome == Outcome::Fine => {
                making.make(&Root::machine()).context("the images are protected")
            }
            _ => Ok(outcome),
        }
    }

    /// How the stamps of root's volume group are made, where they are wanted. That there is no room for them is said, and
    /// stops nothing.
    fn stamp(&self, wanted: &Wanted) -> anyhow::Result<Option<Making>> {
        let choice = read_settings(&wanted.target).map_err(|e| Usage(e.to_string()))?.stamp;
        let machine = [&self.look.sysroot, &self.target.tools_root].iter().all(|dir| *dir == Path::new("/"));
        if !stamp_is_wanted(choice, machine, in_chroot()) {
            return Ok(None);
        }
        let group = group(&wanted.inventory, None)?;
        if sets(&group).is_empty() {
            return Ok(None);
        }
        match ready(&wanted.inventory, &group)? {
            Ready::Make(making) => Ok(Some(making)),
            Ready::Nothing(_) => Ok(None),
            Ready::Refused(why) => {
                eprintln!("originboot: no stamp is made: {why}");
                Ok(None)
            }
        }
    }
}

/// Only on the machine itself: elsewhere the disks that are seen are not those of the root that is installed to.
fn stamp_is_wanted(choice: StampChoice, machine: bool, chroot: bool) -> bool {
    choice == StampChoice::Auto && machine && !chroot
}

impl Consent {
    /// Says what will be done, and asks unless told not to. `false`: do nothing.
    pub(super) fn given(&self, what: &str, steps: &[String]) -> anyhow::Result<bool> {
        println!("originboot {what} {}:", if self.dry_run { "would" } else { "will" });
        steps.iter().for_each(|step| println!("  {step}"));
        if self.dry_run || self.yes {
            return Ok(self.yes);
        }
        if !io::stdin().is_terminal() {
            bail!(Usage(format!("{what} asks before it changes anything, and there is no terminal; use --yes")));
        }
        print!("Go on? [y/N] ");
        io::stdout().flush().context("writing to stdout")?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer).context("reading the answer")?;
        Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
    }
}

/// Kernels that have an image in /boot: those that `update-initramfs -k all` rebuilds.
pub(super) fn images(target: &Root) -> anyhow::Result<Vec<String>> {
    let mut found = kernels(target).context("listing kernels")?;
    found.retain(|release| target.exists(&format!("/boot/initrd.img-{release}")));
    Ok(found)
}

/// Everything that stands in the way, a sentence each.
fn problems(wanted: &Wanted, plan: &BootPlan, releases: &[String]) -> anyhow::Result<Vec<String>> {
    let mut problems = Vec::new();
    if !wanted.target.exists(UPDATE) {
        problems.push(format!("there is no {UPDATE}; install it: apt install initramfs-tools"));
    }
    for path in PACKAGED {
        if !wanted.target.exists(path) {
            problems.push(format!("there is no {path}; install originboot again"));
        }
    }
    if !wanted.target.exists("/usr/share/initramfs-tools/hooks/lvm2") {
        problems.push("the image would have no LVM: apt install lvm2".to_owned());
    }
    if releases.is_empty() {
        problems.push("no kernel has both modules and an image (/boot/initrd.img-…); install a kernel".to_owned());
    }
    for release in releases {
        if let Outfit::Missing(sentences) = wanted.outfit(plan, release)? {
            problems.extend(sentences);
        }
    }
    problems.extend(wanted.unknown.iter().cloned());
    let mut seen = std::collections::BTreeSet::new();
    problems.retain(|p| seen.insert(p.clone()));
    Ok(problems)
}

/// What is not there yet. A state folder with nothing in it counts as not there: an earlier install made it.
fn to_make(target: &Root) -> Installed {
    let mut made = Installed::default();
    if state_is_empty(target) {
        made.dirs.push(STATE.to_owned());
    }
    let mut dir = |path: &str| {
        if !target.exists(path) {
            made.dirs.push(path.to_owned());
        }
    };
    let packaged = |name: &&str| target.exists(&format!("/usr/lib/systemd/system/{name}"));
    let units: Vec<&str> = UNITS.into_iter().filter(packaged).collect();
    if target.exists("/etc/systemd/system") && !units.is_empty() {
        dir(WANTS);
        for name in units {
            let link = format!("{WANTS}/{name}");
            if target.link(&link).is_none() && !target.exists(&link) {
                made.links.push((link, format!("/usr/lib/systemd/system/{name}")));
            }
        }
    }
    made
}

/// Rebuilds every image; its output is the reader's. A stack that is not the machine's own is handed to the hook.
pub(super) fn rebuild(target: &Root, sysroot: &Path) -> anyhow::Result<()> {
    let program = target.place(UPDATE);
    let mut command = duct::cmd(&program, ["-u", "-k", "all"]).stdin_null();
    if sysroot != Path::new("/") {
        command = command.env("ORIGINBOOT_SYSROOT", sysroot);
    }
    let status = command.unchecked().run().with_context(|| format!("running {}", program.display()))?.status;
    if !status.success() {
        bail!("update-initramfs -u -k all: {status}; mend what it says and run it again");
    }
    Ok(())
}

/// Something else has built the image, or its building failed behind the hook.
pub(super) fn not_that_image(release: &str) -> String {
    format!(
        "the image of kernel {release} is not the one that originboot was built into: update-initramfs -u -k {release}"
    )
}

/// Looks whether each image was built with this plan.
fn report(target: &Root, plan: &BootPlan, releases: &[String]) -> Outcome {
    let mut outcome = Outcome::Fine;
    for release in releases {
        let built = built_plan(target, release);
        if built.is_some() && !image_is_built(target, release) {
            eprintln!("originboot: {}", not_that_image(release));
            outcome = Outcome::Findings;
        } else if built.as_ref() == Some(plan) {
            println!("kernel {release}: the image is protected");
        } else {
            eprintln!(
                "originboot: kernel {release}: the image was built without originboot; see what update-initramfs said: \
                 update-initramfs -u -v -k {release}"
            );
            outcome = Outcome::Findings;
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_made_on_the_machine_itself_and_where_nobody_says_no() {
        assert!(stamp_is_wanted(StampChoice::Auto, true, false));
        assert!(!stamp_is_wanted(StampChoice::None, true, false));
        assert!(!stamp_is_wanted(StampChoice::Auto, false, false));
        assert!(!stamp_is_wanted(StampChoice::Auto, true, true));
    }
}
