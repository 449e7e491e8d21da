"""An array without ARRAY line that something is mounted by name: the stock image makes it md127, and the name is not
there. `check` finds it, `--fix` adds the line, and the array has its name."""

from harness import mdconf
from harness.layout_table import mdadm_conf
from harness.scenario import scenario
from harness.steps import OPT_IN

FSTAB = "/dev/mapper/vg0-root / ext4 defaults 0 1\n/dev/md/cache /mnt/other ext4 nofail 0 2\n"


@scenario("41-md127-names")
def run(vm):
    layout = vm.layout("home-server")
    short = mdadm_conf("boot", "bulk")[mdconf.CONF].replace("HOMEHOST nas\n", "HOMEHOST elsewhere\n")
    image = vm.stock(layout, {mdconf.CONF: short})
    control = vm.boot("control: stock image", image, vm.disks(layout), steps=mdconf.ARRAYS)
    control.expect(kind="cache", files="ok")
    vm.check("link_cache" not in control.values, "control: the stock image has /dev/md/cache")
    vm.check("md127" in control.blocks["mdstat"], "control: the stock image has no md127")
    files = mdconf.Host(vm, layout, short, FSTAB).repaired("CONF_MISSING_ARRAY", "CONF_DEVICE_NAME")
    vm.check(files[mdconf.CONF].startswith(short), f"--fix changed other lines: {files[mdconf.CONF]!r}")
    result = vm.boot("boot with the repaired file", vm.image(layout, OPT_IN, files), vm.disks(layout), steps=mdconf.ARRAYS)
    result.expect(kind="cache", files="ok", rw="ok", home="ok")
    vm.check("link_cache" in result.values, "there is no /dev/md/cache after the repair")
