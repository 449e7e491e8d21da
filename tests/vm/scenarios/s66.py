"""A writeback cache with dirty blocks, switched to writethrough at an orderly stop and closed; the SSD pulled. The stamp
says CLEAN, so the cache is detached and every file is right."""

from harness.scenario import scenario
from harness.stamped import CREATE, clean
from harness.steps import detached

# What is only on the SSD before the switch.
WRITES = """
before() {
    dmsetup message vg0-root 0 migration_threshold 0
    mount -o remount,rw /
    for file in $(find /files -type f | sort | head -n 60); do
        cp "$file" /run/copy && dd if=/run/copy of="$file" bs=64k conv=notrunc,fsync 2>/dev/null
    done
    sync
    say "dirty=$(dmsetup status --noflush vg0-root | awk '{print $14}')"
}
"""
SWITCH = CREATE.replace("{ block create", "{ lvmq lvchange -q -y --cachemode writethrough vg0/root; block create")


@scenario("66-writeback-orderly-pulled")
def run(vm):
    layout = vm.layout("pool-writeback-flushed")
    image = vm.image(layout)
    attached = vm.disks(layout)
    clean(vm, image, attached, WRITES + SWITCH)
    _, first = detached(vm, layout, image, attached={"hdd": attached["hdd"]})
    first.says(r"originboot: verdict SAFE")
