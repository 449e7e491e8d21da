//! The environment that children inherit.
#![expect(
    unsafe_code,
    reason = "the environment can be changed safely only while there is one thread; the caller is main"
)]

/// Leaves nothing of the environment but what lvm and udevadm need: the kernel hands every `NAME=value` on its command
/// line that it does not know to init, `LD_PRELOAD` and `LVM_SYSTEM_DIR` included. Called first of all, by a program
/// that has no other thread yet.
pub fn clean() {
    let names: Vec<std::ffi::OsString> = std::env::vars_os().map(|(name, _)| name).collect();
    for name in names {
        // SAFETY: one thread.
        unsafe { std::env::remove_var(name) };
    }
    for (name, value) in [("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), ("LC_ALL", "C"), ("LVM_SUPPRESS_FD_WARNINGS", "1")]
    {
        // SAFETY: one thread.
        unsafe { std::env::set_var(name, value) };
    }
}
