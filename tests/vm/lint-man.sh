#!/bin/sh
# Manual pages: no warning from mandoc or groff, whichever is here.
set -eu
cd "$(dirname "$0")/../.."

bad=0
count=0
for page in packaging/man/*; do
    count=$((count + 1))
    if command -v mandoc >/dev/null 2>&1; then
        mandoc -T lint -W warning "$page" || bad=1
    elif command -v groff >/dev/null 2>&1; then
        said=$(groff -man -Tutf8 -ww -z "$page" 2>&1) || bad=1
        [ -z "$said" ] || { echo "$said"; bad=1; }
    else
        echo "no mandoc and no groff here: manual pages not checked"
        exit 0
    fi
done
echo "manual: $count pages looked at"
exit $bad
