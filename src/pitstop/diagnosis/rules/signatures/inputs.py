"""Exceptions about the data."""

from __future__ import annotations

from pitstop.diagnosis.rules.signatures.signature import TENSORFLOW, XLA, Signature, classes, words

_COPY_AGAIN = "Copy or generate the file that is read there again; check its size and checksum."

INPUTS = (
    Signature(
        "dataset_exhausted",
        "The input ended before the training did",
        (
            "Add `.repeat()` to the dataset or lower the number of steps.",
            "Check that the files that it reads hold what is expected.",
        ),
        classes=classes("OutOfRangeError StopIteration"),
        confidence=0.85,
    ),
    Signature(
        "data_error",
        "An input file is damaged",
        (_COPY_AGAIN,),
        words(
            r"corrupted record|truncated record|(?i:corrupt)|cannot identify image",
            r"Failed to read all data|[Uu]nexpected (?:end of|EOF)|[Pp]remature end of",
            r"image file is truncated|broken data stream|Unknown image file format",
            r"Not a (?:JPEG|PNG|GIF|BMP) file",
            r"Expected image \(|unknown format|Invalid (?:JPEG|PNG|GIF)|jpeg::Uncompress failed",
            r"Can't parse serialized Example|could not parse example|Error parsing message",
        ),
    ),
    Signature(
        "data_error",
        "An input file is damaged",
        (_COPY_AGAIN,),
        classes=classes(
            "DataLossError BadZipFile BadGzipFile UnpicklingError JSONDecodeError "
            "UnidentifiedImageError LZMAError ReadError DecodeError ArrowInvalid"
        ),
        confidence=0.85,
    ),
    Signature(
        "data_error",
        "A label does not fit the number of classes",
        ("Compare the labels with the size of the last layer; labels count from 0.",),
        words(
            r"Received a label value of|label values? .*outside the valid range",
            r"Target \d+ is out of bounds|`?labels`? out of bound",
            r"`?y_true`? .*(?:classes|range)|targets? should be in",
        ),
    ),
    Signature(
        "data_error",
        "An index is outside of its table",
        ("Compare the largest index or token id with `input_dim` of the embedding.",),
        words(r"indices\[[\d, ]*\] = -?\d+ is not in \[0", r"index out of range in self"),
    ),
    Signature(
        "data_error",
        "An input file is missing",
        ("Check the path in the message from the folder where the run starts.",),
        classes=classes("FileNotFoundError NotADirectoryError IsADirectoryError NotFoundError"),
        confidence=0.85,
    ),
    Signature(
        "data_error",
        "An input file is missing",
        ("Check the path in the message from the folder where the run starts.",),
        words(
            r"No such file or directory|does not exist|[Nn]o (?:files|images|data) found",
            r"\b(?i:director(?:y|ies)|folders?|files?|dataset|images?) not found\b",
        ),
        classes("OSError RuntimeError ValueError NotFoundError InvalidArgumentError UnknownError"),
        confidence=0.8,
    ),
    Signature(
        "data_error",
        "The code that produces the data raised an error",
        ("Run the generator or map function alone over the data until it fails.",),
        words("PyFunc", "generator_py_func", "finalize_generator", "IteratorGetNext"),
        TENSORFLOW | {"ValueError"},
        confidence=0.9,
    ),
    Signature(
        "data_error",
        "The code that produces the data raised an error",
        ("Run the data set alone, without worker processes, until it fails.",),
        words(r"Caught \w+ in DataLoader worker", "in DataLoader worker process"),
        confidence=0.8,
    ),
    Signature(
        "data_error",
        "Shapes of the data and the model do not fit",
        ("Print the shapes of the batch and model.summary(); look for a changed last batch.",),
        words(
            r"could not broadcast|cannot reshape array|shapes .* not aligned",
            r"size-incompatible|[Ii]ncompatible shapes|must be broadcastable",
            r"is incompatible with the layer|logits and labels must|Shapes .* are incompatible",
            r"shapes cannot be multiplied|size of tensor a .* must match|stack expects each tensor",
            r"Error when checking (?:input|target|model)|Cannot feed value of shape",
            r"Data cardinality is ambiguous|inconsistent numbers? of samples",
            r"Expected input batch_size|expected .* to have \d+ channels|to have \d+ dimensions",
            r"Input to reshape is a tensor with|ConcatOp : Dimensions|incompatible shapes for",
            r"Invalid input shape|got input\[.*channels",
            r"(?:have|be of) (?:the )?(?:same|equal|compatible) (?:shape|size|length)",
        ),
        classes("InvalidArgumentError ValueError RuntimeError TypeError", XLA),
        confidence=0.85,
    ),
    Signature(
        "data_error",
        "The data holds what a number cannot be",
        ("Look for missing values and texts in the columns that are read there.",),
        words(
            r"Input (?:\w+ )?contains (?:NaN|infinity|input)|could not convert string to float",
            r"Failed to convert a NumPy array to a Tensor|Unable to convert .*dtype object",
            r"[Ii]nvalid dtype: object",
            r"Cast string to float is not supported|StringToNumberOp could not",
            r"Cannot batch tensors with different shapes",
        ),
        confidence=0.85,
    ),
    Signature(
        "data_error",
        "An operation was given values that it cannot work with",
        ("Look at the batch and at the operation that the message names.",),
        words(r"\A(?!.*(?:placeholder|assign a device|[Nn]o OpKernel|not registered))"),
        classes("InvalidArgumentError"),
        confidence=0.7,
    ),
    Signature(
        "data_error",
        "An input could not be decoded",
        ("Find the file or row that is read there; check its encoding.",),
        classes=classes("UnicodeDecodeError ParserError EmptyDataError"),
        confidence=0.85,
    ),
)
