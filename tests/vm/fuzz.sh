#!/bin/sh
# Run every target of fuzz/ for $1 seconds and print the number of executions.
set -eu
seconds=${1:-60}
cd "$(dirname "$0")/../.."

missing() {
    echo "make fuzz cannot run: $1" >&2
    exit 3
}
[ -d fuzz ] || missing "this tree has no fuzz/"
cargo +nightly --version >/dev/null 2>&1 || missing "no nightly toolchain (rustup toolchain install nightly)"
cargo +nightly fuzz --version >/dev/null 2>&1 || missing "cargo-fuzz is not installed (cargo install cargo-fuzz)"
python3 fuzz/seed.py
for target in $(cargo +nightly fuzz list); do
    log=$(mktemp)
    if cargo +nightly fuzz run "$target" -- "-max_total_time=$seconds" -print_final_stats=1 >"$log" 2>&1; then
        echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") executions"
        rm -f "$log"
    else
        tail -n 40 "$log"
        echo "$target: failed, whole output in $log"
        exit 1
    fi
done
