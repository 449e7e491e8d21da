#!/bin/sh
# Stands in for update-initramfs in tests: what the packaged hook does, and an "image" that is one small file.
[ "$*" = "-u -k all" ] || exit 9
root=$(cd "${0%/*}/../.." && pwd)
[ ! -e "$root/fail" ] || exit 7
for image in "$root"/boot/initrd.img-*; do
	release=${image##*/initrd.img-}
	kept=$root/var/lib/originboot/generated/$release
	echo stock >"$image"
	[ -e "$root/var/lib/originboot/installed" ] || continue
	"@PROGRAM@" generate --dialect initramfs-tools --kernel "$release" --output "$kept" --force --tools-root "$root" \
		--sysroot "${ORIGINBOOT_SYSROOT:?}" && cat "$kept/boot.plan" >>"$image"
done
