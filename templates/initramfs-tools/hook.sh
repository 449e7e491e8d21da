#!/bin/sh
@% include "header.txt" -%@
#
# Sourced by /usr/share/initramfs-tools/hooks/originboot, behind hook-functions.

lost()
{
	echo "W: originboot: $1 was not copied into the image" >&2
}

# Kernel modules. Each name was looked up among this kernel's modules; a missing one stops the generator.
@% for module in modules -%@
@{ module.verb }@ @{ module.name }@ # @{ module.why | safe }@
@% endfor -%@
@% for name in builtin -%@
# @{ name }@ is part of the kernel
@% endfor %@
# Tools.
@% for tool in tools -%@
# @{ tool.name }@: @{ tool.why | safe }@
copy_exec @{ tool.path }@ || lost @{ tool.path }@
@% for link in tool.links -%@
copy_file binary @{ link }@ || true
@% endfor -%@
@% endfor -%@
@% if arrays %@
# mdadm.conf, which mdadm's hook has copied or made: a line for what root needs and the file does not list. Never a second
# line about an array, and never a name twice: mdadm would assemble nothing at all.
list_array()
{
	grep -s '^ARRAY' "$mdadm_conf" | grep -q -i -F -e "UUID=$1" -e "$2" && return 0
	printf '\n# Added by originboot, which found no line about this array:\n%s\n' "$3" >>"$mdadm_conf"
}

mdadm_conf=${DESTDIR:?}/etc/mdadm/mdadm.conf
mkdir -p "${mdadm_conf%/*}"
@% for array in arrays -%@
list_array @{ array.uuid }@ @{ array.start }@ @{ array.line }@
@% endfor -%@
@% endif -%@
