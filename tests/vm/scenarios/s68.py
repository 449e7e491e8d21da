"""An image without originboot is installed, and uses the cache twice: the first time it opens a cache that was closed in
order, the second time every block is dirty. Then the SSD is pulled. The stamp still says CLEAN, and the mark of the mount on
ext4 speaks against it: UNKNOWN, and no disk is written. Before: while such an image is installed the agent writes no CLEAN,
takes back the one there is, and writes it again when the image has gone."""

from harness.agent import COMMON, cut, not_safe, stamped
from harness.scenario import scenario
from harness.steps import HOLD

AGENT = COMMON + """
after() {
    agent
    until_state CLEAN 90
    say "with_arming=$(state)"
    # Somebody installs a kernel, and its image is built without the hook.
    installed 6.1.0-foreign ""
    sleep 10
    say "with_foreign=$(state)"
    block note cat /run/originboot/images-arm
    rm /boot/vmlinuz-6.1.0-foreign
    until_state CLEAN 60
    say "without_foreign=$(state)"
    block note_after cat /run/originboot/images-arm
    say "ready=yes"
    sleep 600
}
"""
FOREIGN = COMMON + """
close=no
after() {
    for file in $(find /files -type f | sort | head -n 30); do
        cp "$file" /run/copy && dd if=/run/copy of="$file" bs=64k conv=notrunc,fsync 2>/dev/null
    done
    sync
    say "ready=yes"
    sleep 600
}
"""


@scenario("68-foreign-boot")
def run(vm):
    layout = vm.layout("pool-writethrough")
    image, foreign = vm.image(layout, HOLD), vm.stock(layout)
    attached = stamped(vm, layout, image)
    ours = cut(vm, "our boot", image, attached, AGENT, r"^ready=yes$")
    ours.expect(with_arming="CLEAN", with_foreign="ARMED", without_foreign="CLEAN")
    ours.says(r"agent: no stamp is CLEAN meanwhile: /boot/initrd.img-6.1.0-foreign was not built with originboot")
    vm.check(ours.blocks["note"].startswith("no: /boot/initrd.img-6.1.0-foreign"), "the note for the seal does not say no")
    vm.check(ours.blocks["note_after"].startswith("yes"), "the note for the seal does not say yes again")
    for turn in ("first", "second"):
        cut(vm, f"{turn} boot of a foreign image", foreign, attached, FOREIGN, r"^ready=yes$")
    said = not_safe(vm, image, attached)
    vm.check("mounted after the stamp was CLEAN" in said, f"the refusal does not name the mount: {said}")
