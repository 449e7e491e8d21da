"""A preview of a full Debian with a second cached volume, swap, /home, /boot and an array in fstab: none of them is used,
whoever works in the preview writes to RAM, and every disk is as it was. Then the layer fills up: root becomes read-only
before it is full, and says so. Variant `ssd-back`: the SSD comes back while the preview runs, and nothing is done about it."""

from harness import fullsystem, qemu
from harness.scenario import scenario
from harness.shutdown import STOP, boot


# Work, and attempts on everything that fstab named.
WORK = """
before() {
    say "mounts=$(awk '$1 ~ "^/dev/" {print $1 ":" $2}' /proc/mounts | tr '\\n' ' ')"
    say "swaps=$(grep -c / /proc/swaps)"
    block md cat /proc/mdstat
    say "md=$(cat /sys/block/md*/md/array_state)"
    for name in /dev/md[0-9]* /dev/vd*; do
        case $(cat "/sys/block/${name##*/}/serial" 2>/dev/null) in task) continue ;; esac
        dd if=/dev/zero of="$name" bs=4k seek=64 count=1 conv=notrunc,fsync 2>/dev/null && say "written=$name"
        mount -o rw "$name" /mnt 2>/dev/null && { echo x >/mnt/x && say "written=$name"; umount /mnt; }
        swapon "$name" 2>/dev/null && say "written=$name"
    done
    vgchange -q -ay >/run/vgchange 2>&1
    mount -a
    mdadm --assemble --scan >/run/mdadm 2>&1
    dd if=/dev/urandom of=/work bs=1M count=16 2>/dev/null
    sum=$(sha256sum </work) && sync && echo 3 >/proc/sys/vm/drop_caches
    [ "$(sha256sum </work)" = "$sum" ] && say work=kept
    say "lvs=$(ls /dev/mapper | grep -v -e control -e '^vg0-root' | tr '\\n' ' ')"
    after
}
"""
# Whatever is free, then what is there, with what is there: each block of root goes into the layer. In small pieces: a writer
# that the page cache lets through at once overflows the layer between two looks of the watch.
FILL = """
fill_layer() {
    n=0
    while dd if=/dev/zero of=/big bs=1M seek=$n count=2 conv=notrunc,fsync 2>/dev/null; do n=$((n + 2)); sleep 0.5; done
    find /usr /files -type f -size +64k -size -2048k | while read -r file; do
        cp "$file" /run/copy && dd if=/run/copy of="$file" bs=1M conv=notrunc,fsync 2>/dev/null || break
        sleep 0.2
    done
    rm -f /run/copy
}
store() { dmsetup status vg0-root | cut -d ' ' -f 4; }
"""
OVER = FILL + """
after() {
    fill_layer
    sleep 3
    say "store=$(store)"
    say "probe=$(touch /probe 2>/dev/null && echo written || echo refused)"
    say "again=$(files)"
}
"""
BACK = """
after() {
    say plug=now
    for second in 1 2 3 4 5 6 7 8 9 10; do
        sleep 2
        for disk in /sys/block/vd*; do [ "$(cat $disk/serial 2>/dev/null)" = ssd ] && there=$disk; done
        [ -z "$there" ] || break
    done
    sleep 5
    udevadm settle
    say "ssd_ro=$(cat "$there/ro")"
    vgchange -q -ay >/run/vgchange 2>&1
    say "late=$(ls /dev/mapper | grep -v -e control -e '^vg0-root' | tr '\\n' ' ')"
    say "table=$(dmsetup table vg0-root | cut -d ' ' -f 3)"
}
"""
OFF = STOP.format(verb="poweroff")


@scenario("6f-preview-touches-nothing", variants=("ssd-back",))
def run(vm):
    vm.system = fullsystem.system(vm.system.name)
    layout = vm.layout("full-everything")
    image = vm.image(layout)
    attached = vm.disks(layout)
    pulled = {serial: file for serial, file in attached.items() if serial != "ssd"}
    steps = BACK if vm.variant else OVER
    late = qemu.Disk("ssd", attached["ssd"])

    def plug(machine):
        machine.wait("^plug=now$", port="results", deadline=2 * qemu.DEADLINE)
        machine.plug(late)

    during = plug if vm.variant == "ssd-back" else None
    # Little memory: a small layer.
    result = boot(vm, "boot without the SSD", image, pulled, WORK + steps + OFF, seal=False, memory=512, during=during)
    result.expect(root="/dev/mapper/vg0-root", kind="snapshot", files="ok", work="kept", swaps="0", lvs="")
    vm.check(result.values["mounts"].strip() == "/dev/mapper/vg0-root:/", f"mounted is {result.values['mounts']}")
    vm.check(result.values["md"] in ("read-auto", "readonly"), f"the array is {result.values['md']}")
    vm.check("written" not in result.values, f"{result.values.get('written')} could be written to in the preview")
    if vm.variant == "ssd-back":
        result.expect(late="", table="snapshot", ssd_ro="1")
    else:
        result.says(r"originboot: preview: the layer in RAM is 9\d % full: root is read-only from now on")
        result.expect(probe="refused", again="ok")
        vm.check("/" in result.values["store"], f"the layer is {result.values['store']}")
    vm.unchanged(layout, attached)
