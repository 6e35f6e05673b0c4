#!/usr/bin/env bash
# Tests with Ray Train, which brings much along, in a virtual environment of its own.
#
#     tools/ray.sh VENV
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.compat/ray

[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --editable '.[tensorflow]' 'ray[train]>=2.58,<3'
"${1:?usage: tools/ray.sh VENV}/bin/python" -m pytest -q tests/integration/test_ray.py
