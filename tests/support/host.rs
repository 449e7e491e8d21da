//! Fake hosts: a description of a few lines (`tests/fixtures/hosts/*.host`) becomes a root for `--sysroot`.
//!
//! Words are separated by blanks, `%20` is a blank inside one. Lines:
//!
//! ```text
//! disk NAME DEVNO SECTORS hdd|ssd MODEL SERIAL
//! part NAME DEVNO SECTORS DISK NUMBER
//! md NAME DEVNO SECTORS LEVEL MEMBER…       superblocks 1.2 are written onto the members
//! luks NAME DEVNO SECTORS DMNAME UUID BELOW a header is written onto BELOW
//! dm NAME DEVNO SECTORS DMNAME UUID BELOW…
//! table NAME LINE…    status NAME LINE…
//! pv DEVICE PVID TEXTFILE                   a label and one metadata area with that VG text
//! bytes DEVICE OFFSET HEXFILE               as written by lvm/dump.py
//! mount DEVNO POINT FSTYPE SOURCE
//! file PATH LINE…
//! ```

use std::fs;
use std::os::unix::fs::{FileExt as _, symlink};
use std::path::{Path, PathBuf};

/// A fake host in a folder that goes away with it.
pub struct Host {
    dir: tempfile::TempDir,
    /// Name of each md array's members, to write their superblocks in the end.
    mounts: String,
}

/// The fixtures' folder.
pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

impl Host {
    /// Builds `tests/fixtures/hosts/NAME.host`.
    pub fn new(name: &str) -> Self {
        let file = fixtures().join(format!("hosts/{name}.host"));
        Self::from_text(&fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display())))
    }

    /// Builds a description.
    pub fn from_text(text: &str) -> Self {
        let mut host = Self { dir: tempfile::tempdir().unwrap(), mounts: String::new() };
        host.put("proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n");
        host.put("proc/cmdline", "root=/dev/mapper/vg0-root ro quiet\n");
        for line in text.lines().filter(|l| !l.trim().is_empty() && !l.starts_with('#')) {
            let words: Vec<String> = line.split_whitespace().map(|w| w.replace("%20", " ")).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            host.line(&words);
        }
        let mounts = host.mounts.clone();
        host.put("proc/self/mountinfo", &mounts);
        host
    }

    /// The root's folder.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file below the root.
    pub fn put(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes bytes into a device.
    pub fn write(&self, device: &str, offset: u64, bytes: &[u8]) {
        let file = fs::File::options().write(true).open(self.path().join("dev").join(device)).unwrap();
        file.write_all_at(bytes, offset).unwrap();
    }

    /// Writes another `host:name` into a member's superblock 1.2, and its sum.
    pub fn entitle(&self, member: &str, title: &str) {
        let mut block = [0; 260];
        let device = fs::File::open(self.path().join("dev").join(member)).unwrap();
        device.read_exact_at(&mut block, 4096).unwrap();
        block[32..64].fill(0);
        put(&mut block, 32, title.as_bytes());
        block[216..220].fill(0);
        let sum = md_sum(&block);
        put(&mut block, 216, &sum.to_le_bytes());
        self.write(member, 4096, &block);
    }

    fn line(&mut self, words: &[&str]) {
        match *words {
            ["disk", name, devno, sectors, kind, model, serial] => {
                self.device(name, name, devno, sectors);
                self.attribute(name, "queue/rotational", if kind == "hdd" { "1" } else { "0" });
                self.attribute(name, "device/model", model);
                self.attribute(name, "device/serial", serial);
            }
            ["part", name, devno, sectors, disk, number] => {
                self.device(name, &format!("{disk}/{name}"), devno, sectors);
                self.attribute(name, "partition", number);
            }
            ["md", name, devno, sectors, level, ref members @ ..] => self.md(name, devno, sectors, level, members),
            ["luks", name, devno, sectors, dm_name, uuid, below] => {
                let dm_uuid = format!("CRYPT-LUKS2-{}-{dm_name}", uuid.replace('-', ""));
                self.dm(name, devno, sectors, dm_name, &dm_uuid, &[below]);
                let mut header = b"LUKS\xba\xbe\x00\x02".to_vec();
                header.resize(168, 0);
                header.extend(uuid.as_bytes());
                self.write(below, 0, &header);
            }
            ["dm", name, devno, sectors, dm_name, uuid, ref below @ ..] => {
                self.dm(name, devno, sectors, dm_name, uuid, below);
            }
            [what @ ("table" | "status"), name, ref line @ ..] => {
                self.put(&format!("originboot-snapshot/dm/{name}.{what}"), &format!("{}\n", line.join(" ")));
            }
            ["pv", device, id, text] => self.pv(device, id, &fs::read(fixtures().join(text)).unwrap()),
            ["bytes", device, offset, file] => {
                let text = fs::read_to_string(fixtures().join(file)).unwrap();
                for line in text.lines().skip(1) {
                    let (at, hex) = line.split_once(' ').unwrap();
                    let at = u64::from_str_radix(at, 16).unwrap() + offset.parse::<u64>().unwrap();
                    let byte = |i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap();
                    self.write(device, at, &(0..hex.len()).step_by(2).map(byte).collect::<Vec<u8>>());
                }
            }
            ["mount", devno, point, kind, source] => {
                self.mounts.push_str(&format!("30 1 {devno} / {point} rw,relatime - {kind} {source} rw\n"));
            }
            ["file", path, ref line @ ..] => self.put(path, &format!("{}\n", line.join(" "))),
            _ => panic!("{words:?} is no line of a host"),
        }
    }

    fn device(&self, name: &str, place: &str, devno: &str, sectors: &str) {
        let class = self.path().join("sys/class/block");
        fs::create_dir_all(&class).unwrap();
        fs::create_dir_all(self.path().join("sys/devices/virtual/block").join(place)).unwrap();
        symlink(format!("../../devices/virtual/block/{place}"), class.join(name)).unwrap();
        self.attribute(name, "dev", devno);
        self.attribute(name, "size", sectors);
        self.attribute(name, "ro", "0");
        fs::create_dir_all(self.path().join("dev")).unwrap();
        let file = fs::File::create(self.path().join("dev").join(name)).unwrap();
        file.set_len(sectors.parse::<u64>().unwrap() * 512).unwrap();
    }

    /// Writes a sysfs attribute of a block device.
    pub fn attribute(&self, name: &str, attribute: &str, value: &str) {
        self.put(&format!("sys/class/block/{name}/{attribute}"), &format!("{value}\n"));
    }

    fn dm(&self, name: &str, devno: &str, sectors: &str, dm_name: &str, uuid: &str, below: &[&str]) {
        self.device(name, name, devno, sectors);
        self.attribute(name, "dm/name", dm_name);
        self.attribute(name, "dm/uuid", uuid);
        self.attribute(name, "dm/suspended", "0");
        for slave in below {
            self.attribute(name, &format!("slaves/{slave}"), "");
        }
    }

    fn md(&self, name: &str, devno: &str, sectors: &str, level: &str, members: &[&str]) {
        self.device(name, name, devno, sectors);
        for (file, value) in [
            ("md/level", level),
            ("md/array_state", "clean"),
            ("md/raid_disks", &members.len().to_string()),
            ("md/degraded", "0"),
            ("md/metadata_version", "1.2"),
        ] {
            self.attribute(name, file, value);
        }
        for (number, member) in members.iter().enumerate() {
            self.attribute(name, &format!("slaves/{member}"), "");
            let level = level.strip_prefix("raid").unwrap().parse().unwrap();
            self.write(member, 4096, &md_superblock(name, level, number, members.len()));
        }
    }

    fn pv(&self, device: &str, id: &str, text: &[u8]) {
        let size = fs::metadata(self.path().join("dev").join(device)).unwrap().len();
        for (offset, bytes) in physical_volume(id, size, text) {
            self.write(device, offset, &bytes);
        }
    }
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

/// Label in sector 1 and a metadata area from byte 4096 to 1 MiB (lvm2 `lib/label/label.h`,
/// `lib/format_text/layout.h`).
pub fn physical_volume(id: &str, size: u64, text: &[u8]) -> [(u64, Vec<u8>); 3] {
    const AREA: u64 = 4096;
    const AREA_SIZE: u64 = (1 << 20) - AREA;
    let mut label = vec![0; 512];
    put(&mut label, 0, b"LABELONE");
    put(&mut label, 8, &1_u64.to_le_bytes());
    put(&mut label, 20, &32_u32.to_le_bytes());
    put(&mut label, 24, b"LVM2 001");
    put(&mut label, 32, id.replace('-', "").as_bytes());
    // Device size; one data area to the end, and the list's end; one metadata area, and the list's end.
    let numbers = [size, 1 << 20, 0, 0, 0, AREA, AREA_SIZE, 0, 0];
    for (i, number) in numbers.iter().enumerate() {
        put(&mut label, 64 + i * 8, &number.to_le_bytes());
    }
    let crc = lvm_crc(&label[20..]);
    put(&mut label, 16, &crc.to_le_bytes());

    let mut text = text.to_vec();
    text.push(0);
    let mut header = vec![0; 512];
    put(&mut header, 4, b" LVM2 x[5A%r0N*>");
    put(&mut header, 20, &1_u32.to_le_bytes());
    put(&mut header, 24, &AREA.to_le_bytes());
    put(&mut header, 32, &AREA_SIZE.to_le_bytes());
    put(&mut header, 40, &512_u64.to_le_bytes());
    put(&mut header, 48, &(text.len() as u64).to_le_bytes());
    put(&mut header, 56, &lvm_crc(&text).to_le_bytes());
    let crc = lvm_crc(&header[4..]);
    put(&mut header, 0, &crc.to_le_bytes());
    [(512, label), (AREA, header), (AREA + 512, text)]
}

/// lvm2 `lib/misc/crc.c`: bit by bit, so that it is not the code under test.
fn lvm_crc(bytes: &[u8]) -> u32 {
    let mut crc = 0xf597_a6cf_u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    crc
}

/// Version 1.2 (Linux `include/uapi/linux/raid/md_p.h`); the array's UUID is its name, repeated.
fn md_superblock(name: &str, level: u32, number: usize, disks: usize) -> Vec<u8> {
    let mut block = vec![0; 4096];
    put(&mut block, 0, &0xa92b_4efc_u32.to_le_bytes());
    put(&mut block, 4, &1_u32.to_le_bytes());
    let uuid: Vec<u8> = name.bytes().cycle().take(16).collect();
    put(&mut block, 16, &uuid);
    put(&mut block, 32, format!("host:{name}").as_bytes());
    put(&mut block, 72, &level.to_le_bytes());
    put(&mut block, 80, &100_000_u64.to_le_bytes());
    put(&mut block, 92, &(disks as u32).to_le_bytes());
    put(&mut block, 128, &2048_u64.to_le_bytes());
    put(&mut block, 136, &100_000_u64.to_le_bytes());
    put(&mut block, 144, &8_u64.to_le_bytes());
    put(&mut block, 160, &(number as u32).to_le_bytes());
    put(&mut block, 168, &[number as u8 + 1; 16]);
    put(&mut block, 200, &10_u64.to_le_bytes());
    put(&mut block, 208, &u64::MAX.to_le_bytes());
    put(&mut block, 220, &(disks as u32).to_le_bytes());
    for role in 0..disks {
        put(&mut block, 256 + role * 2, &(role as u16).to_le_bytes());
    }
    let sum = md_sum(&block[..256 + disks * 2]);
    put(&mut block, 216, &sum.to_le_bytes());
    block
}

/// The sum of a superblock 1.2 with its roles (kernel `drivers/md/md.c:calc_sb_1_csum`).
fn md_sum(block: &[u8]) -> u32 {
    let sum: u64 = block.chunks(4).map(|c| c.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))).sum();
    (sum & 0xffff_ffff) as u32 + (sum >> 32) as u32
}
