"""A full Debian boots without its SSD: told in the journal at level error, in the login banner, and by a mail to root, at
this boot and at the next, until somebody acknowledges. The units run confined as they are installed."""

from harness import product
from harness.scenario import scenario
from harness.shutdown import STOP, boot, prepare
from harness.steps import OPT_IN

# The package, by hand: programs and units from the task disk, a mailer that keeps what it gets.
INSTALL = """
install -m 755 /run/task/originboot /usr/bin/originboot
install -m 644 /run/task/*.service /usr/lib/systemd/system/
mkdir -p /etc/systemd/system/multi-user.target.wants
ln -sf /usr/lib/systemd/system/originboot-report.service /etc/systemd/system/multi-user.target.wants/
printf '#!/bin/sh\\n{ echo "$*"; cat; } >>/var/mail-to-root\\n' >/usr/sbin/sendmail
chmod 755 /usr/sbin/sendmail
systemctl daemon-reload
systemctl start originboot-report.service
"""
LOOK = """
told() {
    for second in $(seq 30); do
        [ "$(systemctl is-active originboot-notify.service)" = activating ] || break
        sleep 1
    done
    block units systemctl --no-pager status originboot-report.service originboot-notify.service
    block journal journalctl -b -p err -t originboot --no-pager -o cat
    block motd cat /run/motd.d/originboot
    block issue cat /run/issue.d/originboot.issue
    say "mails=$(grep -c '^Subject: ' /var/mail-to-root)"
    say "mode=$(stat -c %a /var/lib/originboot)"
}
"""
FIRST = LOOK + "before() {\n" + INSTALL + "    sleep 5\n    told\n}\n"
SECOND = LOOK + "before() { told; block ack originboot status --acknowledge; say banner=$([ -e /run/motd.d/originboot ] && echo yes || echo no); }\n"
THIRD = LOOK + "before() { told; say \"report=$(systemctl show -p ConditionResult --value originboot-report.service)\"; }\n"
OFF = STOP.format(verb="poweroff")


def is_told(vm, result, when, mails):
    """In every way."""
    said = result.blocks["journal"]
    vm.check(f"originboot: {when}" in said and "the cache was detached" in said, f"{result.name}: the journal says {said}")
    for banner in ("motd", "issue"):
        said = result.blocks[banner]
        vm.check("the cache was detached" in said and "--acknowledge" in said, f"{result.name}: {banner} is {said}")
    result.expect(mails=str(mails), mode="700")


@scenario("6h-told")
def run(vm):
    layout, _ = prepare(vm)
    image = vm.image(layout, OPT_IN)
    stage = product.stage(vm.tree)
    units = stage.path / "usr/lib/systemd/system"
    names = ("originboot-report.service", "originboot-notify.service")
    files = {"originboot": stage.program.read_bytes(), **{name: (units / name).read_bytes() for name in names}}
    pulled = {"hdd": vm.disks(layout)["hdd"]}
    first = boot(vm, "without the SSD", image, pulled, FIRST + OFF, seal=False, files=files).expect(kind="linear", files="ok")
    is_told(vm, first, "this boot: ", 1)
    second = boot(vm, "the next boot", image, pulled, SECOND + OFF, seal=False).expect(kind="linear", banner="no")
    is_told(vm, second, "a boot of ", 2)
    vm.check("acknowledged: the cache was detached" in second.blocks["ack"], f"{second.blocks['ack']}")
    third = boot(vm, "somebody has taken note", image, pulled, THIRD + OFF, seal=False).expect(mails="2", report="no")
    vm.check("originboot" not in third.blocks["journal"], f"the journal still says {third.blocks['journal']}")
    vm.check("the cache" not in third.blocks["motd"], f"the banner is still there: {third.blocks['motd']}")
