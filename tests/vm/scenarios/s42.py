"""Root on RAID5 with a write journal on the SSD, and a DEVICE line that was written before the SSD was added: stock does not
start the array, or read-only. `check` finds it, `--fix` lets the journal through, and the machine boots."""

import re

from harness import mdconf
from harness.env import Failure
from harness.layout_table import mdadm_conf
from harness.scenario import GAVE_UP, scenario


@scenario("42-device-excludes-journal")
def run(vm):
    layout = vm.layout("raid5-journal")
    good = mdadm_conf("bulk")[mdconf.CONF]
    narrow = "DEVICE /dev/vd[abc]\n" + good
    image = vm.stock(layout, {mdconf.CONF: narrow})
    with vm.machine("control: stock image", image, vm.disks(layout), program=False) as machine:
        try:
            # Or it reaches root, which ends the machine.
            machine.wait(GAVE_UP)
        except Failure:
            pass
        finally:
            machine.kill()
            vm.keep_log(machine)
        stopped = GAVE_UP in machine.console or re.search(r"^rw=no$", machine.results, re.M)
        vm.check(stopped, "control: the stock image boots with a writable root, so the scenario shows nothing")
    files = mdconf.Host(vm, layout, narrow).repaired("CONF_EXCLUDES_MEMBER")
    vm.check(files[mdconf.CONF] == "DEVICE /dev/vd[abc] /dev/vdd\n" + good, f"--fix wrote {files[mdconf.CONF]!r}")
    result = vm.boot("boot with the repaired file", vm.stock(layout, files), vm.disks(layout), steps=mdconf.ARRAYS)
    result.expect(files="ok", rw="ok", home="ok")
