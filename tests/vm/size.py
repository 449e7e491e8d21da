#!/usr/bin/env python3
"""Print the early program's size beside its budget; status 1 when it is over."""

import os
import sys

path, limit = sys.argv[1], int(sys.argv[2]) * 1024
size = os.path.getsize(path)
print(f"{os.path.basename(path)}: {size / 1024:.0f} KiB of at most {limit // 1024} KiB")
sys.exit(0 if size <= limit else 1)
