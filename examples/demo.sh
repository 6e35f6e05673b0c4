#!/usr/bin/env bash
# Stops a training run half way, resumes it, and proves that nothing was lost.
#
# Trains examples/digits_cnn.py twice: once plainly, once under `pitstop run`
# with a stop in the middle.  Both must write the same files, bit for bit.
set -euo pipefail
cd "$(dirname "$0")/.."

demo=.demo
run=$demo/run
script=examples/digits_cnn.py
rm -rf "$demo"
mkdir -p "$demo"

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

# Runs a command with its output in file $1; shows the end of it on failure.
logged() {
    local log=$1
    shift
    "$@" >"$log" 2>&1 || { tail -n 20 "$log" >&2; return 1; }
}

step() {
    pitstop status "$run" --json 2>/dev/null |
        python -c 'import json, sys; print(json.load(sys.stdin).get("step") or 0)' 2>/dev/null ||
        echo 0
}

say "1. Train without Pitstop"
logged "$demo/plain.log" python "$script" --out "$demo/plain"
echo "wrote $demo/plain"

say "2. Train the same script under Pitstop, and stop it half way"
pitstop run --run-dir "$run" -- python "$script" --out "$demo/resumed" >"$demo/first.log" 2>&1 &
supervisor=$!
trap 'kill "$supervisor" 2>/dev/null || true' EXIT
while [ "$(step)" -lt 1000 ] && kill -0 "$supervisor" 2>/dev/null; do sleep 0.5; done
pitstop stop "$run"
code=0
wait "$supervisor" || code=$?
trap - EXIT
echo "pitstop run ended with exit code $code (75: stopped safely, run again to go on)"
[ "$code" = 75 ]

say "3. Why did it stop?"
pitstop why "$run"

say "4. The same command again: it goes on at the next step"
logged "$demo/second.log" pitstop run --run-dir "$run" -- python "$script" --out "$demo/resumed"
pitstop status "$run"

say "5. Compare the files of both runs"
for file in digits.weights.h5 losses.npz history.json; do
    cmp "$demo/plain/$file" "$demo/resumed/$file"
    echo "identical: $file"
done
