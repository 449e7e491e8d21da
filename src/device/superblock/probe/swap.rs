//! Swap areas, and the hibernation images stored in them.

use crate::device::bytes::{array, uuid};
use crate::device::inventory::Content;

/// Page sizes of Linux: the signature stands in the last ten bytes of the first page.
const PAGES: [usize; 5] = [4096, 8192, 16_384, 32_768, 65_536];

/// The UUID is 12 bytes into the header at byte 1024 (`include/linux/swap.h`); a hibernation image replaces only the
/// signature: the kernel's, swsusp's, uswsusp's and TuxOnIce's words are known (`kernel/power/swap.c`; libblkid).
pub(super) fn parse(head: &[u8]) -> Option<Content> {
    PAGES.into_iter().find_map(|page| {
        let hibernated = match &array::<10>(head, page - 10)? {
            b"SWAPSPACE2" => false,
            b"S1SUSPEND\0" | b"S2SUSPEND\0" | b"ULSUSPEND\0" | b"LINHIB0001" => true,
            other if other.starts_with(b"\xed\xc3\x02\xe9\x98\x56\xe5\x0c") => true,
            _ => return None,
        };
        Some(Content::Swap { uuid: uuid(head, 1024 + 12), hibernated })
    })
}
