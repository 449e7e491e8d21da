//! `inspect`.

use crate::host::Host;
use crate::originboot;

#[test]
fn show() {
    for name in ["pool-writethrough", "pool-writeback", "home-server", "luks-passthrough", "no-lvm"] {
        let host = Host::new(name);
        let out = originboot().arg("inspect").arg("--sysroot").arg(host.path()).output().unwrap();
        println!(
            "{name}: {:?}\n{}{}",
            out.status,
            String::from_utf8_lossy(&out.stdout),
            String::from_utf8_lossy(&out.stderr)
        );
        let out = originboot().args(["simulate", "--without", "vdb", "--sysroot"]).arg(host.path()).output().unwrap();
        println!(
            "{name}: {:?}\n{}{}",
            out.status,
            String::from_utf8_lossy(&out.stdout),
            String::from_utf8_lossy(&out.stderr)
        );
    }
}
