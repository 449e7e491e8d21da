"""mdadm.conf with every ARRAY line twice, as after a second `mdadm --detail --scan >>`: the stock image assembles nothing.
`check` finds it, `--fix` removes the second lines, and the machine boots."""

from harness import mdconf
from harness.layout_table import HOMEHOST, mdadm_conf
from harness.scenario import scenario
from harness.steps import OPT_IN

LAYOUT = "home-server"
NAMES = ("boot", "bulk", "cache")


@scenario("40-duplicate-array")
def run(vm):
    layout = vm.layout(LAYOUT)
    lines = mdadm_conf(*NAMES)[mdconf.CONF]
    doubled = lines + "# mdadm --detail --scan\n" + lines.removeprefix(HOMEHOST)
    vm.stock_gives_up(layout, [], {mdconf.CONF: doubled})
    files = mdconf.Host(vm, layout, doubled).repaired("CONF_DUP_NAME", "CONF_DUP_ID")
    vm.check(files[mdconf.CONF] == lines + "# mdadm --detail --scan\n", f"--fix left {files[mdconf.CONF]!r}")
    result = vm.boot("boot with the repaired file", vm.image(layout, OPT_IN, files), vm.disks(layout), steps=mdconf.ARRAYS)
    result.expect(kind="cache", files="ok", rw="ok", home="ok")
