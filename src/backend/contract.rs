//! What every backend of [`ALL`] keeps to, whatever its technology. The volume groups are those of `tests/fixtures/lvm`
//! and `tests/golden`, written by lvm2, and their variations: other modes, a flush under way, each area on each other
//! physical volume, words that nobody knows. A new backend adds its own texts to [`TEXTS`]; nothing else is needed here.

use super::{ALL, Backend, CacheSet};
use crate::decide::{Clock, Decision, Plan, Situation, StepAction, Verdict, decide};
use crate::device::lvm::{Area, CacheMode, Id, MdaText, PvLabel, PvScan, Vg, VgSeen, volume_groups};
use crate::device::testing::fixture;
use crate::device::{Content, DevNo, Device, DeviceKind, Hardware, Inventory};
use crate::settings::{Action, BootPlan, CommandLine, PlannedMount, Policy};

macro_rules! golden {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/", $name, "/vg.text"))
    };
}

const TEXTS: &[(&str, &str)] = &[
    ("pool-writethrough", fixture!("lvm/pool-writethrough.vg")),
    ("pool-writeback", fixture!("lvm/pool-writeback.vg")),
    ("cachevol-writethrough", fixture!("lvm/cachevol-writethrough.vg")),
    ("cachevol-passthrough", fixture!("lvm/cachevol-passthrough.vg")),
    ("writecache", fixture!("lvm/writecache.vg")),
    ("many-types", fixture!("lvm/many-types.vg")),
    ("golden cachevol", golden!("cachevol-writethrough")),
    ("golden luks", golden!("luks")),
    ("golden raid5-raid0", golden!("raid5-raid0")),
    ("golden two-caches", golden!("two-caches")),
];

/// Every fixture, with each mode, without a mode, with a flush under way, and with one area after the other moved to
/// another physical volume. Each is a volume group that this program reads.
fn texts() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (name, text) in TEXTS {
        all.push(((*name).to_owned(), (*text).to_owned()));
        for mode in ["writethrough", "writeback", "passthrough"] {
            all.push((format!("{name}, {mode}"), lines(text, |l| mode_line(l, &format!("cache_mode = \"{mode}\"")))));
        }
        all.push((format!("{name}, no mode"), lines(text, |l| mode_line(l, ""))));
        all.push((
            format!("{name}, flush under way"),
            lines(
                text,
                |l| if l.trim_start().starts_with("origin =") { format!("{l}\ncleaner = 1") } else { l.into() },
            ),
        ));
        all.extend(moved(text).into_iter().enumerate().map(|(n, t)| (format!("{name}, area {n} moved"), t)));
    }
    all.retain(|(_, text)| Vg::from_text(text.as_bytes()).is_ok());
    assert!(all.len() > 80, "{}", all.len());
    all
}

/// The fixtures with a word in the cache's description that this program does not know.
fn strange_texts() -> Vec<(String, String)> {
    let words = [
        ("cache_mode = \"write", "cache_mode = \"other"),
        ("cache_mode = \"pass", "cache_mode = \"other"),
        ("type = \"cache", "type = \"cache+STRANGE_FLAG"),
        ("type = \"cache-pool", "type = \"cache-pool+STRANGE_FLAG"),
        ("type = \"cache\"", "type = \"cache9\""),
        ("cache_mode = \"", "cache_mode = 7 # \""),
    ];
    let mut all = Vec::new();
    for (name, text) in TEXTS {
        for (from, to) in words.iter().filter(|(from, _)| text.contains(from)) {
            all.push((format!("{name}, {to}"), text.replacen(from, to, 1)));
        }
    }
    assert!(all.len() > 20, "{}", all.len());
    all
}

fn lines(text: &str, change: impl Fn(&str) -> String) -> String {
    text.lines().map(change).collect::<Vec<_>>().join("\n")
}

fn mode_line(line: &str, with: &str) -> String {
    if line.trim_start().starts_with("cache_mode =") { with.to_owned() } else { line.to_owned() }
}

fn moved(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for (at, _) in text.match_indices("\n\"pv") {
        let number = at + 4;
        for other in ["0", "1", "2"] {
            if text[number..].starts_with(other) || !text.contains(&format!("\npv{other} {{")) {
                continue;
            }
            all.push(format!("{}{other}{}", &text[..number], &text[number + 1..]));
        }
    }
    all
}

/// A machine with the VG of this text, without the physical volumes that are gone.
fn machine(text: &str, gone: &[Id]) -> Inventory {
    // A text that does not read as a VG is still on a disk: then no id of its own is needed.
    let pvs = Vg::from_text(text.as_bytes()).map(|vg| vg.pvs.iter().map(|pv| (pv.id, pv.dev_size)).collect::<Vec<_>>());
    let pvs = pvs.unwrap_or_else(|_| vec![(Id::parse("hddhdd-0000-0000-0000-0000-0000-000001").unwrap(), 131_072)]);
    let device = |(n, (id, size)): (usize, (Id, u64))| {
        let area = Area { offset: 4096, size: 1_044_480 };
        let (data_areas, metadata_areas) = (Vec::new(), vec![area]);
        let label = PvLabel {
            id,
            sector: 1,
            device_size: size * 512,
            data_areas,
            metadata_areas,
            ext_version: 2,
            ext_flags: 1,
        };
        let texts = vec![MdaText { area, crc: 1, text: text.into() }];
        Device {
            name: format!("vd{n}"),
            devno: DevNo { major: 254, minor: u32::try_from(n).unwrap() },
            sectors: size,
            read_only: false,
            kind: DeviceKind::Disk,
            below: Vec::new(),
            hardware: Hardware::default(),
            container: None,
            content: Content::Pv(Box::new(PvScan { label, texts, errors: Vec::new() })),
        }
    };
    let there = pvs.into_iter().enumerate().filter(|(_, (id, _))| !gone.contains(id));
    Inventory { devices: there.map(device).collect(), ..Inventory::default() }
}

fn groups(inventory: &Inventory) -> Vec<VgSeen> {
    volume_groups(inventory.pvs().map(|(_, scan)| scan))
}

/// Each way in which some of the physical volumes, but not all, are gone.
fn losses(vg: &Vg) -> Vec<Vec<Id>> {
    let all = 1_usize << vg.pvs.len();
    let of = |mask: usize| vg.pvs.iter().enumerate().filter(|(n, _)| mask >> n & 1 == 1).map(|(_, pv)| pv.id).collect();
    (1..all - 1).map(of).collect()
}

/// What the boot would do at the last moment, were every verdict good enough: only the rules are left to forbid it.
fn recklessly(inventory: &Inventory, group: &VgSeen, root: &str) -> Decision {
    let lv = group.vg.lv(root).unwrap();
    let root = PlannedMount {
        vg: group.vg.name.clone(),
        vg_id: group.vg.id,
        lv: lv.name.clone(),
        lv_id: lv.id,
        fs: "ext4".into(),
        system_id: group.vg.system_id.clone(),
    };
    let policy =
        Policy { safe: Action::Detach, bounded: Action::Detach, unknown: Action::Detach, unsafe_: Action::Detach };
    let plan = BootPlan { root: Some(root), policy, pvs: Vec::new() };
    let clock = Clock { now: 30, origin_complete: Some(1), limit: 30, arrays_started: true };
    decide(&Situation { inventory, plan: &plan, line: &CommandLine::default(), clock })
}

/// Every decision for every LV a person made, in every text, with every loss.
fn every_decision(texts: &[(String, String)], mut look: impl FnMut(&str, &VgSeen, &[Id], &Decision)) {
    for (name, text) in texts {
        let Ok(vg) = Vg::from_text(text.as_bytes()) else { continue };
        for gone in losses(&vg) {
            let inventory = machine(text, &gone);
            for group in &groups(&inventory) {
                for root in group.vg.visible_lvs() {
                    let what = format!("{name}; root {}; gone {gone:?}", root.name);
                    look(&what, group, &gone, &recklessly(&inventory, group, &root.name));
                }
            }
        }
    }
}

fn every_set(mut look: impl FnMut(&str, &dyn Backend, &Inventory, &VgSeen, &CacheSet)) {
    for backend in ALL {
        let mut seen = 0;
        for (name, text) in texts() {
            let inventory = machine(&text, &[]);
            for group in &groups(&inventory) {
                for set in backend.discover(std::slice::from_ref(group)) {
                    seen += 1;
                    look(&format!("{name}; {}", set.name()), *backend, &inventory, group, &set);
                }
            }
        }
        assert!(seen > 20, "{:?}: no texts for this backend in TEXTS", backend.kind());
    }
}

/// LVs that lie on what is gone and are neither a cache nor LVM's empty spare.
fn lost<'a>(vg: &'a Vg, gone: &[Id]) -> Vec<&'a str> {
    let sets: Vec<CacheSet> =
        ALL.iter().flat_map(|b| b.discover(&groups(&machine(&vg.tree.to_string(), &[])))).collect();
    let spared = |lv: &str| {
        let below = |top: &str| vg.closure(top).iter().any(|l| l.name == lv);
        below("lvol0_pmspare") || sets.iter().any(|s| below(&s.pool))
    };
    let on_gone = |name: &&str| gone.contains(&vg.pv_named(name).unwrap().id);
    vg.lvs
        .iter()
        .filter(|lv| vg.pvs_of(lv).iter().any(on_gone))
        .map(|lv| lv.name.as_str())
        .filter(|lv| !spared(lv))
        .collect()
}

fn writing(decision: &Decision) -> Option<&Plan> {
    match decision {
        Decision::Act(plan) if plan.writes_vg() => Some(plan),
        _ => None,
    }
}

#[test]
fn each_kind_is_registered_once_and_has_its_own_word() {
    for (at, backend) in ALL.iter().enumerate() {
        assert!(!ALL[..at].iter().any(|b| b.kind() == backend.kind() || b.kind().as_str() == backend.kind().as_str()));
    }
}

#[test]
fn discover_says_the_same_twice_and_names_only_what_is_in_the_text() {
    every_set(|name, backend, inventory, group, set| {
        assert_eq!(backend.discover(&groups(inventory)), backend.discover(&groups(inventory)), "{name}");
        assert_eq!((set.backend, &set.vg, set.vg_id), (backend.kind(), &group.vg.name, group.vg.id), "{name}");
        assert_eq!(group.vg.lv(&set.lv).map(|lv| lv.id), Some(set.lv_id), "{name}");
        for (lv, pvs) in [(&set.origin, &set.origin_pvs), (&set.pool, &set.cache_pvs)] {
            assert!(group.vg.closure(&set.lv).iter().any(|l| l.name == *lv), "{name}: {lv} is not below the cached LV");
            assert!(!pvs.is_empty() && pvs.iter().all(|id| group.vg.pv(id).is_some()), "{name}: {pvs:?} below {lv}");
        }
    });
}

#[test]
fn discover_does_not_depend_on_what_is_there() {
    for (name, text) in texts() {
        let vg = Vg::from_text(text.as_bytes()).unwrap();
        let all = groups(&machine(&text, &[]));
        for gone in losses(&vg) {
            let left = groups(&machine(&text, &gone));
            for backend in ALL {
                assert_eq!(backend.discover(&all), backend.discover(&left), "{name} without {gone:?}");
            }
        }
    }
}

#[test]
fn a_verdict_is_never_better_than_the_mode_allows_without_evidence() {
    every_set(|name, backend, inventory, group, set| {
        let bare = Inventory { inside: Vec::new(), ..inventory.clone() };
        let assessed = backend.assess(&bare, group, set);
        match set.mode {
            CacheMode::Writeback => assert_eq!(assessed.verdict, Verdict::Unsafe, "{name}"),
            CacheMode::Writethrough => assert!(assessed.verdict >= Verdict::Unknown, "{name}"),
            CacheMode::Passthrough => {}
        }
        assert!(!assessed.evidence.is_empty(), "{name}: a verdict without a reason");
        assert!(assessed.evidence.iter().all(|e| !e.fact.is_empty() && !e.source.is_empty()), "{name}: {assessed:?}");
    });
}

#[test]
fn a_verdict_does_not_improve_when_evidence_is_taken_away() {
    every_set(|name, backend, inventory, group, set| {
        let full = backend.assess(inventory, group, set).verdict;
        let nothing = Inventory::default();
        assert!(backend.assess(&nothing, group, set).verdict >= full, "{name}: an empty inventory");
        for at in 0..inventory.devices.len() {
            let mut less = inventory.clone();
            let without = less.devices.remove(at);
            assert!(backend.assess(&less, group, set).verdict >= full, "{name}: without {}", without.name);
        }
    });
}

#[test]
fn a_mode_or_flag_that_nobody_knows_is_never_written_over() {
    let mut seen = 0;
    every_decision(&strange_texts(), |name, _, _, decision| {
        seen += 1;
        assert!(writing(decision).is_none(), "{name}: {decision:?}");
    });
    assert!(seen > 20, "{seen}");
    // A mode that is no mode: the text counts as unreadable, so no backend may find anything in it.
    for (name, text) in strange_texts().into_iter().filter(|(name, _)| name.contains("cache_mode")) {
        let found: Vec<CacheSet> = ALL.iter().flat_map(|b| b.discover(&groups(&machine(&text, &[])))).collect();
        assert!(found.is_empty(), "{name}: {found:?}");
    }
}

#[test]
fn a_vg_is_written_only_when_no_lv_is_lost_and_every_origin_is_whole() {
    let (mut written, mut kept) = (0, 0);
    every_decision(&texts(), |name, group, gone, decision| {
        let lost = lost(&group.vg, gone);
        let Some(plan) = writing(decision) else {
            kept += usize::from(!lost.is_empty());
            return;
        };
        written += 1;
        assert!(lost.is_empty(), "{name}: {lost:?} would be given up by {:?}", plan.steps);
        let sets: Vec<CacheSet> = ALL.iter().flat_map(|b| b.discover(std::slice::from_ref(group))).collect();
        let touched: Vec<&CacheSet> = sets.iter().filter(|s| s.cache_pvs.iter().any(|id| gone.contains(id))).collect();
        assert!(!touched.is_empty(), "{name}: nothing to detach");
        assert!(touched.iter().all(|s| s.origin_pvs.iter().all(|id| !gone.contains(id))), "{name}");
        let worst = touched.iter().filter_map(|s| {
            let backend = ALL.iter().find(|b| b.kind() == s.backend)?;
            Some(backend.assess(&Inventory::default(), group, s).verdict)
        });
        assert_eq!(Some(plan.verdict), worst.max(), "{name}: the worst verdict of the PV counts");
    });
    assert!(written > 50 && kept > 50, "written {written}, kept {kept}");
}

#[test]
fn steps_name_only_what_is_there_and_what_is_gone_is_only_removed_and_fenced() {
    let mut seen = 0;
    every_decision(&texts(), |name, group, gone, decision| {
        let Some(plan) = writing(decision) else { return };
        seen += 1;
        assert!(plan.visible.iter().all(|id| !gone.contains(id)), "{name}: {:?}", plan.visible);
        assert_eq!(plan.visible.len() + gone.len(), group.vg.pvs.len(), "{name}");
        let sets: Vec<CacheSet> = ALL.iter().flat_map(|b| b.discover(std::slice::from_ref(group))).collect();
        let mut detached: Vec<&str> = Vec::new();
        for step in &plan.steps {
            assert!(!step.why.is_empty(), "{name}: {step:?}");
            match &step.action {
                StepAction::Uncache { lv, .. } => {
                    let set = sets.iter().find(|s| s.lv == *lv);
                    let set = set.unwrap_or_else(|| panic!("{name}: {lv} is not cached"));
                    assert!(set.cache_pvs.iter().any(|id| gone.contains(id)), "{name}: {lv}'s cache is there");
                    assert!(set.origin_pvs.iter().all(|id| plan.visible.contains(id)), "{name}: {lv}");
                    detached.push(lv);
                }
                StepAction::Restore { text, .. } => {
                    let after = Vg::from_text(text.as_bytes()).unwrap();
                    assert!(after.pvs.iter().all(|pv| plan.visible.contains(&pv.id)), "{name}: {:?}", after.pvs);
                    assert_eq!((after.id, &after.name), (group.vg.id, &group.vg.name), "{name}");
                    detached.extend(sets.iter().filter(|s| after.lv(&s.pool).is_none()).map(|s| s.lv.as_str()));
                }
                StepAction::RemoveSpare { lv } => assert_eq!(lv, "lvol0_pmspare", "{name}"),
                StepAction::Activate { lv } => assert!(group.vg.lv(lv).is_some(), "{name}: {lv}"),
                StepAction::Fence { tag } => {
                    assert!(gone.iter().any(|id| tag.ends_with(&id.compact())), "{name}: {tag} fences what is there");
                }
                StepAction::Preview { .. } => panic!("{name}: a layer in a plan that writes"),
                StepAction::Backup | StepAction::RemoveMissing | StepAction::ActivateAll => {}
            }
        }
        let touched = sets.iter().filter(|s| s.cache_pvs.iter().any(|id| gone.contains(id)));
        assert_eq!(touched.filter(|s| !detached.contains(&s.lv.as_str())).count(), 0, "{name}: {:?}", plan.steps);
        for id in gone {
            let tag = id.compact();
            let fenced =
                |s: &&crate::decide::Step| matches!(&s.action, StepAction::Fence { tag: t } if t.ends_with(&tag));
            assert_eq!(plan.steps.iter().filter(fenced).count(), 1, "{name}: {id} is given up without a fence");
        }
        let first = plan.steps.iter().position(|s| s.action.writes_vg());
        let saved = plan.steps.iter().position(|s| s.action == StepAction::Backup);
        assert!(saved.is_some() && saved < first, "{name}: written before it was saved");
    });
    assert!(seen > 50, "{seen}");
}

#[cfg(feature = "cli")]
#[test]
fn what_an_image_needs_is_named_with_its_reason() {
    every_set(|name, backend, _, _, set| {
        let needed = backend.requirements(set);
        assert!(!needed.modules.is_empty() && !needed.executables.is_empty(), "{name}: {needed:?}");
        for module in &needed.modules {
            assert!(module.config.starts_with("CONFIG_"), "{name}: {module:?}");
            assert!(!module.name.is_empty() && !module.name.contains(['.', '/', ' ']), "{name}: {module:?}");
            assert!(!module.why.is_empty(), "{name}: {module:?}");
        }
        for tool in &needed.executables {
            let words = [tool.name, tool.package, tool.why];
            assert!(words.iter().all(|w| !w.is_empty()) && !tool.name.contains('/'), "{name}: {tool:?}");
        }
    });
}
