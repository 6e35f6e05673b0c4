"""Prints what a tracker has, as JSON: by run and metric, the steps and values in their order."""

import json
import struct
import sys
from collections import defaultdict
from pathlib import Path


def of_mlflow():
    import mlflow

    mlflow.set_tracking_uri("sqlite:///mlflow.db")
    client = mlflow.MlflowClient()
    return {
        run.info.run_id: {
            key: [
                [each.step, each.value] for each in client.get_metric_history(run.info.run_id, key)
            ]
            for key in run.data.metrics
        }
        for run in client.search_runs(["0"])
    }


def of_wandb():
    from wandb.proto.wandb_internal_pb2 import Record

    runs = defaultdict(lambda: defaultdict(list))
    for file in sorted(Path("wandb").glob("offline-run-*/run-*.wandb")):
        for data in records(file.read_bytes()):
            record = Record.FromString(data)
            for item in record.history.item if record.HasField("history") else ():
                key = item.key or ".".join(item.nested_key)
                if not key.startswith("_"):
                    row = [record.history.step.num, json.loads(item.value_json)]
                    runs[file.stem][key].append(row)
    return runs


def records(data):
    """Of LevelDB's log format, behind W&B's own header."""
    at, record = 7, b""
    while at + 7 <= len(data):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        size, part = struct.unpack_from("<HB", data, at + 4)
        record += data[at + 7 : at + 7 + size]
        at += 7 + size
        if part in (1, 4):
            yield record
            record = b""


print(json.dumps(of_wandb() if sys.argv[1] == "wandb" else of_mlflow()))
