"""The agent as systemd runs it, confined, on a full Debian whose root is in writeback: at an orderly stop everything is
written back within the limit, and the stamp is CLEAN; the next boot is in writeback again; after its stop the SSD is
pulled, and root is detached by defaults, with every file right. Variant `limit`: a limit that is too short for a slow HDD:
back to writeback, and a line with the blocks that are left."""

from harness import product
from harness.agent import IMAGES
from harness.scenario import scenario
from harness.shutdown import FIRST_LOOK, STOP, boot, prepare

UNITS = ("originboot-agent.service", "originboot-flush.service")
# The package, by hand; what the units say is on the console too.
INSTALL = IMAGES + """
install_units() {
    install -m 755 /run/task/originboot /usr/bin/originboot
    install -m 644 /run/task/*.service /usr/lib/systemd/system/
    mkdir -p /etc/systemd/system/multi-user.target.wants /etc/originboot
    for unit in originboot-agent originboot-flush; do
        ln -sf "/usr/lib/systemd/system/$unit.service" /etc/systemd/system/multi-user.target.wants/
        mkdir -p "/etc/systemd/system/$unit.service.d"
        printf '[Service]\\nStandardError=journal+console\\n' >"/etc/systemd/system/$unit.service.d/console.conf"
    done
    installed 6.12.1-amd64 arms
    systemctl daemon-reload
}
# What is on the SSD only: nothing is cleaned while the threshold is 0.
write() {
    dmsetup message vg0-root 0 migration_threshold 0
    for file in $(find /files -type f | sort | head -n 40); do
        cp "$file" /run/copy && dd if=/run/copy of="$file" bs=64k conv=notrunc,fsync 2>/dev/null
    done
    say "dirty=$(dirty)"
}
mode() { lvs --noheadings -o cache_mode vg0/root 2>/dev/null | tr -d ' '; }
look() {
    say "mode=$(mode)"
    say "agent=$(systemctl is-active originboot-agent.service)"
    block units systemctl --no-pager -l status originboot-agent.service originboot-flush.service
    block evidence originboot evidence show vg0
    block note cat /run/originboot/images-arm
}
"""
FIRST = INSTALL + """
before() {
    install_units
    block create originboot evidence create --yes vg0
    systemctl start originboot-agent.service originboot-flush.service
    sleep 6
    @SETTINGS@
    write
    look
}
"""
SECOND = INSTALL + """
before() {
    for second in $(seq 60); do
        [ "$(mode)" != writeback ] || break
        sleep 1
    done
    sleep 3
    write
    look
}
"""
OFF = STOP.format(verb="poweroff")
CLEAN = r"originboot: seal: vg0-root is closed with 0 dirty blocks; stamp CLEAN"


@scenario("6i-agent-service", variants=("limit",))
def run(vm):
    layout, _ = prepare(vm, "writeback")
    image = vm.image(layout, files=FIRST_LOOK)
    stage = product.stage(vm.tree)
    units = stage.path / "usr/lib/systemd/system"
    files = {"originboot": stage.program.read_bytes(), **{name: (units / name).read_bytes() for name in UNITS}}
    attached = vm.disks(layout)
    settings = "printf '[evidence]\\nshutdown_flush = \"1s\"\\n' >/etc/originboot/originboot.toml" if vm.variant else ":"
    steps = FIRST.replace("@SETTINGS@", settings) + OFF
    first = boot(vm, "writeback", image, attached, steps, files=files, slow=bool(vm.variant))
    first.expect(kind="cache", files="ok", agent="active", mode="writeback")
    vm.check(int(first.values["dirty"]) > 20, "no block was dirty, so the scenario shows nothing")
    if vm.variant:
        first.says(r"vg0/root: not finished within 1 s: \d+ blocks stay on the SSD only; back to writeback")
        first.silent(CLEAN)
        return
    first.says(r"vg0/root: everything is written back").says(CLEAN)
    second = boot(vm, "back in writeback", image, attached, SECOND + OFF)
    second.expect(kind="cache", files="ok", agent="active", mode="writeback", first_dirty="0")
    second.says(r"vg0/root: back in writeback, as before the last shutdown").says(CLEAN)
    left = {"hdd": attached["hdd"]}
    boot(vm, "the SSD is pulled", image, left, OFF, seal=False).expect(kind="linear", files="ok")
