"""A training with a backup of its own, which Keras restores when the script runs again."""

import keras
import tiny

tiny.fit([keras.callbacks.BackupAndRestore("backup")])
