//! Whether every installed boot image arms the stamp: `/boot` beside what the hooks noted.

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use super::state::{generated, generated_kernels, image_arms};
use crate::agent::images::{against, images};
use crate::sys::Root;

/// Where kernels and images lie.
const BOOT: &str = "/boot";

/// The sentence that keeps a stamp from being CLEAN; `None` when every image arms. Reads each image whole, for its sum.
#[must_use]
pub fn against_clean(root: &Root) -> Option<String> {
    let names = root.list(BOOT).ok().flatten();
    against(names.as_deref(), |image| image_arms(root, &image.release))
}

/// Folders in which something changes when the answer of [`against_clean`] does.
#[must_use]
pub fn folders(root: &Root) -> Vec<PathBuf> {
    let kept = generated_kernels(root).into_iter().map(|release| generated(root, &release));
    std::iter::once(root.place(BOOT)).chain(kept).collect()
}

/// Names, sizes and times of all that [`against_clean`] reads: as long as this is the same, so is the answer.
#[must_use]
pub fn look_of(root: &Root) -> String {
    let names = root.list(BOOT).ok().flatten().unwrap_or_default();
    let mut seen = String::new();
    for image in images(&names) {
        let note = generated(root, &image.release).join(super::state::IMAGE_NOTE);
        for path in [root.place(&format!("{BOOT}/{}", image.name)), note] {
            let look = std::fs::metadata(&path)
                .map(|m| (m.ino(), m.size(), m.mtime(), m.mtime_nsec(), m.ctime(), m.ctime_nsec()));
            seen.push_str(&format!("{} {:?}\n", path.display(), look.ok()));
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{MANIFEST, sha256};

    struct System(tempfile::TempDir);

    impl System {
        fn new() -> (Self, Root) {
            let dir = tempfile::tempdir().unwrap();
            let root = Root::new(dir.path()).unwrap();
            (Self(dir), root)
        }

        fn put(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        /// As the hooks leave it.
        fn image(&self, release: &str, text: &str, arms: &str) {
            self.put(&format!("boot/vmlinuz-{release}"), "");
            self.put(&format!("boot/initrd.img-{release}"), text);
            let kept = format!("var/lib/originboot/generated/{release}");
            self.put(&format!("{kept}/{MANIFEST}"), "sums");
            let note = format!("{}  image\n{}  manifest\n{arms}", sha256(text.as_bytes()), sha256(b"sums"));
            self.put(&format!("{kept}/image.sha256"), &note);
        }
    }

    #[test]
    fn an_image_arms_only_by_the_word_of_the_hook_that_made_it() {
        let (system, root) = System::new();
        system.image("6.12", "image", "arms\n");
        assert_eq!(against_clean(&root), None);
        system.image("6.1", "other", "");
        assert!(against_clean(&root).unwrap().contains("/boot/initrd.img-6.1 was not built"), "built before it armed");
        system.image("6.1", "other", "arms\n");
        assert_eq!(against_clean(&root), None);
        let before = look_of(&root);
        system.put("boot/initrd.img-6.1", "rebuilt by somebody else");
        assert!(against_clean(&root).unwrap().contains("6.1"));
        assert_ne!(look_of(&root), before);
        assert_eq!(folders(&root).len(), 3);
    }

    #[test]
    fn no_image_is_no_yes() {
        let (_system, root) = System::new();
        assert!(against_clean(&root).unwrap().contains("is it mounted"));
    }
}
