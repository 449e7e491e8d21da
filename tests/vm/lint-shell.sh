#!/bin/sh
# Shell that ships or is generated: POSIX sh, clean under shellcheck and dash; hooks/ at most 50 lines a file.
set -eu
cd "$(dirname "$0")/../.."

bad=0
scripts() {
    for folder in hooks tests/golden tests/vm packaging; do
        [ -d "$folder" ] && find "$folder" -type f
    done | sort | while IFS= read -r file; do
        case $(head -n 1 "$file" 2>/dev/null | tr -d '\0') in
        '#!/bin/sh'* | '#! /bin/sh'*) echo "$file" ;;
        esac
    done
}
count=0
for file in $(scripts); do
    count=$((count + 1))
    dash -n "$file" || bad=1
    # SC1090/SC1091: the sourced files are on the machine that runs the script.
    shellcheck -s sh -e SC1090,SC1091 "$file" || bad=1
    case $file in
    hooks/*)
        if [ "$(wc -l <"$file")" -gt 50 ]; then
            echo "$file: more than 50 lines"
            bad=1
        fi
        ;;
    esac
done
echo "shell: $count scripts looked at"
exit $bad
