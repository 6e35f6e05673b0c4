#!/usr/bin/env bash
# Tests Pitstop with other versions of Keras and TensorFlow, each in a virtual environment of its own
# under .compat/: the adapters' unit tests, and a few runs that are killed and stopped.
#
#     tools/compat.sh [VERSION...]
#
# Names the versions that passed, and ends with 1 unless all did.
set -uo pipefail
cd "$(dirname "$0")/.."

# Keras, and the TensorFlow that pip allows beside it: 2.21 asks for Keras 3.12 or later.
declare -A tensorflow=(
    [3.10.0]=2.20.0
    [3.11.3]=2.19.1
    [3.12.4]=2.18.1
    [3.13.2]=2.21.0
    [3.14.1]=2.21.0
)
declare -A tf_keras=([2.18.1]=2.18.0 [2.19.1]=2.19.0 [2.20.0]=2.20.1 [2.21.0]=2.21.0)
chains="steps-per-execution or two-fits-of-one-sequence"

make_venv() {
    local keras=$1
    [ -x ".compat/$keras/bin/python" ] || tools/venv.sh ".compat/$keras" || return
    local pip=(".compat/$keras/bin/python" -m pip install --quiet)
    "${pip[@]}" "keras==$keras" "tensorflow-cpu==${tensorflow[$keras]}" &&
        # It asks for the package `tensorflow`, which tensorflow-cpu takes the place of.
        "${pip[@]}" --no-deps "tf_keras==${tf_keras[${tensorflow[$keras]}]}"
}

check() {
    local python=.compat/$1/bin/python
    "$python" -m pytest -q -p no:cacheprovider tests/keras tests/tensorflow &&
        "$python" -m pytest -q -p no:cacheprovider -k "$chains" \
            tests/integration/test_exactness.py tests/integration/test_torture.py &&
        "$python" -m pytest -q -p no:cacheprovider tests/integration/test_legacy_keras.py
}

failed=0
[ $# -gt 0 ] || set -- 3.10.0 3.11.3 3.12.4 3.13.2 3.14.1
for keras in "$@"; do
    if make_venv "$keras" && check "$keras"; then
        echo "Keras $keras, TensorFlow ${tensorflow[$keras]}: passed"
    else
        echo "Keras $keras, TensorFlow ${tensorflow[$keras]}: FAILED" >&2
        failed=1
    fi
done
exit $failed
