"""A full Debian goes down by kexec: the cache is closed, and the new kernel finds nothing dirty. systemd-shutdown would
start the program kexec for it, which lies on root."""

from harness.scenario import scenario
from harness.shutdown import CLOSED, boot, closed, nothing_dirty, prepare

# The first time into the new kernel, from there into power-off.
KEXEC = """
before() {
    grep -qw kexeced /proc/cmdline && return
    kexec -l /run/task/vmlinuz --initrd=/run/task/initrd.img --command-line="$(cat /proc/cmdline) kexeced"
    say "loaded=$(cat /sys/kernel/kexec_loaded)"
}
stop() {
    if grep -qw kexeced /proc/cmdline; then systemctl --no-block poweroff; else systemctl --no-block kexec; fi
}
"""


@scenario("6c-seal-kexec")
def run(vm):
    layout, image = prepare(vm)
    attached = vm.disks(layout)
    files = {"vmlinuz": vm.system.kernel.read_bytes(), "initrd.img": image.read_bytes()}
    options = {"files": files, "ready": r"^kexeced=yes$(.*\n)*^end=yes$", "memory": 1024, "slow": True}
    result = boot(vm, "kexec", image, attached, KEXEC, **options)
    result.expect(loaded="1", kexeced="yes").says(CLOSED)
    nothing_dirty(vm, result)
    vm.check(closed(vm, attached["ssd"]), "the cache was not closed after the kexec")
