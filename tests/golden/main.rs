//! What the generator renders, compared file by file. Each folder beside this file is one scenario: `vg.text` as lvm2
//! wrote it in a VM, `stack.plan` with what stands below its PVs, and per dialect a folder of the expected files.
//! `GOLDEN=overwrite cargo test --test golden` writes them anew.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test looks at the machine, and a panic is how it fails"
)]

use originboot::device::lvm::{Area, Id, MdaText, PvLabel, PvScan, Vg};
use originboot::device::{Content, DevNo, Device, DeviceKind, Hardware, Inventory};
use originboot::dialect::{self, Dialect, KernelFiles, KernelModules, MANIFEST, Rendered, resolve};
use originboot::mdadm_conf::ImageLine;
use originboot::settings::BootPlan;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const KERNEL: &str = "6.12.117+deb13-cloud-amd64";

/// The links of Debian 13's thin-provisioning-tools that have to do with caches and thin pools.
const PDATA_LINKS: &[&str] = &[
    "cache_check",
    "cache_dump",
    "cache_metadata_size",
    "cache_repair",
    "cache_restore",
    "cache_writeback",
    "thin_check",
    "thin_dump",
    "thin_repair",
    "thin_restore",
];

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn scenarios() -> Vec<PathBuf> {
    let entries = fs::read_dir(here()).unwrap().map(|e| e.unwrap().path());
    let mut found: Vec<_> = entries.filter(|p| p.join("stack.plan").exists()).collect();
    found.sort();
    assert!(found.len() >= 4, "{found:?}");
    found
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// An inventory in which every PV of this VG is there.
fn inventory(vg_text: &str) -> Inventory {
    let vg = Vg::from_text(vg_text.as_bytes()).unwrap();
    let devices = vg.pvs.iter().enumerate().map(|(n, pv)| Device {
        name: format!("pv{n}"),
        devno: DevNo { major: 8, minor: u32::try_from(n).unwrap() },
        sectors: pv.dev_size,
        read_only: false,
        kind: DeviceKind::Disk,
        below: Vec::new(),
        hardware: Hardware::default(),
        container: None,
        content: Content::Pv(Box::new(scan(pv.id, vg_text))),
    });
    Inventory { devices: devices.collect(), ..Inventory::default() }
}

fn scan(id: Id, text: &str) -> PvScan {
    let area = Area { offset: 4096, size: 1_044_480 };
    let label = PvLabel {
        id,
        sector: 1,
        device_size: 0,
        data_areas: Vec::new(),
        metadata_areas: vec![area],
        ext_version: 2,
        ext_flags: 1,
    };
    PvScan { label, texts: vec![MdaText { area, crc: 0, text: text.into() }], errors: Vec::new() }
}

fn render(scenario: &Path, modules: impl Fn(&mut String)) -> Result<Vec<Rendered>, String> {
    let folder = here().join("kernel/lib/modules").join(KERNEL);
    let mut dep = text(&folder.join("modules.dep"));
    modules(&mut dep);
    let (alias, builtin) = (text(&folder.join("modules.alias")), text(&folder.join("modules.builtin")));
    let (modinfo, softdep) = (text(&folder.join("modules.builtin.modinfo")), text(&folder.join("modules.softdep")));
    let kernel = KernelModules::parse(KernelFiles {
        release: KERNEL,
        dep: &dep,
        alias: &alias,
        builtin: &builtin,
        builtin_modinfo: &modinfo,
        softdep: &softdep,
    });
    let plan = BootPlan::parse(&text(&scenario.join("stack.plan"))).unwrap();
    let needs = dialect::requirements_for(&inventory(&text(&scenario.join("vg.text"))), &plan);
    let first = |e: Vec<resolve::MissingModule>| e.first().map(ToString::to_string).unwrap_or_default();
    let modules = resolve::modules(&needs, &kernel).map_err(first)?;
    let find = |name: &str| {
        let links = if name == "pdata_tools" { PDATA_LINKS } else { &[] };
        Some((format!("/usr/sbin/{name}"), links.iter().map(|l| format!("/usr/sbin/{l}")).collect()))
    };
    let tools = resolve::tools(&needs, find).unwrap();
    assert!(resolve::missing_links(&needs, &tools).is_empty());
    let arrays = arrays(scenario);
    let input = dialect::Input {
        version: "0.0.0",
        kernel: &kernel,
        modules: &modules,
        tools: &tools,
        plan: &plan,
        arrays: &arrays,
    };
    Ok(dialect::initramfs_tools(input).unwrap())
}

/// ARRAY lines that mdadm.conf of this scenario lacks: `array.lines`.
fn arrays(scenario: &Path) -> Vec<ImageLine> {
    let lines = fs::read_to_string(scenario.join("array.lines")).unwrap_or_default();
    let word = |line: &str, n| line.split(' ').nth(n).unwrap().to_owned();
    lines
        .lines()
        .map(|line| ImageLine {
            name: word(line, 1),
            uuid: line.split_once("UUID=").unwrap().1.to_owned(),
            line: line.to_owned(),
        })
        .collect()
}

fn rendered(scenario: &Path) -> Vec<Rendered> {
    render(scenario, |_| {}).unwrap()
}

#[test]
fn every_scenario_renders_as_expected() {
    let mut differing = Vec::new();
    for scenario in scenarios() {
        let folder = scenario.join(Dialect::InitramfsTools.as_str());
        let files = rendered(&scenario);
        assert_eq!(files, rendered(&scenario), "rendering twice");
        if std::env::var_os("GOLDEN").is_some_and(|v| v == "overwrite") {
            fs::create_dir_all(&folder).unwrap();
            files.iter().for_each(|f| fs::write(folder.join(f.name), &f.text).unwrap());
        }
        for file in &files {
            let path = folder.join(file.name);
            if fs::read(&path).ok().as_deref() != Some(file.text.as_bytes()) {
                differing.push(format!("{}\n{}", path.display(), file.text));
            }
        }
        assert_eq!(fs::read_dir(&folder).map(Iterator::count).ok(), Some(files.len()), "{}", folder.display());
    }
    assert!(differing.is_empty(), "not as committed (GOLDEN=overwrite writes anew):\n{}", differing.join("\n"));
}

#[test]
fn the_plan_in_the_image_reads_back() {
    for scenario in scenarios() {
        let file = rendered(&scenario).into_iter().find(|f| f.name == "boot.plan").unwrap();
        let asked = BootPlan::parse(&text(&scenario.join("stack.plan"))).unwrap();
        assert_eq!(BootPlan::parse(&file.text).unwrap(), asked, "{}", scenario.display());
    }
}

#[test]
fn the_manifest_holds_the_sums_that_sha256sum_checks() {
    let dir = tempfile::tempdir().unwrap();
    let scenario = scenarios().remove(0);
    for file in rendered(&scenario) {
        fs::write(dir.path().join(file.name), &file.text).unwrap();
    }
    let check = || Command::new("sha256sum").args(["--check", "--strict", MANIFEST]).current_dir(dir.path()).output();
    assert!(check().unwrap().status.success());
    fs::write(dir.path().join("hook.sh"), "exit 0\n").unwrap();
    assert!(!check().unwrap().status.success());
}

#[test]
fn a_kernel_without_a_module_is_named_with_its_option() {
    let without = |name: &'static str| {
        let cut = move |dep: &mut String| {
            let file = format!("/{name}.ko");
            *dep = dep
                .lines()
                .filter(|l| !l.split(':').next().unwrap().contains(&file))
                .map(|l| format!("{l}\n"))
                .collect();
        };
        render(&here().join("raid5-raid0"), cut).unwrap_err()
    };
    for (file, module, option) in [
        ("dm-cache", "dm_cache", "CONFIG_DM_CACHE"),
        ("dm-cache-smq", "dm-cache-smq", "CONFIG_DM_CACHE_SMQ"),
        ("raid456", "raid456", "CONFIG_MD_RAID456"),
        ("raid0", "raid0", "CONFIG_MD_RAID0"),
    ] {
        let sentence = without(file);
        assert!(
            sentence.starts_with(&format!("kernel {KERNEL} has no {module} ({option}), needed because: ")),
            "{sentence}"
        );
    }
}

/// Scripts under `hooks/`, and every one that is rendered.
fn scripts(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for scenario in scenarios() {
        let name = scenario.file_name().unwrap().to_str().unwrap().to_owned();
        let path = dir.join(format!("{name}.sh"));
        let file = rendered(&scenario).into_iter().find(|f| f.name == "hook.sh").unwrap();
        fs::write(&path, &file.text).unwrap();
        found.push(path);
    }
    let mut folders = vec![here().join("../../hooks")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if fs::read(&path).unwrap().starts_with(b"#!/bin/sh") {
                assert!(text(&path).lines().count() <= 50, "{}: more than 50 lines", path.display());
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn every_script_is_clean() {
    let dir = tempfile::tempdir().unwrap();
    let scripts = scripts(dir.path());
    assert!(scripts.len() >= 8, "{scripts:?}");
    for command in [&["dash", "-n"][..], &["shellcheck"]] {
        for script in &scripts {
            match Command::new(command[0]).args(&command[1..]).arg(script).output() {
                Ok(out) => assert!(
                    out.status.success(),
                    "{}\n{}{}",
                    script.display(),
                    String::from_utf8_lossy(&out.stdout),
                    String::from_utf8_lossy(&out.stderr)
                ),
                Err(e) if std::env::var_os("CI").is_none() => eprintln!("skipped {}: {e}", command[0]),
                Err(e) => panic!("{}: {e}", command[0]),
            }
        }
    }
}
