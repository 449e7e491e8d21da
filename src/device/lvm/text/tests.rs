//! The text format: what is read, what is refused, and that printing loses nothing.

use proptest::prelude::*;

use super::*;

#[test]
fn every_kind_of_value() {
    let text =
        b"# comment\ncontents=\"Text\"\nneg=-5 list=[1,\"two\",[3],]\nempty = []\nvg0 { id=\"x\" # more\n sub{}}\n\0";
    let tree = Section::parse(text).unwrap();
    assert_eq!(tree.str("contents"), Some("Text"));
    assert_eq!(tree.int("neg"), Some(-5));
    assert_eq!(
        tree.value("list"),
        Some(&Value::List(vec![Value::Int(1), Value::Str("two".into()), Value::List(vec![Value::Int(3)])]))
    );
    assert_eq!(tree.section("vg0").unwrap().str("id"), Some("x"));
    assert_eq!(tree.section("vg0").unwrap().sections().count(), 1);
}

#[test]
fn escapes_as_libdm_has_them() {
    let tree = Section::parse(br#"a = "q\"uo\\te\n""#).unwrap();
    assert_eq!(tree.str("a"), Some("q\"uo\\te\\n"));
    assert_eq!(tree.to_string(), "a = \"q\\\"uo\\\\te\\\\n\"\n");
}

#[test]
fn errors_name_the_byte() {
    let offset = |text: &[u8]| match Section::parse(text) {
        Err(VgError::Syntax { offset, .. }) => offset,
        other => panic!("{other:?}"),
    };
    assert_eq!(offset(b"a = "), 4);
    assert_eq!(offset(b"a = \"x"), 4);
    assert_eq!(offset(b"a 5"), 2);
    assert_eq!(offset(b"a = 99999999999999999999"), 4);
    assert_eq!(offset(b"a = 010"), 4);
    assert_eq!(offset(b"vg { a = 1 "), 11);
    assert_eq!(offset(b"}"), 0);
    assert_eq!(offset(b"a = [1 2]"), 7);
    assert_eq!(offset(b"x { a = 1 a = 2 }"), 3);
    assert_eq!(offset("\u{e9} = 1".as_bytes()), 0);
}

#[test]
fn depth_and_size_are_bounded() {
    assert!(Section::parse("a{".repeat(100_000).as_bytes()).is_err());
    assert!(Section::parse(format!("a={}", "[".repeat(100_000)).as_bytes()).is_err());
    assert!(Section::parse(format!("a=[{}]", "1,".repeat(3_000_000)).as_bytes()).is_err());
}

#[test]
fn edits_keep_the_place() {
    let mut tree = Section::parse(b"a = 1 b { c = 2 } d = 3").unwrap();
    tree.set("a", "one");
    tree.section_mut("b").unwrap().set("e", 5);
    assert_eq!(tree.remove("d"), Some(3.into()));
    assert_eq!(tree.to_string(), "a = \"one\"\nb {\n\tc = 2\n\te = 5\n}\n");
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![any::<i64>().prop_map(Value::Int), "[^\\x00]{0,12}".prop_map(Value::Str)];
    leaf.prop_recursive(3, 12, 4, |inner| prop::collection::vec(inner, 0..4).prop_map(Value::List))
}

fn section() -> impl Strategy<Value = Section> {
    let leaf = prop::collection::btree_map("[^\\x00]{0,8}", value().prop_map(Node::Value), 0..5);
    let build = |map: std::collections::BTreeMap<String, Node>| Section {
        entries: map.into_iter().map(|(key, node)| (key.into(), node)).collect(),
    };
    leaf.prop_map(build).prop_recursive(4, 24, 4, move |inner| {
        let node = prop_oneof![value().prop_map(Node::Value), inner.prop_map(Node::Section)];
        prop::collection::btree_map("[a-z0-9_.+-]{1,8}", node, 0..5).prop_map(build)
    })
}

proptest! {
    #[test]
    fn parse_of_print_is_the_same(tree in section()) {
        prop_assert_eq!(Section::parse(tree.to_string().as_bytes()), Ok(tree));
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = Section::parse(&bytes);
    }

    #[test]
    fn no_text_panics_and_what_parses_prints_back(text in "[a-c0-9{}\\[\\]=,\"\\\\#\n -]{0,80}") {
        if let Ok(tree) = Section::parse(text.as_bytes()) {
            prop_assert_eq!(Section::parse(tree.to_string().as_bytes()), Ok(tree));
        }
    }
}
