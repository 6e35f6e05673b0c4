#!/usr/bin/env bash
# Makes the virtual environment $1 and installs Pitstop with its tools into it.
set -euo pipefail
venv=${1:?usage: tools/venv.sh FOLDER}

find_python() {
    local candidate
    for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11; do
        if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
            2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "No Python 3.11 to 3.13 found: install one, or name it with make PYTHON=..." >&2
    return 1
}

# Debian and Ubuntu ship python3 without ensurepip; venv then fails half way.
install_venv_module() {
    local python=$1
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "$python has no venv module: install it (Debian: apt-get install python3-venv)." >&2
        return 1
    fi
    apt-get update -qq
    apt-get install -y -qq python3-venv
}

create() {
    local python
    python=$(find_python)
    "$python" -c 'import ensurepip, venv' 2>/dev/null || install_venv_module "$python"
    "$python" -m venv "$venv"
}

[ -x "$venv/bin/python" ] || create
"$venv/bin/python" -m pip install --quiet --editable '.[dev]'
# Keras 2 asks for TensorFlow by another name than that of the one for CPUs alone.
"$venv/bin/python" -m pip install --quiet --no-deps 'tf_keras>=2.20,<2.22'
# A test trains with the oldest Keras that is supported, with the TensorFlow that is there.
"$venv/bin/python" -m pip install --quiet --no-deps --upgrade --target "$venv/oldest-keras" keras==3.10.0
