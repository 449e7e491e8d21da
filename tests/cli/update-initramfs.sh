#!/bin/sh
# Stands in for update-initramfs in tests: runs the packaged hook as mkinitramfs does; the "image" is the files of the
# folder that it filled, in a row. There is "fail": nothing is done. There is "fail-late": no image after the hook.
[ "$1 $2" = "-u -k" ] || exit 9
root=$(cd "${0%/*}/../.." && pwd)
[ ! -e "$root/fail" ] || exit 7
for image in "$root"/boot/initrd.img-*; do
	version=${image##*/initrd.img-}
	[ "$3" = all ] || [ "$3" = "$version" ] || continue
	DESTDIR=$(mktemp -d)
	export version DESTDIR
	mkdir -p "$DESTDIR/usr/sbin"
	echo stock >"$DESTDIR/0"
	"$root/usr/share/initramfs-tools/hooks/originboot" || exit 8
	[ ! -e "$root/fail-late" ] || exit 6
	find "$DESTDIR" -type f | sort | xargs cat >"$image"
	rm -rf "$DESTDIR"
	"$root/etc/initramfs/post-update.d/originboot" "$version" "$image" || exit 5
done
