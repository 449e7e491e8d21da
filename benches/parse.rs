//! Reading a volume group of 10,000 logical volumes: ours, and `lvm vgs` on the same disk in the same run.
//!
//! `cargo bench --bench parse`. The comparison needs root, lvm2 and a free loop device (over a sparse file of its own);
//! without them only our own figure is printed. Budget: under 50 ms, and at least ten times faster than `lvm vgs`.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a benchmark looks at the machine, and a panic is how it fails"
)]

use std::fmt::Write as _;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, ExitCode, Output};
use std::time::{Duration, Instant};

use originboot::device::lvm::{read_pv, volume_groups};
use originboot::device::{ReadAt, ReadError};

const VOLUMES: usize = 10_000;
const RUNS: usize = 11;
/// The metadata area: from byte 4096, as `pvcreate --metadatasize` makes it.
const AREA: u64 = 4096;
const AREA_SIZE: u64 = 32 << 20;
const DEVICE_SIZE: u64 = 4 << 30;
const PV_ID: &str = "pvpvpv00000000000000000000000001";

struct Disk(File);

impl ReadAt for Disk {
    fn size(&self) -> u64 {
        DEVICE_SIZE
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), ReadError> {
        self.0.read_exact_at(buf, offset).map_err(|e| ReadError::Failed { offset, reason: e.to_string() })
    }
}

fn crc(bytes: &[u8]) -> u32 {
    static LVM: crc::Algorithm<u32> =
        crc::Algorithm { init: 0xf597_a6cf_u32.reverse_bits(), xorout: 0, ..crc::CRC_32_ISO_HDLC };
    crc::Crc::<u32>::new(&LVM).checksum(bytes)
}

/// A VG of linear LVs of one extent each, as lvm2 prints it.
fn text(device: &str) -> String {
    let pe_start = (AREA + AREA_SIZE) / 512;
    let mut text = format!(
        "bench {{\nid = \"vgvgvg-0000-0000-0000-0000-0000-000001\"\nseqno = 10001\nformat = \"lvm2\"\n\
         status = [\"RESIZEABLE\", \"READ\", \"WRITE\"]\nflags = []\nextent_size = 256\nmax_lv = 0\nmax_pv = 0\n\
         metadata_copies = 0\n\nphysical_volumes {{\n\npv0 {{\nid = \"pvpvpv-0000-0000-0000-0000-0000-000001\"\n\
         device = \"{device}\"\n\nstatus = [\"ALLOCATABLE\"]\nflags = []\ndev_size = {}\npe_start = {pe_start}\n\
         pe_count = 30000\n}}\n}}\n\nlogical_volumes {{\n",
        DEVICE_SIZE / 512
    );
    for lv in 0..VOLUMES {
        write!(
            text,
            "\nlv{lv} {{\nid = \"lvlvlv-0000-0000-0000-0000-0000-{lv:06}\"\nstatus = [\"READ\", \"WRITE\", \"VISIBLE\"]\n\
             flags = []\ncreation_time = 1700000000\ncreation_host = \"bench\"\nsegment_count = 1\n\nsegment1 {{\n\
             start_extent = 0\nextent_count = 1\n\ntype = \"striped\"\nstripe_count = 1\n\nstripes = [\n\
             \"pv0\", {lv}\n]\n}}\n}}\n"
        )
        .unwrap();
    }
    text + "}\n}\n# bench\n\ncontents = \"Text Format Volume Group\"\nversion = 1\n\ndescription = \"\"\n\n\
            creation_host = \"bench\"\ncreation_time = 1700000000\n\n"
}

/// Label, header and text by the tables in `src/device/lvm`; `lvm vgs` reads it too, so they are right.
fn write_disk(file: &File, text: &str) {
    let mut label = vec![0_u8; 512];
    let put = |block: &mut Vec<u8>, at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
    put(&mut label, 0, b"LABELONE");
    put(&mut label, 8, &1_u64.to_le_bytes());
    put(&mut label, 20, &32_u32.to_le_bytes());
    put(&mut label, 24, b"LVM2 001");
    put(&mut label, 32, PV_ID.as_bytes());
    for (index, number) in [DEVICE_SIZE, AREA + AREA_SIZE, 0, 0, 0, AREA, AREA_SIZE, 0, 0].into_iter().enumerate() {
        put(&mut label, 64 + 8 * index, &number.to_le_bytes());
    }
    put(&mut label, 136, &2_u32.to_le_bytes());
    put(&mut label, 140, &1_u32.to_le_bytes());
    let sum = crc(&label[20..]);
    put(&mut label, 16, &sum.to_le_bytes());
    file.write_all_at(&label, 512).unwrap();

    let stored = [text.as_bytes(), b"\0"].concat();
    let mut header = vec![0_u8; 512];
    put(&mut header, 4, b"\x20LVM2\x20x[5A%r0N*>");
    put(&mut header, 20, &1_u32.to_le_bytes());
    for (index, number) in [AREA, AREA_SIZE, 512, stored.len() as u64].into_iter().enumerate() {
        put(&mut header, 24 + 8 * index, &number.to_le_bytes());
    }
    put(&mut header, 56, &crc(&stored).to_le_bytes());
    let sum = crc(&header[4..]);
    put(&mut header, 0, &sum.to_le_bytes());
    file.write_all_at(&header, AREA).unwrap();
    file.write_all_at(&stored, AREA + 512).unwrap();
}

fn median<T>(mut run: impl FnMut() -> T) -> Duration {
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..RUNS {
        let start = Instant::now();
        let result = run();
        times.push(start.elapsed());
        drop(result);
    }
    times.sort_unstable();
    times[RUNS / 2]
}

fn run(program: &str, args: &[&str]) -> Option<Output> {
    Command::new(program).args(args).output().ok().filter(|output| output.status.success())
}

/// `lvm vgs` on a loop device over the file. `None` where this machine cannot do that.
fn lvm_vgs(path: &Path, folder: &Path) -> Option<Duration> {
    let attached = run("losetup", &["--find", "--show", path.to_str()?])?;
    let device = String::from_utf8(attached.stdout).ok()?.trim().to_owned();
    let config = format!(
        "devices {{ use_devicesfile = 0 filter = [ \"a|^{device}$|\", \"r|.*|\" ] obtain_device_list_from_udev = 0 }} \
         global {{ activation = 0 locking_dir = \"{}\" }} backup {{ backup = 0 archive = 0 }}",
        folder.display()
    );
    let args = ["vgs", "--config", &config, "--noheadings", "-o", "vg_name,lv_count,vg_seqno", "bench"];
    let first = run("lvm", &args).map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let time = first.map(|printed| {
        assert_eq!(printed.split_whitespace().collect::<Vec<_>>(), ["bench", "10000", "10001"]);
        median(|| run("lvm", &args).unwrap())
    });
    run("losetup", &["-d", &device]);
    time
}

fn main() -> ExitCode {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pv");
    let file = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
    file.set_len(DEVICE_SIZE).unwrap();
    let text = text("/dev/sda");
    write_disk(&file, &text);
    let disk = Disk(file);
    let ours = median(|| {
        let scan = read_pv(&disk).unwrap().unwrap();
        let seen = volume_groups([&scan]);
        assert_eq!((seen[0].vg.lvs.len(), seen[0].vg.seqno, scan.errors.len()), (VOLUMES, 10_001, 0));
        (scan, seen)
    });
    println!("VG text: {} LVs, {} KiB", VOLUMES, text.len() >> 10);
    println!("originboot: {:.1} ms (median of {RUNS}; budget 50 ms)", ours.as_secs_f64() * 1e3);
    let ratio = lvm_vgs(&path, folder.path()).map(|lvm| {
        let ratio = lvm.as_secs_f64() / ours.as_secs_f64();
        println!(
            "lvm vgs:    {:.1} ms (median of {RUNS}), {ratio:.0} times as long (budget 10)",
            lvm.as_secs_f64() * 1e3
        );
        ratio
    });
    if ratio.is_none() {
        println!("lvm vgs:    not compared (needs root, lvm2 and a loop device)");
    }
    let met = ours < Duration::from_millis(50) && ratio.is_none_or(|ratio| ratio >= 10.0);
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
