"""Exceptions about packages, saved weights and numbers that went bad."""

from __future__ import annotations

from pitstop.diagnosis.rules.signatures.signature import TENSORFLOW, Signature, classes, words

_BUILT_FOR_EACH_OTHER = (
    "Install versions that were built for each other (`python -m pip check`); "
    "`ldd LIBRARY` shows what lacks."
)
_RESTORE = "Check that the file is whole and was saved by the same model code."
_WEIGHTS = classes(
    "OSError ValueError BadZipFile CheckpointCorrupt RuntimeError UnpicklingError SafetensorError "
    "EOFError KeyError",
    TENSORFLOW,
)

NUMBERS = (
    Signature(
        "nan_loss",
        "The loss or a tensor became NaN or infinite",
        (
            "Lower the learning rate or clip gradients; look for NaN, empty or huge inputs.",
            "Guard `log`, `sqrt` and division in the loss.",
        ),
        words(
            r"NaN or Inf loss encountered|Tensor had (?:NaN|Inf)|CheckNumerics",
            r"(?i:\bnan loss|\bloss (?:\w+ ){0,3}(?:nan|infinite|inf)\b)|loss ?= ?(?:nan|NaN)",
            r"returned nan values in its|inf or nan|diverged with loss = NaN",
            r"(?i:loss scale (?:already at minimum|reached)|minimum loss scale)",
            r"(?i:gradients? (?:\w+ ){0,3}(?:is|are|contains?|has|have) (?:nan|inf))",
            r"invalid value \(nan\) encountered",
        ),
    ),
    Signature(
        "nan_loss",
        "The loss or a tensor became NaN or infinite",
        ("Lower the learning rate or clip gradients; look for NaN, empty or huge inputs.",),
        classes=classes("NanLossDuringTrainingError FloatingPointError"),
    ),
)

PACKAGES = (
    Signature(
        "illegal_instruction",
        "A library was built for another processor",
        ("Compare `grep -m1 flags /proc/cpuinfo` with what it needs; install another build.",),
        words(
            r"aren't available on your machine",
            r"NumPy was built with baseline optimizations",
            r"CPU does not support .*(?:AVX|SSE|FMA)",
        ),
    ),
    Signature(
        "dependency_or_import_error",
        "A package is missing or does not fit",
        ("Install it into the environment that runs the script (`python -m pip install ...`).",),
        classes=classes(
            "ImportError ModuleNotFoundError PackageNotFoundError DistributionNotFound "
            "VersionConflict ContextualVersionConflict"
        ),
    ),
    Signature(
        "dependency_or_import_error",
        "A compiled library does not fit",
        (_BUILT_FOR_EACH_OTHER,),
        words(
            r"undefined symbol|GLIBC(?:XX)?_|cannot open shared object file|DLL load failed",
            r"\[WinError (?:126|127|182|193|1114)\]",
            r"binary incompatib|compiled (?:against|using) (?:API|NumPy|ABI)|size changed, may",
            r"Descriptors (?:cannot|should not) (?:not )?be created",
            r"is required for a normal functioning",
            r"requires the [\w-]+ library|please (?:pip )?install|pip install",
        ),
        confidence=0.9,
    ),
    Signature(
        "callback_error",
        "A callback does not fit the framework that calls it",
        ("Update the package that the callback comes from, or run without this callback.",),
        words(
            r"no attribute '_?(?:implements_)?on_(?:train|test|predict|epoch|batch)\w*'",
            r"'(?:\w*Callback\w*|ModelCheckpoint|EarlyStopping|TensorBoard|ReduceLROnPlateau|CSVLogger"
            r"|LearningRateScheduler|BackupAndRestore)' object has no attribute",
        ),
        classes("AttributeError"),
        confidence=0.9,
    ),
    Signature(
        "dependency_or_import_error",
        "Two packages do not fit each other",
        (_BUILT_FOR_EACH_OTHER,),
        words(
            r"module '(?:tensorflow|keras|tf_keras|numpy|torch|jax|jaxlib|pandas|scipy|sklearn|PIL"
            r"|google|transformers|h5py|collections|cv2|matplotlib)[\w.]*' has no attribute"
        ),
        classes("AttributeError"),
        confidence=0.8,
    ),
    Signature(
        "dependency_or_import_error",
        "A package failed while it was loaded",
        (_BUILT_FOR_EACH_OTHER,),
        classes=classes("AttributeError TypeError NameError SyntaxError RuntimeError ValueError"),
        places=frozenset({"importing"}),
        confidence=0.8,
    ),
)

WEIGHTS = (
    Signature(
        "checkpoint_corrupt_or_mismatch",
        "Saved weights or a checkpoint do not fit or are damaged",
        (_RESTORE,),
        words(
            r"(?i:checkpoint)",
            r"file signature not found",
            r"(?i:unable to (?:synchronously )?open (?:file|object))",
            r"truncated file: eof",
            r"(?:weights?|variables).*(?:expect(?:ed|s)|[Rr]eceived|mismatch|saved)",
            r"[Ll]ayer #\d+ \(named|weight shape .* not compatible",
            r"(?<!\btf)(?<!tensorflow)\.(?:keras|weights\.h5|h5|ckpt)\b",
            r"loading state_dict|PytorchStreamReader|weight file containing|not an sstable",
            r"SavedModel file does not exist|HeaderTooLarge|MetadataIncomplete|bad marshal data",
            r"Unknown (?:layer|loss function|metric function|activation|optimizer)",
            r"Could not (?:locate (?:class|function)|deserialize class)",
            r"Key \S+ not found|RestoreV2|copying a param with shape|load weights|Restoring from",
            r"Weights only load failed|No model found in config",
            r"could not find (?:any )?matching files for",
            r"axes don't match array|Layer count mismatch|TensorSliceReader",
        ),
        _WEIGHTS - {"KeyError"},
        confidence=0.85,
    ),
    Signature(
        "checkpoint_corrupt_or_mismatch",
        "Saved weights or a checkpoint do not fit or are damaged",
        (_RESTORE,),
        words(
            r"(?i:shapes?\b.*\b(?:incompatible|mismatch|match|compatible|equal))",
            r"invalid load key|Ran out of input|pickle data was truncated|failed finding central",
            r"(?i:corrupt|truncated|missing key|unexpected key|not a zip file|size mismatch)",
            r"bad magic number|[Cc]hecksum does not match|Unable to open|No (?:such )?file",
        ),
        _WEIGHTS,
        places=frozenset({"restoring"}),
        confidence=0.85,
    ),
    Signature(
        "checkpoint_corrupt_or_mismatch",
        "What was saved could not be loaded",
        (_RESTORE,),
        classes=classes(
            "IndexError TypeError AttributeError AssertionError NotImplementedError", _WEIGHTS
        ),
        places=frozenset({"restoring_inside"}),
        confidence=0.75,
    ),
)
