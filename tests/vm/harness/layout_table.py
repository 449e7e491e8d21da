"""The layouts: which disks they have and the shell script that makes them (inside a machine, see guest/maker)."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Spec:
    """`disks`: serial -> MiB. `partitions`: serial -> [(start, size) in MiB]. `files`: what the host's /etc holds.
    `power_cut`: the machine is killed when the script says so instead of being switched off. `full`: root is a whole
    Debian, with "systemd" (fullsystem.py) or "sysvinit" (sysvinit.py)."""

    disks: dict
    script: str
    partitions: dict = dataclasses.field(default_factory=dict)
    files: dict = dataclasses.field(default_factory=dict)
    power_cut: bool = False
    full: str = ""


TWO_DISKS = {"hdd": 640, "ssd": 256}
FULL_DISKS = {"hdd": 900, "ssd": 256}

VG = """
hdd=$(disk hdd) ssd=$(disk ssd)
step lvm pvcreate -q "$hdd" "$ssd"
step lvm vgcreate -q vg0 "$hdd" "$ssd"
step lvm lvcreate -q -y -n root -L 256M vg0 "$hdd"
step lvm lvcreate -q -y -n home -L 64M vg0 "$hdd"
"""

FULL_VG = VG.replace("root -L 256M", "root -L 512M")

SEQNO = """
echo "seqno=$(lvm vgs --noheadings -o vg_seqno vg0 | tr -d ' ')" >/dev/ttyS1
"""

CLOSE = SEQNO + """
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


def only_on_the_ssd(lv: str) -> str:
    """Make the newest content of some files exist on the SSD alone: dirty blocks that no one flushes, then a cut."""
    return f"""
files=$(cd /mnt/{lv} && find files -type f | sort | head -n 60)
mkdir -p /run/good
for file in $files; do
    cp "/mnt/{lv}/$file" "/run/good/${{file##*/}}"
    dd if=/dev/zero of="/mnt/{lv}/$file" bs="$(wc -c <"/run/good/${{file##*/}}")" count=1 conv=notrunc 2>/dev/null
done
sync
""" + flushed(lv) + f"""
step dmsetup message vg0-{lv} 0 migration_threshold 0
for file in $files; do
    dd if="/run/good/${{file##*/}}" of="/mnt/{lv}/$file" bs=64k conv=notrunc 2>/dev/null
done
sync
[ "$(dirty vg0-{lv})" -gt 10 ] || fail "only $(dirty vg0-{lv}) dirty blocks"
echo 3 >/proc/sys/vm/drop_caches
(cd /mnt/{lv} && sha256sum -c manifest >/dev/null) || fail "manifest of {lv} after the rewrite"
umount /mnt/*
sync
""" + SEQNO + f"""
echo "dirty=$(dirty vg0-{lv})" >/dev/ttyS1
"""


HOMEHOST = "CREATE owner=root group=disk mode=0660 auto=yes\nHOMEHOST nas\nMAILADDR root\n"
UUIDS = {
    "boot": "6f1d0c1a:52a7e3b4:9c08d7f1:10a2b3c4",
    "bulk": "6f1d0c1a:52a7e3b4:9c08d7f1:20a2b3c4",
    "cache": "6f1d0c1a:52a7e3b4:9c08d7f1:30a2b3c4",
}


def mdadm_conf(*arrays: str) -> dict:
    """The host's mdadm.conf with an ARRAY line for each of the arrays."""
    lines = [f"ARRAY /dev/md/{name} metadata=1.2 UUID={UUIDS[name]}\n" for name in arrays]
    return {"/etc/mdadm/mdadm.conf": HOMEHOST + "".join(lines)}


def array(name: str, minor: int, level: int, members, more="") -> str:
    """Create an md array that udev will later know by `name`."""
    members = list(members)
    clean = "" if level == 0 else " --assume-clean"
    return (
        f"step mdadm --create /dev/md{minor} --quiet --run --metadata=1.2 --homehost=nas --name={name}"
        f" --uuid={UUIDS[name]} --level={level} --raid-devices={len(members)}{clean}{more} {' '.join(members)}\n"
    )


STOP_ARRAYS = "for md in /dev/md[0-9]*; do mdadm --stop --quiet $md; done\n"

# A home server: /boot on RAID1 and the volume group on RAID5 of three disks, the cache on RAID0 of two SSDs.
HOME_SERVER = (
    "modprobe raid1; modprobe raid456; modprobe raid0\n"
    + array("boot", 0, 1, [f'"$(disk hdd{i})1"' for i in (1, 2, 3)])
    # The bitmap that disks of some size get by default.
    + array("bulk", 1, 5, [f'"$(disk hdd{i})2"' for i in (1, 2, 3)], " --bitmap=internal")
    + array("cache", 2, 0, [f'"$(disk ssd{i})"' for i in (1, 2)])
    + """
mkdir -p /mnt/boot
ext4 boot /dev/md0
step mount /dev/md0 /mnt/boot
echo "boot files" >/mnt/boot/here
hdd=/dev/md1 ssd=/dev/md2
"""
)

CACHE_ON_RAID1 = (
    "modprobe raid1\n"
    + array("cache", 2, 1, [f'"$(disk ssd{i})"' for i in (1, 2)])
    + "hdd=$(disk hdd) ssd=/dev/md2\n"
)
LVS = VG.split("\n", 2)[2]

DATA = 'step lvm lvcreate -q -y -n data -L 64M vg0 "$hdd"\n'

THREE_DISKS = {"hdd1": 400, "hdd2": 400, "ssd": 256}


def on_two(root: str) -> str:
    """A VG whose root lies on two origin disks: `root` are the words of lvcreate."""
    return f"""
modprobe raid1; modprobe dm_raid
hdd1=$(disk hdd1) hdd2=$(disk hdd2) ssd=$(disk ssd)
step lvm pvcreate -q "$hdd1" "$hdd2" "$ssd"
step lvm vgcreate -q vg0 "$hdd1" "$hdd2" "$ssd"
step lvm lvcreate -q -y {root} -n root -L 256M vg0 "$hdd1" "$hdd2"
step lvm lvcreate -q -y -n home -L 64M vg0 "$hdd1"
"""


STRIPED = "-i 2 -I 64"
RAID1 = "--type raid1 -m 1 --nosync"

# Root on RAID5 of three disks whose write journal is on the SSD.
JOURNAL = (
    "modprobe raid456\n"
    + array("bulk", 1, 5, [f'"$(disk hdd{i})"' for i in (1, 2, 3)]).rstrip("\n").replace(" --assume-clean", "")
    + """ --write-journal "$(disk ssd)"
hdd=/dev/md1
step lvm pvcreate -q "$hdd"
step lvm vgcreate -q vg0 "$hdd"
step lvm lvcreate -q -y -n root -L 256M vg0
step lvm lvcreate -q -y -n home -L 64M vg0
fill root home
mdadm --wait "$hdd"
"""
)

# Root on a RAID0 in an Intel container, as a fakeraid has it. Virtual disks have no Intel controller and no SCSI serial:
# mdadm is told so by the variables that its own tests use, in the images through a udev rule.
IMSM = """
modprobe raid0
export IMSM_NO_PLATFORM=1 IMSM_DEVNAME_AS_SERIAL=1
step mdadm --create /dev/md127 --quiet --run --metadata=imsm --raid-devices=2 "$(disk hdd1)" "$(disk hdd2)"
step mdadm --create /dev/md126 --quiet --run --level=0 --raid-devices=2 /dev/md127
hdd=/dev/md126
step lvm pvcreate -q "$hdd"
step lvm vgcreate -q vg0 "$hdd"
step lvm lvcreate -q -y -n root -L 256M vg0
step lvm lvcreate -q -y -n home -L 64M vg0
fill root home
"""
IMSM_RULE = {
    "/etc/udev/rules.d/10-imsm-test.rules": 'ENV{IMSM_NO_PLATFORM}="1", ENV{IMSM_DEVNAME_AS_SERIAL}="1"\n',
}

# A full Debian with something of every kind beside root: a second cached LV on the same SSD, a plain one, swap, /boot on a
# disk of its own, an array. All of it stands in fstab, and the scenario's task starts in a preview too.
EVERYTHING = (
    "modprobe raid1\n"
    + FULL_VG
    + array("bulk", 1, 1, ['"$(disk m1)"', '"$(disk m2)"'])
    + """
step lvm lvcreate -q -y -n data -L 32M vg0 "$hdd"
step lvm lvcreate -q -y -n swap -L 16M vg0 "$hdd"
"""
    + pool("writeback", "root", "rpool")
    + pool("writeback", "data", "dpool")
    + """
step mkswap /dev/mapper/vg0-swap
ext4 home /dev/mapper/vg0-home
ext4 data /dev/mapper/vg0-data
ext4 boot "$(disk boot)"
ext4 srv /dev/md1
fill root
etc=/mnt/root/etc
cat >$etc/fstab <<'FSTAB'
/dev/mapper/vg0-root / ext4 defaults 0 0
/dev/mapper/vg0-swap none swap sw,nofail 0 0
/dev/mapper/vg0-home /home ext4 defaults,nofail 0 2
/dev/mapper/vg0-data /data ext4 defaults,nofail 0 2
LABEL=boot /boot ext4 defaults,nofail 0 2
LABEL=srv /srv ext4 defaults,nofail 0 2
FSTAB
mkdir -p /mnt/root/home /mnt/root/data /mnt/root/srv $etc/systemd/system/originboot-preview.target.wants
ln -s ../task.service $etc/systemd/system/originboot-preview.target.wants/task.service
sync
"""
    + flushed("root")
    + flushed("data")
)

LAYOUTS = {
    "full-everything": Spec(
        {**FULL_DISKS, "boot": 32, "m1": 48, "m2": 48},
        EVERYTHING + CLOSE + STOP_ARRAYS,
        files=mdadm_conf("bulk"),
        full=True,
    ),
    "imsm-raid0": Spec(
        {"hdd1": 240, "hdd2": 240},
        IMSM + CLOSE + "mdadm --stop --quiet /dev/md126; mdadm --stop --quiet /dev/md127\n",
        files={**IMSM_RULE, "/etc/mdadm/mdadm.conf": HOMEHOST + "ARRAY <ignore> UUID=" + UUIDS["boot"] + "\n"},
    ),
    "raid5-journal": Spec(
        {"hdd1": 240, "hdd2": 240, "hdd3": 240, "ssd": 128},
        JOURNAL + CLOSE + STOP_ARRAYS,
        files=mdadm_conf("bulk"),
    ),
    "full-writethrough": Spec(FULL_DISKS, FULL_VG + pool("writethrough") + "fill root\n" + CLOSE, full="systemd"),
    "sysvinit-writethrough": Spec(
        FULL_DISKS, FULL_VG + pool("writethrough") + "fill root\n" + CLOSE, full="sysvinit"
    ),
    "full-writeback": Spec(
        FULL_DISKS, FULL_VG + pool("writeback") + "fill root\n" + flushed("root") + CLOSE, full="systemd"
    ),
    "pool-writethrough": Spec(TWO_DISKS, VG + pool("writethrough") + "fill root home\n" + CLOSE),
    "striped-writethrough": Spec(THREE_DISKS, on_two(STRIPED) + pool("writethrough") + "fill root home\n" + CLOSE),
    "raid1-writethrough": Spec(THREE_DISKS, on_two(RAID1) + pool("writethrough") + "fill root home\n" + CLOSE),
    "raid1-writeback-flushed": Spec(
        THREE_DISKS, on_two(RAID1) + pool("writeback") + "fill root home\n" + flushed("root") + CLOSE
    ),
    "cachevol-writeback-flushed": Spec(
        TWO_DISKS, VG + cachevol("writeback") + "fill root home\n" + flushed("root") + CLOSE
    ),
    "cachevol-writethrough": Spec(TWO_DISKS, VG + cachevol("writethrough") + "fill root home\n" + CLOSE),
    "pool-passthrough": Spec(TWO_DISKS, VG + pool("passthrough") + "fill root home\n" + CLOSE),
    "pool-writeback-flushed": Spec(
        TWO_DISKS, VG + pool("writeback") + "fill root home\n" + flushed("root") + CLOSE
    ),
    "pool-writeback-dirty": Spec(
        TWO_DISKS, VG + pool("writeback") + "fill root home\n" + only_on_the_ssd("root"), power_cut=True
    ),
    "home-server": Spec(
        {"hdd1": 304, "hdd2": 304, "hdd3": 304, "ssd1": 128, "ssd2": 128},
        HOME_SERVER + LVS + pool("writethrough") + "fill root home\numount /mnt/boot\n" + CLOSE + STOP_ARRAYS,
        partitions={f"hdd{i}": [(1, 32), (33, 270)] for i in (1, 2, 3)},
        files=mdadm_conf("boot", "bulk", "cache"),
    ),
    "home-writethrough": Spec(TWO_DISKS, VG + pool("writethrough", "home") + "fill root home\n" + CLOSE),
    "home-writeback-dirty": Spec(
        TWO_DISKS, VG + pool("writeback", "home") + "fill root home\n" + only_on_the_ssd("home"), power_cut=True
    ),
    **{
        name: Spec(
            {"hdd": 640, "ssd1": 256, "ssd2": 256},
            CACHE_ON_RAID1 + LVS + pool(mode) + "fill root home\n" + CLOSE + STOP_ARRAYS,
            files=mdadm_conf("cache"),
        )
        for name, mode in (("cache-on-raid1", "writethrough"), ("passthrough-on-raid1", "passthrough"))
    },
    "two-caches": Spec(
        TWO_DISKS,
        VG + DATA + pool("writethrough", "root", "rpool") + pool("writeback", "data", "dpool")
        + "fill root home data\n" + only_on_the_ssd("data"),
        power_cut=True,
    ),
}
