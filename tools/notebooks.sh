#!/usr/bin/env bash
# Tests with JupyterLab, nbconvert and papermill, which bring much along, in a virtual environment of their own.
#
#     tools/notebooks.sh
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.compat/notebooks

[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --editable '.[dev]' 'jupyterlab>=4.6,<5' 'nbconvert>=7.17,<8' 'papermill>=2.7,<3'
"$venv/bin/python" -m pytest -q tests/integration/test_notebook_programs.py tests/integration/test_jupyterlab.py
