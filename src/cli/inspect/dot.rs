//! The tree as a Graphviz graph: `originboot inspect --dot | dot -Tsvg`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::text::human;
use super::tree::Node;

/// One box for each thing, however often it stands in the tree.
pub(super) fn render(tree: &Node) -> String {
    let mut out = String::from("digraph stack {\n  rankdir=TB;\n  node [shape=box, fontname=\"sans\"];\n");
    let (mut nodes, mut edges) = (BTreeSet::new(), BTreeSet::new());
    walk(tree, &mut nodes, &mut edges);
    for line in nodes.iter().chain(&edges) {
        // Writing to a String does not fail.
        let _ = writeln!(out, "  {line}");
    }
    out.push_str("}\n");
    out
}

fn walk(node: &Node, nodes: &mut BTreeSet<String>, edges: &mut BTreeSet<String>) {
    let mut lines = vec![node.name.clone(), [node.kind, &node.detail].join(" ").trim().to_owned()];
    lines.extend(node.size.map(human));
    lines.extend(node.mode.map(|mode| match node.dirty {
        Some(dirty) => format!("{mode}, {dirty} dirty"),
        None => mode.to_owned(),
    }));
    lines.push(node.state.clone());
    lines.push([node.model.as_str(), node.serial.as_str()].join(" ").trim().to_owned());
    lines.retain(|line| !line.is_empty());
    let colour = match (node.trouble, node.role) {
        (true, _) => ", color=red",
        (false, "origin") => ", color=blue",
        (false, "cache") => ", color=darkgreen",
        _ => "",
    };
    nodes.insert(format!("{} [label={}{colour}];", quote(&id(node)), quote(&lines.join("\n"))));
    for child in &node.children {
        edges.insert(format!("{} -> {};", quote(&id(node)), quote(&id(child))));
        walk(child, nodes, edges);
    }
}

fn id(node: &Node) -> String {
    if node.device.is_empty() {
        format!("{} {}", node.kind, node.name)
    } else {
        format!("{} {}", node.name, node.device)
    }
}

/// A quoted string of the dot language: only `"` and `\` are special, a newline is `\n`.
fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push('?'),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_quotes() {
        assert_eq!(quote("a\"; x -> y\\"), "\"a\\\"; x -> y\\\\\"");
    }
}
