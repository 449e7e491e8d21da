"""Root is linear, /home is cached in the same VG, the SSD is pulled: root comes up, and /home where nothing is lost.
Variant `home-dirty`: /home has dirty blocks on the SSD; root boots, nothing is written, /home is right when it is back."""

from harness.scenario import scenario
from harness.steps import OPT_IN, detached, healthy

READ_ONLY = "remount=ro\n"


@scenario("19-plain-root-incomplete-vg", variants=("home-dirty",))
def run(vm):
    if vm.variant == "home-dirty":
        return dirty(vm)
    layout = vm.layout("home-writethrough")
    vm.stock_gives_up(layout, ["ssd"])
    return detached(vm, layout, vm.image(layout, OPT_IN))


def dirty(vm):
    layout = vm.layout("home-writeback-dirty")
    vm.stock_gives_up(layout, ["ssd"])
    image = vm.image(layout)
    attached = vm.disks(layout)
    pulled = {"hdd": attached["hdd"]}
    # Root stays read-only in this boot, so that any write would be one of ours.
    vm.boot("boot without the SSD", image, pulled, steps=READ_ONLY).expect(kind="linear", files="ok", home="absent")
    vm.unchanged(layout, pulled)
    vm.boot("again, root written", image, pulled).expect(kind="linear", files="ok", rw="ok", home="absent")
    healthy(vm, layout, image, attached, kind="linear", kind_home="cache")
