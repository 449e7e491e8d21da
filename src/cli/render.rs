//! From a stack and a system to rendered files: what `generate` and `install` share.

use super::check::facts::{self, Texts};
use super::{Look, Usage};
use crate::device::Inventory;
use crate::dialect::{self, KernelModules, RenderError, Rendered, lvm_config, resolve};
use crate::mdadm_conf::{ImageLine, Source, files, image_lines};
use crate::settings::{BootPlan, NoPlan, PvRole, StackItem, plan_for};
use crate::sys::Root;
use crate::sys::host::{KernelTexts, built_plan, find_tool, generated_kernels, kernels, read_settings};
use anyhow::{Context as _, bail};
use std::path::PathBuf;

/// Longest of LVM's files that is read, in bytes: `lvm.conf` has 120 KB, nearly all comment.
const MAX_LVM: u64 = 4 << 20;

/// Longest mdadm.conf that is read, in bytes.
const MAX_MDADM_CONF: u64 = 16 << 20;

/// The system that images are built on, as against the stack that they are built for.
#[derive(Debug, Clone, clap::Args)]
pub struct Target {
    /// Take kernel modules, tools and settings from this folder instead of /
    #[arg(long, value_name = "DIR", default_value = "/", hide_default_value = true)]
    pub tools_root: PathBuf,
}

/// What the stack is and what is wanted for it.
pub(super) struct Wanted {
    pub(super) target: Root,
    pub(super) inventory: Inventory,
    /// `Err`: root needs nothing, with the reason.
    pub(super) plan: Result<BootPlan, NoPlan>,
    /// Physical volumes that the image could not recognise, a sentence each.
    pub(super) unknown: Vec<String>,
    /// What the image's mdadm.conf lacks; `Err`: why it stays as it is, a sentence.
    arrays: Result<Vec<ImageLine>, String>,
}

/// What one kernel's image is to hold.
pub(super) enum Outfit {
    /// The rendered files.
    Files(Vec<Rendered>),
    /// Something is missing, a sentence each.
    Missing(Vec<String>),
}

impl Target {
    /// Reads settings and stack.
    ///
    /// # Errors
    /// [`Usage`] for a wrong settings file; a sentence with what could not be looked at.
    pub(super) fn wanted(&self, look: &Look) -> anyhow::Result<Wanted> {
        let target = Root::new(&self.tools_root)?;
        let settings = read_settings(&target).map_err(|e| Usage(e.to_string()))?;
        let (root, inventory) = look.inventory()?;
        let mut plan = plan_for(&inventory, "/", settings.policy);
        let mut unknown = Vec::new();
        if let Ok(plan) = &mut plan {
            let known = generated_kernels(&target);
            for older in known.iter().filter_map(|release| built_plan(&target, release)) {
                plan.remember(&older, &inventory);
            }
            unknown = unknown_pvs(&inventory, plan);
        }
        match plan {
            Err(e @ (NoPlan::NotMounted(_) | NoPlan::NoText(_))) => Err(e.into()),
            plan => {
                let arrays = arrays(&target, &root, &inventory);
                Ok(Wanted { target, inventory, plan, unknown, arrays })
            }
        }
    }
}

/// Physical volumes of root's VG that hold something, were not seen, and of which no earlier plan knows what stands below
/// them. One on a logical volume is never looked into.
fn unknown_pvs(inventory: &Inventory, plan: &BootPlan) -> Vec<String> {
    let Some(root) = &plan.root else { return Vec::new() };
    let nested = inventory.devices.iter().find(|device| {
        let of_root = device.lv_ids().is_some_and(|(vg, _)| vg == root.vg_id);
        let on_another = |d: &crate::device::Device| d.lv_ids().is_some_and(|(vg, _)| vg != root.vg_id);
        of_root && inventory.down_from(&device.name).into_iter().any(on_another)
    });
    let unknown = plan.pvs.iter().filter(|pv| {
        let blank = pv.stack.contains(&StackItem::Unseen);
        pv.vg == root.vg && pv.role != PvRole::Unused && blank && inventory.pv(&pv.id).is_none()
    });
    unknown
        .map(|pv| match nested {
            Some(lv) => format!(
                "a physical volume of {} (was {}) is not seen, and {} stands on a logical volume, which originboot does not \
                 look into: move it to a disk (pvmove), or the image cannot recognise it",
                pv.vg,
                pv.device,
                lv.path()
            ),
            None => format!(
                "a physical volume of {} (was {}, {}) is missing and no earlier image remembers it, so the image could not \
                 recognise it: reconnect it, or detach it first (lvconvert --uncache, vgreduce --removemissing {})",
                pv.vg,
                pv.device,
                pv.role.as_str(),
                pv.vg
            ),
        })
        .collect()
}

/// The lines for the image's mdadm.conf, by the file that mdadm's hook copies from `target`.
fn arrays(target: &Root, root: &Root, inventory: &Inventory) -> Result<Vec<ImageLine>, String> {
    let mut source = None;
    for candidate in files::candidates(true) {
        let path = candidate.file;
        if let Some(bytes) =
            target.read(path, MAX_MDADM_CONF).map_err(|e| format!("{e}; the image gets no line added"))?
        {
            source = Some(Source { path: path.to_owned(), bytes });
            break;
        }
    }
    let texts = Texts::read(root);
    image_lines(source.as_ref(), facts::version(target), &texts.host(inventory))
}

impl Wanted {
    /// Renders for one kernel.
    ///
    /// # Errors
    /// [`Usage`] for a kernel that is not installed; a sentence with what could not be read.
    pub(super) fn outfit(&self, plan: &BootPlan, release: &str) -> anyhow::Result<Outfit> {
        let Some(texts) = KernelTexts::read(&self.target, release).context("reading the kernel's modules")? else {
            let list = kernels(&self.target)?;
            let known: Vec<&str> = list.iter().map(String::as_str).collect();
            let there = if known.is_empty() { "none is installed".to_owned() } else { known.join(", ") };
            bail!(Usage(format!(
                "kernel {release} has no /lib/modules/{release}/modules.dep (there is: {there}); if it is installed, run \
                 depmod {release}"
            )));
        };
        let kernel = KernelModules::parse(texts.files());
        let needs = dialect::requirements_for(&self.inventory, plan);
        let mut missing = Vec::new();
        let modules = resolve::modules(&needs, &kernel).unwrap_or_else(|all| {
            missing.extend(all.iter().map(ToString::to_string));
            Vec::new()
        });
        let tools = resolve::tools(&needs, |name| find_tool(&self.target, name)).unwrap_or_else(|all| {
            missing.extend(all.iter().map(ToString::to_string));
            Vec::new()
        });
        if !missing.is_empty() {
            return Ok(Outfit::Missing(missing));
        }
        let version = env!("CARGO_PKG_VERSION");
        let arrays = self.arrays.as_deref().unwrap_or_default();
        let input = dialect::Input { version, kernel: &kernel, modules: &modules, tools: &tools, plan, arrays };
        match dialect::initramfs_tools(input) {
            Ok(files) => Ok(Outfit::Files(files)),
            Err(e @ RenderError::Control { .. }) => Ok(Outfit::Missing(vec![e.to_string()])),
            Err(e) => Err(e.into()),
        }
    }

    /// What would keep the image from working although everything is there: a sentence each.
    ///
    /// # Errors
    /// A sentence with what could not be read.
    pub(super) fn warnings(&self, plan: &BootPlan) -> anyhow::Result<Vec<String>> {
        let needs = dialect::requirements_for(&self.inventory, plan);
        let tools = resolve::tools(&needs, |name| find_tool(&self.target, name)).unwrap_or_default();
        let mut warnings = resolve::missing_links(&needs, &tools);
        let text = |path: &str| -> anyhow::Result<Option<String>> {
            Ok(self.target.read(path, MAX_LVM)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
        };
        let (conf, devices) = (text("/etc/lvm/lvm.conf")?, text("/etc/lvm/devices/system.devices")?);
        let files = lvm_config::LvmFiles { conf: conf.as_deref(), devices: devices.as_deref() };
        warnings.extend(lvm_config::findings(files, plan));
        warnings.extend(self.arrays.as_ref().err().cloned());
        Ok(warnings)
    }
}
