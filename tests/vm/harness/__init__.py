"""Everything that the VM scenarios share: base systems, layouts, images, virtual machines."""
