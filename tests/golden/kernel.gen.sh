#!/bin/sh
# Cuts the golden tests' kernel files out of a real kernel's: kernel.gen.sh /lib/modules/RELEASE
# Kept: md and dm, the file systems of a root, and what those need.
set -eu
from=$1
to=$(dirname "$0")/kernel/lib/modules/$(basename "$from")
mkdir -p "$to"
keep='drivers/md/|drivers/block/loop\.ko|/(ext4|xfs|jbd2|mbcache|crc16|crc32c_generic|libcrc32c)\.ko'
grep -E "^[^:]*($keep)" "$from/modules.dep" | sort >"$to/modules.dep"
grep -E "$keep" "$from/modules.builtin" | sort >"$to/modules.builtin" || true
grep -E '^alias (dm-|md-|fs-(ext|xfs))' "$from/modules.alias" | sort >"$to/modules.alias"
grep -E '^softdep (ext4|xfs|btrfs|dm_)' "$from/modules.softdep" | sort >"$to/modules.softdep" || true
tr '\0' '\n' <"$from/modules.builtin.modinfo" | grep -E '^(ext4|dm_mod|md_mod)\.alias=' | sort | tr '\n' '\0' \
	>"$to/modules.builtin.modinfo" || true
