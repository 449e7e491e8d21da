//! The tree as columns, in the manner of lsblk: no borders, every row one thing.

use super::tree::Node;
use crate::cli::out::{Paint, Style};

const HEADINGS: [&str; 8] = ["NAME", "TYPE", "SIZE", "ROLE", "MODE", "DIRTY", "STATE", "MODEL"];

/// Column of the size: the only one that is set to the right.
const SIZE: usize = 2;
/// Column of the state.
const STATE: usize = 6;

/// Lines and corners of the tree.
pub(super) struct Lines {
    fork: &'static str,
    last: &'static str,
    pass: &'static str,
}

impl Lines {
    /// For terminals that know UTF-8, or for those that do not.
    pub fn new(utf8: bool) -> Self {
        match utf8 {
            true => Self { fork: "├─", last: "└─", pass: "│ " },
            false => Self { fork: "|-", last: "`-", pass: "| " },
        }
    }
}

struct Row {
    cells: [String; 8],
    trouble: bool,
}

/// Columns that are empty in every row are left out.
pub(super) fn render(tree: &Node, lines: &Lines, paint: Paint) -> String {
    let mut rows = vec![Row { cells: HEADINGS.map(str::to_owned), trouble: false }];
    collect(tree, "", "", lines, &mut rows);
    let width = |column: usize| {
        rows.iter().skip(1).filter_map(|row| row.cells.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> =
        HEADINGS.iter().enumerate().map(|(i, h)| if width(i) == 0 { 0 } else { width(i).max(h.len()) }).collect();
    let mut out = String::new();
    for row in &rows {
        let mut line = String::new();
        for (column, (cell, &width)) in row.cells.iter().zip(&widths).enumerate().filter(|(_, (_, w))| **w > 0) {
            let pad = " ".repeat(width.saturating_sub(cell.chars().count()));
            let painted = if row.trouble && column == STATE { paint.text(Style::Bad, cell) } else { cell.clone() };
            let (before, after) = if column == SIZE { (pad, String::new()) } else { (String::new(), pad) };
            line.push_str(&format!("{before}{painted}{after}  "));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn collect(node: &Node, lead: &str, corner: &str, lines: &Lines, rows: &mut Vec<Row>) {
    let kind = match (node.kind, node.detail.as_str()) {
        (kind @ ("lv" | "pv"), "") => kind.to_uppercase(),
        (kind @ ("lv" | "pv"), detail) => format!("{} {detail}", kind.to_uppercase()),
        ("filesystem" | "raid", detail) => detail.to_owned(),
        ("missing", detail) => detail.to_owned(),
        ("luks", _) => "LUKS".to_owned(),
        (kind, "") => kind.to_owned(),
        (kind, detail) => format!("{kind} {detail}"),
    };
    let dirty = match (node.dirty, node.used) {
        (Some(dirty), Some(used)) => format!("{dirty} of {used}"),
        _ => String::new(),
    };
    let model = [node.model.as_str(), node.serial.as_str()].join(" ").trim().to_owned();
    let cells = [
        format!("{lead}{corner}{}", node.name),
        kind,
        node.size.map(human).unwrap_or_default(),
        node.role.to_owned(),
        node.mode.unwrap_or_default().to_owned(),
        dirty,
        node.state.clone(),
        model,
    ];
    // Names and models come from disks: nothing in them may move the cursor.
    let clean = |cell: String| cell.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    rows.push(Row { cells: cells.map(clean), trouble: node.trouble });
    let lead = match corner {
        "" => String::new(),
        c if c == lines.last => format!("{lead}  "),
        _ => format!("{lead}{}", lines.pass),
    };
    for (i, child) in node.children.iter().enumerate() {
        let corner = if i + 1 == node.children.len() { lines.last } else { lines.fork };
        collect(child, &lead, corner, lines, rows);
    }
}

/// Bytes as lsblk prints them: three digits at most, binary units.
pub(super) fn human(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "K", "M", "G", "T", "P", "E"];
    let mut unit = 0;
    let mut tenths = bytes.saturating_mul(10);
    if bytes > u64::MAX / 10 {
        (unit, tenths) = (1, bytes / 1024 * 10);
    }
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    let name = UNITS.get(unit).unwrap_or(&"E");
    match (tenths / 10, tenths % 10) {
        (whole, 0) => format!("{whole}{name}"),
        (whole, _) if whole >= 100 => format!("{whole}{name}"),
        (whole, tenth) => format!("{whole}.{tenth}{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        let cases = [
            (0, "0B"),
            (512, "512B"),
            (1 << 20, "1M"),
            (1_000_204_886_016, "931G"),
            (3 << 29, "1.5G"),
            (u64::MAX, "15.9E"),
        ];
        for (bytes, text) in cases {
            assert_eq!(human(bytes), text);
        }
    }

    #[test]
    fn columns_line_up_and_empty_ones_are_left_out() {
        let child = |name: &str| Node { name: name.into(), kind: "disk", size: Some(1 << 30), ..Node::default() };
        let mut tree = Node { name: "/".into(), kind: "filesystem", detail: "ext4".into(), ..Node::default() };
        tree.children = vec![child("sda"), child("b\x1b[2J")];
        tree.children[0].children.push(child("x"));
        let text = render(&tree, &Lines::new(true), Paint::plain());
        let wanted = [
            "NAME     TYPE  SIZE",
            "/        ext4",
            "├─sda    disk    1G",
            "│ └─x    disk    1G",
            "└─b?[2J  disk    1G",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), wanted);
    }
}
