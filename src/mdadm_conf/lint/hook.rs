//! Of Debian's initramfs hook (mdadm 4.2-5 and 4.4-11, `/usr/share/initramfs-tools/hooks/mdadm`): it copies the one
//! file, comments out lines that begin with CREATE, and replaces a file in which `grep '^ARRAY'` finds nothing.

use super::{Context, Source};
use crate::mdadm_conf::effective::Create;
use crate::mdadm_conf::finding::{Code, Edit, Finding, Fix, Severity};
use crate::mdadm_conf::keyword::Keyword;
use crate::mdadm_conf::lexer::Place;

pub(super) fn check(context: &Context<'_>, sources: &[Source]) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(case(context, sources));
    found.extend(torn(context));
    found.extend(names(&context.effective.create));
    found.extend(folder(context));
    found
}

fn in_folder(path: &str) -> bool {
    path.contains(".conf.d/")
}

fn case(context: &Context<'_>, sources: &[Source]) -> Option<Finding> {
    let arrays = context.effective.arrays.iter();
    let mut arrays = arrays.filter(|array| context.file(array.line.0).is_some_and(|file| !in_folder(file.path)));
    let first = arrays.next()?;
    // Not the text as it is meant: a byte order mark is blanks there, and it has a finding of its own.
    let original = &sources.get(first.line.0)?.bytes;
    let bytes = original.strip_prefix(b"\xef\xbb\xbf").unwrap_or(original);
    let seen = bytes.split(|b| *b == b'\n' || *b == b'\r').any(|line| line.starts_with(b"ARRAY"));
    (!seen).then(|| {
        Finding::new(
            Code::HookCase,
            Severity::Degrading,
            first.place,
            "Debian's initramfs hook looks for ARRAY in capital letters at the start of a line, and finds none",
            "the image gets a generated file instead of this one, with the arrays that happen to run at that moment",
        )
        .fixed(Some(Fix::one("write ARRAY", first.place, "ARRAY")))
    })
}

fn torn(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for document in context.files.iter().filter(|document| !in_folder(document.path)) {
        for (at, line) in document.lines.iter().enumerate() {
            let whole = Keyword::of(&line.head.text, context.effective.version) == Some(Keyword::Create);
            let commented = document.bytes.get(line.head.place.start..).is_some_and(|b| b.starts_with(b"CREATE"));
            let Some(index) = (0..line.words.len()).find(|index| line.continues_at(*index)) else { continue };
            if !whole || !commented || line.head.place.column != 1 {
                continue;
            }
            let Some(word) = line.words.get(index) else { continue };
            let previous = at.checked_sub(1).and_then(|at| document.lines.get(at));
            let joins = previous.and_then(|line| Keyword::of(&line.head.text, context.effective.version));
            let joins = joins.map_or("no line at all", Keyword::word);
            found.push(
                Finding::new(
                    Code::HookCreateCont,
                    Severity::Degrading,
                    word.place,
                    "Debian's initramfs hook comments out the line that begins with CREATE, and not what continues it",
                    format!("in the image these words continue the line before ({joins})"),
                )
                .with(line.head.place, "the line that is commented out")
                .fixed(join(document.bytes, line)),
            );
        }
    }
    found
}

/// All words on the physical line of the keyword. Not where a comment stands between them.
fn join(bytes: &[u8], line: &crate::mdadm_conf::Line<'_>) -> Option<Fix> {
    let mut edits = Vec::new();
    let mut end = line.head.place.end;
    for (index, word) in line.words.iter().enumerate() {
        if line.continues_at(index) {
            let gap = bytes.get(end..word.place.start)?;
            if gap.contains(&b'#') {
                return None;
            }
            edits.push(Edit { file: word.place.file, start: end, end: word.place.start, text: " ".to_owned() });
        }
        end = word.place.end;
    }
    Some(Fix { title: "join the lines".to_owned(), edits })
}

fn names(create: &Create<'_>) -> Vec<Finding> {
    let given = [("owner", create.owner), ("group", create.group)];
    let named = given.into_iter().filter_map(|(tag, item)| Some((tag, item?)));
    let named = named.filter(|(_, item)| !item.text.bytes().all(|b| b.is_ascii_digit()));
    let file = |tag: &str| if tag == "owner" { "/etc/passwd" } else { "/etc/group" };
    named
        .map(|(tag, item)| {
            let place: Place = item.place;
            Finding::new(
                Code::HookCreateNames,
                Severity::Cosmetic,
                place,
                format!("{tag} {} is looked up in {}, which an initramfs image may lack", item.text, file(tag)),
                "mdadm prints that it was not found and goes on with its default",
            )
        })
        .collect()
}

fn folder(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for array in context.effective.arrays.iter().filter(|array| !array.is_ignored()) {
        let Some(document) = context.file(array.line.0).filter(|document| in_folder(document.path)) else { continue };
        found.push(Finding::new(
            Code::HookConfD,
            Severity::Degrading,
            array.place,
            format!("Debian's initramfs hook copies mdadm.conf only, not {}", document.path),
            format!("in the image {} has no ARRAY line: it gets another name (md127)", array.shown()),
        ));
    }
    found
}
