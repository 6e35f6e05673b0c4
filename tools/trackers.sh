#!/usr/bin/env bash
# Tests with W&B and MLflow, which bring much along, in a virtual environment of their own.
#
#     tools/trackers.sh VENV
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.compat/trackers

[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --editable '.[tensorflow]' 'wandb>=0.31,<0.32' 'mlflow>=3.17,<3.18' tensorboard
"${1:?usage: tools/trackers.sh VENV}/bin/python" -m pytest -q tests/integration/test_trackers.py
