"""The layouts: which disks they have and the shell script that makes them (inside a machine, see guest/maker)."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Spec:
    """`disks`: serial -> MiB. `partitions`: serial -> [(start, size) in MiB]. `files`: what the host's /etc holds.
    `power_cut`: the machine is killed when the script says so instead of being switched off."""

    disks: dict
    script: str
    partitions: dict = dataclasses.field(default_factory=dict)
    files: dict = dataclasses.field(default_factory=dict)
    power_cut: bool = False


TWO_DISKS = {"hdd": 640, "ssd": 256}

VG = """
hdd=$(disk hdd) ssd=$(disk ssd)
step lvm pvcreate -q "$hdd" "$ssd"
step lvm vgcreate -q vg0 "$hdd" "$ssd"
step lvm lvcreate -q -y -n root -L 256M vg0 "$hdd"
step lvm lvcreate -q -y -n home -L 64M vg0 "$hdd"
"""

CLOSE = """
umount /mnt/* 2>/dev/null
step lvm vgchange -q -an vg0
"""


def pool(mode: str, lv="root", name="cpool") -> str:
    """Put `lv` behind a cache pool on the SSD."""
    return f"""
step lvm lvcreate -q -y --type cache-pool -L 72M -n {name} vg0 "$ssd"
step lvm lvconvert -q -y --type cache --cachepool vg0/{name} --cachemode {mode} vg0/{lv}
"""


def cachevol(mode: str, lv="root", name="fast") -> str:
    """Put `lv` behind a cachevol on the SSD."""
    return f"""
step lvm lvcreate -q -y -n {name} -L 72M vg0 "$ssd"
step lvm lvconvert -q -y --type cache --cachevol vg0/{name} --cachemode {mode} vg0/{lv}
"""


def flushed(lv: str) -> str:
    """Wait until the cache holds nothing that the origin lacks."""
    return f"""
for second in $(seq 120); do
    [ "$(dirty vg0-{lv})" = 0 ] && break
    sleep 1; sync
done
[ "$(dirty vg0-{lv})" = 0 ] || fail "{lv} stays dirty"
"""


LAYOUTS = {
    "pool-writethrough": Spec(TWO_DISKS, VG + pool("writethrough") + "fill root home\n" + CLOSE),
}
