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
