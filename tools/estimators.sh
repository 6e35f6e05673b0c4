#!/usr/bin/env bash
# Tests Estimators with TensorFlow 2.15, the last that has them, in a virtual environment of its own.
#
#     tools/estimators.sh VENV
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.compat/estimators

# TensorFlow 2.15 has no packages for Python 3.12.
[ -x "$venv/bin/python" ] || "${PYTHON:-python3.11}" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet tensorflow-cpu==2.15.1
"${1:?usage: tools/estimators.sh VENV}/bin/python" -m pytest -q tests/integration/test_estimators.py
