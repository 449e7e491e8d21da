"""Root on a RAID0 in an Intel container; mdadm.conf has a container line without UUID and `AUTO -all`, so that the stock image
assembles neither. `check` finds both, `--fix` adds the UUID and the volume's line, container first, and the machine boots."""

from harness import mdconf
from harness.layout_table import IMSM_RULE
from harness.scenario import scenario

WRONG = "DEVICE /dev/vd*\nHOMEHOST nas\nAUTO -all\nARRAY /dev/md/imsm0 metadata=imsm\n"


@scenario("43-imsm-container")
def run(vm):
    layout = vm.layout("imsm-raid0")
    vm.stock_gives_up(layout, [], {**IMSM_RULE, mdconf.CONF: WRONG})
    host = mdconf.Host(vm, layout, WRONG)
    files = host.repaired("CONF_NO_ID", "CONF_AUTO_EXCLUDES", "CONF_DEVICE_NO_CONTAINERS")
    lines = [line for line in files[mdconf.CONF].splitlines() if line.startswith("ARRAY")]
    vm.check(len(lines) == 2 and "metadata=imsm UUID=" in lines[0] and " container=" in lines[1], f"--fix wrote {lines}")
    result = vm.boot(
        "boot with the repaired file",
        vm.stock(layout, {**IMSM_RULE, **files}),
        vm.disks(layout),
        steps=mdconf.ARRAYS,
    )
    result.expect(files="ok", rw="ok", home="ok")
