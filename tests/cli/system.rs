//! A fake system to build images on: kernels, tools, the package's files, and an `update-initramfs` that only calls the
//! generator as the packaged hook does.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

pub const KERNEL: &str = "6.12.117+deb13-cloud-amd64";

/// What the scripts need of initramfs-tools.
const FUNCTIONS: &str = "
manual_add_modules() { echo \"module $1\" >>\"$DESTDIR/list\"; }
force_load() { manual_add_modules \"$1\"; }
copy_file() { :; }
copy_exec() { [ -z \"${2-}\" ] || { [ -s \"$1\" ] && mkdir -p \"$DESTDIR${2%/*}\" && cp \"$1\" \"$DESTDIR$2\"; }; }
";

/// Takes something away that is needed.
pub type Spoil<'a> = &'a dyn Fn(&System);

pub struct System {
    dir: tempfile::TempDir,
}

impl System {
    pub fn new() -> Self {
        let system = Self { dir: tempfile::tempdir().unwrap() };
        for name in ["usr/sbin/lvm", "usr/sbin/dmsetup", "usr/sbin/mdadm", "usr/sbin/pdata_tools", "usr/bin/udevadm"] {
            system.put(name, "");
        }
        for link in
            ["cache_check", "cache_dump", "cache_metadata_size", "cache_repair", "cache_restore", "cache_writeback"]
        {
            symlink("pdata_tools", system.path().join("usr/sbin").join(link)).unwrap();
        }
        system.put("usr/share/initramfs-tools/hooks/lvm2", "");
        system.put("usr/share/initramfs-tools/hook-functions", FUNCTIONS);
        for script in [
            "usr/share/initramfs-tools/hooks/originboot",
            "usr/lib/originboot/last-good",
            "etc/initramfs/post-update.d/originboot",
        ] {
            system.script(script);
        }
        system.put("usr/share/initramfs-tools/scripts/local-block/originboot", "");
        system.put("usr/libexec/originboot/originboot-early", "early\n");
        system.put("usr/lib/systemd/system/originboot-report.service", "");
        fs::create_dir_all(system.path().join("etc/systemd/system")).unwrap();
        fs::create_dir_all(system.path().join("var/lib")).unwrap();
        system.kernel(KERNEL);
        system.program("usr/sbin/update-initramfs", include_str!("update-initramfs.sh"));
        for name in ["usr/sbin/lvm", "usr/sbin/dmsetup", "usr/sbin/mdadm", "usr/sbin/pdata_tools", "usr/bin/udevadm"] {
            fs::set_permissions(system.path().join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        system
    }

    /// One of the package's scripts, with this folder in the place of `/`.
    fn script(&self, path: &str) {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("hooks").join(path)).unwrap();
        let root = self.path().to_str().unwrap();
        let mut text = text;
        for folder in [
            "/lib/modules/",
            "/var/lib/originboot",
            "/usr/share/initramfs-tools",
            "/usr/lib/originboot",
            "/usr/libexec",
            "/boot/",
        ] {
            text = text.replace(folder, &format!("{root}{folder}"));
        }
        text = text.replace("[ -x \"$tool\" ]", &format!("[ -x \"{root}$tool\" ]"));
        let program = snapbox::cmd::cargo_bin!("originboot");
        let generate = format!("{} generate --tools-root {root}", program.display());
        self.program(path, &text.replace("originboot generate", &generate));
    }

    /// A file that can be run.
    pub fn program(&self, path: &str, text: &str) {
        self.put(path, text);
        fs::set_permissions(self.path().join(path), fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn put(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn remove(&self, path: &str) {
        fs::remove_file(self.path().join(path)).unwrap();
    }

    /// One more kernel, with the modules of a real one.
    pub fn kernel(&self, release: &str) {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/kernel/lib/modules").join(KERNEL);
        for entry in fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            self.put(&format!("lib/modules/{release}/{name}"), &fs::read_to_string(&path).unwrap());
        }
        self.put(&format!("boot/initrd.img-{release}"), "stock\n");
    }

    /// Takes one module out of a kernel.
    pub fn without_module(&self, release: &str, file: &str) {
        let path = self.path().join(format!("lib/modules/{release}/modules.dep"));
        let text = fs::read_to_string(&path).unwrap();
        let kept: String = text.lines().filter(|l| !l.contains(file)).map(|l| format!("{l}\n")).collect();
        assert_ne!(text, kept);
        fs::write(&path, kept).unwrap();
    }

    pub fn tree(&self) -> BTreeMap<PathBuf, String> {
        tree(self.path())
    }
}

/// Every path below a folder, with what it is: kind, mode, contents or target.
pub fn tree(dir: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let what = if meta.is_dir() {
                folders.push(path.clone());
                "folder".to_owned()
            } else if meta.is_symlink() {
                format!("link to {}", fs::read_link(&path).unwrap().display())
            } else if meta.len() > 65_536 {
                // A fake disk: nothing writes there without a new time.
                format!("{} bytes of {:?}", meta.len(), meta.modified().unwrap())
            } else {
                format!("{:o} {:?}", meta.permissions().mode(), fs::read(&path).unwrap())
            };
            found.insert(path.strip_prefix(dir).unwrap().to_owned(), what);
        }
    }
    found
}
