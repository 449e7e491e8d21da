//! Table lines as kernels print them.

use proptest::prelude::*;

use super::*;

fn line(text: &str) -> TableLine {
    text.parse().unwrap()
}

fn dev(major: u32, minor: u32) -> DevNo {
    DevNo { major, minor }
}

#[test]
fn lines_of_a_cached_root() {
    let cache = line("0 83886080 cache 253:2 253:1 253:3 128 2 metadata2 writethrough smq 2 migration_threshold 2048");
    let Target::Cache(c) = &cache.target else { panic!() };
    assert_eq!((c.metadata, c.cache, c.origin), (dev(253, 2), dev(253, 1), dev(253, 3)));
    assert_eq!((c.block_size, c.mode(), c.policy.as_str()), (128, CacheMode::Writethrough, "smq"));
    assert_eq!(c.policy_args, ["migration_threshold", "2048"]);
    let linear = line("8192 16384 linear 8:17 2048");
    assert_eq!(linear.target, Target::Linear { device: dev(8, 17), offset: 2048 });
    assert_eq!((linear.start, linear.length), (8192, 16_384));
    let striped = line("0 100 striped 2 128 8:1 0 8:17 2048");
    assert_eq!(striped.target.devices(), [dev(8, 1), dev(8, 17)]);
}

#[test]
fn a_cache_without_a_mode_word_is_writeback() {
    let Target::Cache(c) = line("0 9 cache 1:1 1:2 1:3 128 0 mq 0").target else { panic!() };
    assert_eq!(c.mode(), CacheMode::Writeback);
    let Target::Cache(c) = line("0 9 cache 1:1 1:2 1:3 128 1 passthrough mq 0").target else { panic!() };
    assert_eq!(c.mode(), CacheMode::Passthrough);
}

#[test]
fn keys_are_never_kept() {
    let text = "0 100 crypt aes-xts-plain64 00112233 0 8:2 32768 1 allow_discards";
    let crypt = line(text);
    assert_eq!(crypt.target.devices(), [dev(8, 2)]);
    for known in
        [text, "0 100 crypt something new 00112233", "0 100 integrity 8:1 0 32 J 1 journal_crypt:ctr(aes):00112233"]
    {
        let parsed = line(known);
        assert!(!format!("{parsed:?} {parsed}").contains("00112233"), "{parsed:?}");
    }
}

#[test]
fn unknown_targets_and_arguments_are_kept() {
    let raid = line("0 100 raid raid1 3 0 region_size 4096 2 253:0 253:1 253:2 253:3");
    assert_eq!((raid.target.kind(), raid.target.devices().len()), ("raid", 4));
    assert!(matches!(line("0 1 linear 8:1").target, Target::Other { kind, .. } if kind == "linear"));
    assert!(matches!(line("0 1 striped 18446744073709551615 8 8:1 0").target, Target::Other { .. }));
    assert!(matches!(line("0 1 cache 1:1 1:2 1:3 128 99999999999 x").target, Target::Other { .. }));
    for bad in ["", "0", "0 1", "x 1 linear 8:1 0", "0 -1 linear 8:1 0", "+1 1 linear 8:1 0"] {
        assert!(bad.parse::<TableLine>().is_err(), "{bad}");
    }
}

fn word() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9_]{0,8}"
}

fn words() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(word(), 0..4)
}

fn target() -> impl Strategy<Value = Target> {
    let device = || (any::<u32>(), any::<u32>()).prop_map(|(major, minor)| DevNo { major, minor });
    prop_oneof![
        Just(Target::Error),
        Just(Target::Zero),
        (device(), any::<u64>()).prop_map(|(device, offset)| Target::Linear { device, offset }),
        (any::<u64>(), prop::collection::vec((device(), any::<u64>()), 0..4))
            .prop_map(|(chunk, stripes)| Target::Striped { chunk, stripes }),
        (device(), device(), device(), any::<u64>(), words(), word(), words()).prop_map(
            |(metadata, cache, origin, block_size, features, policy, policy_args)| {
                Target::Cache(CacheTable { metadata, cache, origin, block_size, features, policy, policy_args })
            }
        ),
        (any::<bool>(), device(), device(), word(), any::<u64>(), words()).prop_map(
            |(merge, origin, cow, persistence, chunk, options)| Target::Snapshot {
                merge,
                origin,
                cow,
                persistence,
                chunk,
                options
            }
        ),
        device().prop_map(|device| Target::SnapshotOrigin { device }),
        (word(), any::<u64>(), device(), any::<u64>(), words()).prop_map(
            |(cipher, iv_offset, device, offset, options)| Target::Crypt { cipher, iv_offset, device, offset, options }
        ),
        words().prop_map(|words| Target::Other { kind: "raid".into(), args: words.join(" ") }),
    ]
}

proptest! {
    #[test]
    fn parse_of_print_is_the_same(start in any::<u64>(), length in any::<u64>(), target in target()) {
        let line = TableLine { start, length, target };
        prop_assert_eq!(line.to_string().parse(), Ok(line));
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,80}") {
        let _ = text.parse::<TableLine>();
        let _ = text.parse::<super::super::CacheStatus>();
    }

    #[test]
    fn what_parses_prints_back(text in "[0-9]{1,3} [0-9]{1,3} (cache|linear|crypt|raid|striped|snapshot)( [0-9:a-z]{1,4}){0,9}") {
        let line: TableLine = text.parse().unwrap();
        prop_assert_eq!(line.to_string().parse(), Ok(line));
    }
}
