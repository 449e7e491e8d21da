//! A doubtful origin is shown where policy or the reader says so, and never where the rules do not even let it be known what
//! would be shown.

use super::*;

const LAYER: [&str; 1] = ["a layer in RAM over root_corig as root"];

impl World {
    fn shows(mut self) -> Self {
        self.plan.policy.unknown = Action::Preview;
        self.plan.policy.unsafe_ = Action::Preview;
        self
    }

    fn holds(mut self) -> Self {
        self.plan.policy.unknown = Action::Hold;
        self.plan.policy.unsafe_ = Action::Hold;
        self
    }
}

#[test]
fn policy_shows_what_is_doubtful_at_the_deadline() {
    for (text, verdict) in [(WRITETHROUGH, Verdict::Unknown), (WRITEBACK, Verdict::Unsafe)] {
        assert_eq!(World::pulled(text).shows().at(24).waits_until(), 25);
        let plan = World::pulled(text).shows().plan();
        assert_eq!((steps(&plan), plan.verdict), (LAYER.map(str::to_owned).to_vec(), verdict));
        assert!(plan.is_preview() && !plan.writes_vg());
        assert!(plan.reasons.iter().any(|r| r.contains(verdict.as_str())), "{:?}", plan.reasons);
        assert!(plan.reasons.iter().any(|r| r.contains("lost at power-off")), "{:?}", plan.reasons);
    }
    // What is safe is not only shown.
    assert!(World::pulled(PASSTHROUGH).shows().plan().writes_vg());
}

#[test]
fn the_reader_may_ask_for_it_and_may_forbid_it() {
    for text in [WRITETHROUGH, WRITEBACK, PASSTHROUGH] {
        let asked = World::pulled(text).holds().opted_in().asks(Request::Preview);
        assert_eq!(steps(&asked.plan()), LAYER, "{text}");
    }
    assert_eq!(World::pulled(WRITEBACK).shows().asks(Request::Hold).refusal().code, "HELD");
    let unknown = Request::Unknown { value: "previw".into() };
    assert_eq!(World::pulled(WRITEBACK).shows().asks(unknown).refusal().code, "DIRTY");
}

#[test]
fn a_refusal_by_policy_names_it() {
    let refusal = World::pulled(WRITEBACK).holds().refusal();
    assert!(refusal.remedy.iter().any(|r| r.contains("\"originboot preview\"")), "{:?}", refusal.remedy);
    assert!(refusal.token.is_some());
}

#[test]
fn a_token_still_detaches() {
    let token = World::pulled(WRITEBACK).holds().refusal().token.unwrap();
    assert!(World::pulled(WRITEBACK).shows().asks(Request::Detach { token }).plan().writes_vg());
    // One of another case does not, and what is shown stays shown.
    assert_eq!(steps(&World::pulled(WRITEBACK).shows().asks(Request::Detach { token: "0".into() }).plan()), LAYER);
}

#[test]
fn what_the_rules_forbid_is_not_shown_either() {
    let of = |world: World| {
        let asked = World { line: CommandLine { request: Request::Preview, ..world.line.clone() }, ..world };
        asked.refusal().code
    };
    let shows = |text: &str| World::pulled(text).shows();
    let swap = || device("vdc", Content::Swap { uuid: String::new(), hibernated: true });
    assert_eq!(shows(WRITEBACK).with(swap()).refusal().code, "HIBERNATED");
    assert_eq!(of(shows(WRITEBACK).with(swap())), "HIBERNATED");
    let status = r#"status = ["RESIZEABLE", "READ", "WRITE"]"#;
    assert_eq!(of(shows(&changed(WRITEBACK, status, r#"status = ["READ", "WRITE"]"#))), "NOT_RESIZEABLE");
    assert_eq!(of(shows(&changed(WRITEBACK, status, &format!("{status}\nlock_type = \"dlm\"")))), "LOCK_TYPE");
    let mut away = shows(WRITEBACK);
    away.inventory.devices = vec![pv("vdb", ssd(), WRITEBACK)];
    assert_eq!(of(away), "ORIGIN_MISSING");
    let luks = StackItem::Luks { uuid: "1-2".into() };
    let container = device("vdc", Content::Luks { version: 2, uuid: "1-2".into() });
    assert_eq!(of(shows(WRITEBACK).below_ssd(luks).with(container)), "LOCKED");
    let mut crash = shows(WRITEBACK);
    crash.inventory.crash_kernel = true;
    assert!(matches!(crash.decide(), Decision::Nothing { .. }));
}

#[test]
fn what_cannot_be_mapped_is_held_with_the_reason() {
    // root_corig is one segment on a raid10 that this text does not even hold the legs of.
    let raid = "type = \"raid10\"\ndevice_count = 2\nregion_size = 1024\nraids = [\n\"fast_cpool_cmeta\", \
                \"fast_cpool_cdata\",\n\"fast_cpool_cmeta\", \"fast_cpool_cdata\"\n]";
    let begin = WRITEBACK.find("root_corig {").unwrap();
    let (head, tail) = WRITEBACK.split_at(begin);
    let tail = tail.replacen("type = \"striped\"\nstripe_count = 1\n\nstripes = [\n\"pv0\", 0\n]", raid, 1);
    let tail = tail.replacen("segment_count = 2", "segment_count = 1", 1);
    let second = tail.find("segment2 {").unwrap();
    let end = second + tail[second..].find("}\n").unwrap() + 2;
    let tail = format!("{}{}", &tail[..second], &tail[end..]);
    let world = World::pulled(&format!("{head}{tail}")).shows();
    let Decision::Refuse(refusal) = world.decide() else { panic!("{:?}", world.decide()) };
    assert!(!refusal.reasons.is_empty() && !refusal.remedy.iter().any(|r| r.contains("originboot preview")));
}

#[test]
fn a_plain_root_needs_none() {
    let plan = plain_root(WRITETHROUGH).opted_in().asks(Request::Preview).plan();
    assert_eq!(steps(&plan), ["lvchange -ay home"]);
}
