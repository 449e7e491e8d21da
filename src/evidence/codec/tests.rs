use proptest::prelude::*;

use super::*;
use crate::evidence::testing::{earlier, mark, other_id, ssd, stamp};

fn read(bytes: &[u8]) -> SlotRead {
    SlotRead::parse(Ok(bytes))
}

fn valid(bytes: &[u8]) -> Stamp {
    match read(bytes) {
        SlotRead::Valid(stamp) => *stamp,
        other => panic!("{other:?}"),
    }
}

/// Bytes with a checksum made right again.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = checksum(&bytes);
    put(&mut bytes, 20, &sum.to_le_bytes());
    bytes
}

fn full() -> Stamp {
    Stamp {
        opened_clean: true,
        closed: true,
        return_to: Some(CacheMode::Writeback),
        dirty: Some(12),
        fences: vec![other_id(), ssd()],
        accept: Some(Accept { seqno: 9, generation: 4, absent: vec![ssd()], mount: mark() }),
        devices: vec![CacheDevice::new("ACME SSD", "S/N é", "eui.0025"), CacheDevice::default()],
        ..stamp(State::Clean, earlier())
    }
}

#[test]
fn fields_stand_where_the_table_says() {
    let bytes = full().print().unwrap();
    assert_eq!((bytes.len(), &bytes[..16]), (4096, b"originboot stamp".as_slice()));
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    assert_eq!([24, 32, 40, 48, 56, 64, 72].map(number), [5, 6, 1_764_000_000, 12, 40, 9, 4]);
    assert_eq!(bytes[80..97], [0, 129, 36, 105, 12, 0, 0, 0, 2, 0, 1, 31, 1, 1, 2, 1, 2]);
    assert_eq!(bytes[100..112], [0, 129, 36, 105, 12, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes[112..128], [3; 16]);
    assert_eq!(&bytes[128..160], b"vgvgvg00000000000000000000000000");
    assert_eq!(&bytes[224..256], b"hddhdd00000000000000000000000001");
    assert_eq!(&bytes[256..288], b"hddhdd00000000000000000000000001", "origin");
    assert_eq!(&bytes[288..320], b"ssdssd00000000000000000000000002", "cache");
    assert_eq!(&bytes[320..352], other_id().compact().as_bytes(), "fence");
    assert_eq!(&bytes[2304..2313], b"ACME SSD\0");
    assert_eq!(&bytes[2368..2374], "S/N é".as_bytes());
    assert_eq!(valid(&bytes), full());
}

#[test]
fn the_checksum_is_crc_32c() {
    // The check value of the algorithm, and the slot's own sum against the table-driven form.
    let bytes = full().print().unwrap();
    let mut zeroed = bytes.clone();
    zeroed[20..24].fill(0);
    assert_eq!(bytes[20..24], Crc::<u32>::new(&CRC_32_ISCSI).checksum(&zeroed).to_le_bytes());
}

#[test]
fn a_write_that_did_not_finish_is_torn() {
    let old = stamp(State::Armed, earlier()).print().unwrap();
    let new = full().print().unwrap();
    for sectors in 1..8 {
        let at = sectors * 512;
        for (head, tail) in [(&new, &old), (&old, &new)] {
            let torn = [&head[..at], &tail[at..]].concat();
            // Where the rest is equal anyway, the write is complete.
            let expected = if torn == old || torn == new { read(&torn) } else { SlotRead::Torn };
            assert_eq!(read(&torn), expected, "{sectors}");
        }
    }
    let onto_nothing = [&new[..512], &[0; 3584]].concat();
    assert_eq!(read(&onto_nothing), SlotRead::Torn);
}

#[test]
fn any_changed_bit_is_noticed() {
    let good = full().print().unwrap();
    for at in (0..SLOT).step_by(11) {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        assert_eq!(read(&bad), SlotRead::Torn, "{at}");
    }
}

#[test]
fn nothing_is_no_stamp() {
    assert_eq!(read(&[0; SLOT]), SlotRead::Empty);
    assert_eq!(read(&[0xff; SLOT]), SlotRead::Torn);
    assert!(matches!(read(&[0; SLOT - 1]), SlotRead::Unreadable(_)));
    assert_eq!(SlotRead::parse(Err("I/O error".into())), SlotRead::Unreadable("I/O error".into()));
}

#[test]
fn what_is_whole_and_not_understood_is_not_torn() {
    let with = |at: usize, bytes: &[u8]| {
        let mut slot = full().print().unwrap();
        put(&mut slot, at, bytes);
        read(&sealed(slot))
    };
    assert_eq!(with(16, &[2]), SlotRead::Strange(StampError::Version(2)));
    for (at, byte) in [(88, 3), (89, 3), (90, 9), (92, 65), (94, 62), (95, 250), (96, 5), (130, b'/'), (300, 0)] {
        assert!(matches!(with(at, &[byte]), SlotRead::Strange(StampError::Field { .. })), "{at}");
    }
}

#[test]
fn a_slot_holds_64_ids() {
    let fences = |count| Stamp { fences: vec![other_id(); count], ..full() };
    assert_eq!(valid(&fences(61).print().unwrap()).fences.len(), 61);
    assert_eq!(fences(62).print(), Err(StampError::TooManyIds(65)));
}

#[test]
fn descriptions_that_do_not_fit_are_cut() {
    let device = CacheDevice { model: "x".repeat(100), serial: "a\0b".into(), wwn: String::new() };
    let back = valid(&Stamp { devices: vec![device; 6], ..full() }.print().unwrap());
    assert_eq!(back.devices.len(), 4);
    assert_eq!(back.devices[0], CacheDevice::new(&"x".repeat(64), "a\u{fffd}b", ""));
}

fn any_id() -> impl Strategy<Value = Id> {
    "[0-9A-Za-z!#]{32}".prop_map(|text| Id::parse(&text).unwrap())
}

fn ids(most: usize) -> impl Strategy<Value = Vec<Id>> {
    prop::collection::vec(any_id(), 0..=most)
}

fn any_identity() -> impl Strategy<Value = Identity> {
    (any_id(), any_id(), any_id(), ids(16), ids(8), any_id(), any::<u64>()).prop_map(
        |(vg, lv, pool, origin_pvs, cache_pvs, stamp_pv, start_extent)| Identity {
            vg,
            lv,
            pool,
            origin_pvs,
            cache_pvs,
            stamp_pv,
            start_extent,
        },
    )
}

fn any_device() -> impl Strategy<Value = CacheDevice> {
    (".{0,80}", ".{0,80}", ".{0,80}").prop_map(|(model, serial, wwn)| CacheDevice::new(&model, &serial, &wwn))
}

fn any_stamp() -> impl Strategy<Value = Stamp> {
    let mode = || prop::sample::select(MODES.to_vec());
    let numbers = (any::<u64>(), any::<u64>(), any::<u64>(), prop::option::of(0..u64::MAX));
    let said = (prop::sample::select(STATES.to_vec()), any::<bool>(), any::<bool>(), mode(), prop::option::of(mode()));
    let mount = || (any::<u32>(), any::<u16>()).prop_map(|(time, count)| MountMark { time, count });
    let accept = (any::<u64>(), any::<u64>(), ids(8), prop::option::of(mount()))
        .prop_map(|(seqno, generation, absent, mount)| Accept { seqno, generation, absent, mount });
    let rest = (
        any::<[u8; 16]>(),
        prop::option::of(mount()),
        prop::collection::vec(any_device(), 0..=4),
        ids(16),
        prop::option::of(accept),
    );
    (any_identity(), numbers, said, rest).prop_map(|(identity, numbers, said, rest)| Stamp {
        generation: numbers.0,
        identity,
        state: said.0,
        closed: said.1,
        opened_clean: said.2,
        mode: said.3,
        return_to: said.4,
        seqno: numbers.1,
        dirty: numbers.3,
        boot_id: BootId(rest.0),
        time: numbers.2,
        mount: rest.1,
        devices: rest.2,
        fences: rest.3,
        accept: rest.4,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn parse_gives_what_print_was_given(stamp in any_stamp()) {
        prop_assert_eq!(valid(&stamp.print().unwrap()), stamp);
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..5000)) {
        let _ = read(&bytes);
    }

    /// The checksum is right, so that the fields behind it are looked at.
    #[test]
    fn no_fields_panic(changes in prop::collection::vec((16..SLOT, any::<u8>()), 0..40), from in any_stamp()) {
        let mut slot = from.print().unwrap();
        for (at, byte) in changes {
            slot[at] = byte;
        }
        prop_assert_ne!(read(&sealed(slot)), SlotRead::Torn);
    }
}
