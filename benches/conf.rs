//! An mdadm.conf of 100,000 ARRAY lines: parsed, printed, made effective, checked. Time and peak memory, for four sizes, each
//! in a process of its own, so that the peak is its own.
//!
//! `cargo bench --bench conf`. Both must grow with the size and no faster.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a benchmark looks at the machine, and a panic is how it fails"
)]

use std::fmt::Write as _;
use std::process::{Command, ExitCode};
use std::time::Instant;

use originboot::mdadm_conf::{Document, Effective, Rules, Source, Version, check};

const SIZES: [usize; 4] = [12_500, 25_000, 50_000, 100_000];
const RUNS: usize = 5;
/// How much faster than the size a figure may grow from the first to the last before it counts as not linear.
const SLACK: f64 = 1.6;

fn text(lines: usize) -> Vec<u8> {
    let mut text = String::from("HOMEHOST <system>\n");
    for n in 0..lines {
        let uuid = format!("{:08x}:{:08x}:41c8e7aa:0b19d4f2", n, n.wrapping_mul(2_654_435_761) & 0xffff_ffff);
        writeln!(text, "ARRAY /dev/md/array{n}  metadata=1.2 UUID={uuid} name=host:{n}").unwrap();
    }
    text.into_bytes()
}

/// One size: `bytes parse effective check peak`, times in microseconds, the peak in KiB.
fn one(lines: usize) {
    let sources = [Source { path: "mdadm.conf".to_owned(), bytes: text(lines) }];
    let rules = Rules { version: Version::NEWEST, debian: true };
    let mut best = [u128::MAX; 3];
    for _ in 0..RUNS {
        let start = Instant::now();
        let files = [Document::parse(0, "mdadm.conf", &sources[0].bytes)];
        assert_eq!(files[0].print(), sources[0].bytes);
        let parsed = start.elapsed().as_micros();
        let start = Instant::now();
        assert_eq!(Effective::of(&files, rules.version).arrays.len(), lines);
        let effective = start.elapsed().as_micros();
        drop(files);
        let start = Instant::now();
        assert!(check(&sources, rules).is_empty());
        let checked = start.elapsed().as_micros();
        for (least, time) in best.iter_mut().zip([parsed, effective, checked]) {
            *least = (*least).min(time);
        }
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")).unwrap();
    let [parse, effective, check] = best;
    println!("{} {parse} {effective} {check} {peak}", sources[0].bytes.len());
}

fn main() -> ExitCode {
    if let Some(lines) = std::env::args().nth(1).and_then(|word| word.parse().ok()) {
        one(lines);
        return ExitCode::SUCCESS;
    }
    println!(
        "{:>8} {:>9} {:>10} {:>10} {:>10} {:>9}",
        "lines", "KiB", "parse ms", "effect. ms", "check ms", "peak MiB"
    );
    let mut figures: Vec<[f64; 2]> = Vec::new();
    for lines in SIZES {
        let output = Command::new(std::env::current_exe().unwrap()).arg(lines.to_string()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let words = String::from_utf8(output.stdout).unwrap();
        let numbers: Vec<f64> = words.split_whitespace().map(|word| word.parse().unwrap()).collect();
        let &[bytes, parse, effective, check, peak] = numbers.as_slice() else { panic!("{words}") };
        println!(
            "{lines:>8} {:>9.0} {:>10.1} {:>10.1} {:>10.1} {:>9.1}",
            bytes / 1024.0,
            parse / 1000.0,
            effective / 1000.0,
            check / 1000.0,
            peak / 1024.0
        );
        figures.push([parse + effective + check, peak]);
    }
    let (first, last) = (figures.first().unwrap(), figures.last().unwrap());
    let times = SIZES[SIZES.len() - 1] as f64 / SIZES[0] as f64;
    let [time, memory] = [last[0] / first[0], last[1] / first[1]];
    println!("{times:.0} times the lines: {time:.1} times the time, {memory:.1} times the memory");
    if time > times * SLACK || memory > times * SLACK {
        eprintln!("not linear");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
