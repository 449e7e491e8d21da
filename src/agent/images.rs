//! Which boot images are installed, and what the agent leaves about them for the seal.
//!
//! An image without originboot opens the cache without arming the stamp: a CLEAN would outlive that. So CLEAN is only
//! written while every image that a boot loader finds beside a kernel in `/boot` was built with our hook.

/// Where the agent says, for the seal, whether every image arms: below [`crate::agent`]'s folder of this boot
/// (`/run/originboot`), mode 0600, [`print`]ed.
pub const NOTE: &str = "images-arm";

/// Longest note, in bytes.
pub const MAX_NOTE: u64 = 4096;

/// Names of kernels in `/boot`, as grub-mkconfig's `10_linux` looks for them.
const KERNELS: [&str; 3] = ["vmlinuz-", "vmlinux-", "kernel-"];

/// An image that a kernel is booted with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Kernel release.
    pub release: String,
    /// File name in `/boot`.
    pub name: String,
}

impl Image {
    /// It has the name that `update-initramfs` gives.
    #[must_use]
    pub fn is_initramfs_tools(&self) -> bool {
        self.name == format!("initrd.img-{}", self.release)
    }
}

/// The images among the names in `/boot`: those that `10_linux` would take for one of the kernels there. A kernel without
/// one cannot open a cached root, and an image without its kernel is not booted.
#[must_use]
pub fn images(names: &[String]) -> Vec<Image> {
    let mut found = Vec::new();
    for name in names {
        let Some(release) = KERNELS.iter().find_map(|kernel| name.strip_prefix(kernel)) else { continue };
        // Not what dpkg and editors leave behind.
        if release.is_empty() || [".dpkg-tmp", ".dpkg-new", "~"].iter().any(|end| release.ends_with(end)) {
            continue;
        }
        let candidates = [
            format!("initrd.img-{release}"),
            format!("initrd-{release}.img"),
            format!("initrd-{release}.gz"),
            format!("initrd-{release}"),
            format!("initramfs-{release}.img"),
            format!("initramfs-{release}"),
        ];
        let there = candidates.into_iter().filter(|name| names.contains(name));
        found.extend(there.map(|name| Image { release: release.to_owned(), name }));
    }
    found
}

/// The sentence that keeps the stamp from being CLEAN; `None` when every image arms. `arms`: it was built with our hook,
/// which put the arming rule into it, and is still that very file.
#[must_use]
pub fn against(names: Option<&[String]>, arms: impl Fn(&Image) -> bool) -> Option<String> {
    let images = images(names.unwrap_or_default());
    if images.is_empty() {
        return Some("no boot image is to be seen in /boot: is it mounted?".to_owned());
    }
    let foreign = images.iter().find(|image| !image.is_initramfs_tools() || !arms(image))?;
    let next = if foreign.is_initramfs_tools() {
        format!("update-initramfs -u -k {}", foreign.release)
    } else {
        "remove it, or the stamp stays ARMED".to_owned()
    };
    Some(format!("/boot/{} was not built with originboot, and would open the cache unseen: {next}", foreign.name))
}

/// The note for this answer: `yes`, or `no: ` and the sentence.
#[must_use]
pub fn print(against: Option<&str>) -> String {
    against.map_or("yes\n".to_owned(), |why| format!("no: {}\n", why.replace(char::is_control, " ")))
}

/// Reads a note: what keeps a stamp from being CLEAN. Nothing but `yes` is yes.
#[must_use]
pub fn parse(note: &str) -> Option<String> {
    match note.lines().next() {
        Some("yes") => None,
        Some(line) if line.starts_with("no: ") => Some(line.trim_start_matches("no: ").to_owned()),
        _ => Some("nothing says that every installed boot image arms the stamp".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn each_image_beside_a_kernel_counts() {
        let names = names(&[
            "config-6.12",
            "initrd.img-6.12",
            "initrd.img-6.11",
            "vmlinuz-6.12",
            "vmlinuz-6.1",
            "vmlinuz-6.12.dpkg-tmp",
            "initramfs-6.12.img",
            "vmlinuz",
        ]);
        let found: Vec<String> = images(&names).into_iter().map(|image| image.name).collect();
        assert_eq!(found, ["initrd.img-6.12", "initramfs-6.12.img"]);
    }

    #[test]
    fn one_image_that_does_not_arm_is_enough() {
        let both = names(&["vmlinuz-6.12", "initrd.img-6.12", "vmlinuz-6.1", "initrd.img-6.1"]);
        assert_eq!(against(Some(&both), |_| true), None);
        let why = against(Some(&both), |image| image.release == "6.12").unwrap();
        assert!(why.starts_with("/boot/initrd.img-6.1 was not built") && why.ends_with("-k 6.1"), "{why}");
        let dracut = names(&["vmlinuz-6.12", "initramfs-6.12.img"]);
        assert!(against(Some(&dracut), |_| true).unwrap().contains("initramfs-6.12.img"));
    }

    #[test]
    fn an_empty_boot_says_nothing_good() {
        assert!(against(None, |_| true).unwrap().contains("mounted"));
        assert!(against(Some(&names(&["vmlinuz-6.12"])), |_| true).is_some());
    }

    #[test]
    fn nothing_but_yes_is_yes() {
        assert_eq!(parse(&print(None)), None);
        assert_eq!(parse(&print(Some("a\nb"))).unwrap(), "a b");
        for other in ["", "yes, but", "maybe\nyes\n"] {
            assert!(parse(other).is_some(), "{other}");
        }
    }
}
