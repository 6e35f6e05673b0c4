"""Exceptions about GPUs other than their memory: driver, CUDA libraries, hardware."""

from __future__ import annotations

from pitstop.diagnosis.rules.signatures.signature import TENSORFLOW, XLA, Signature, classes, words

_COMPARE = "Compare `nvidia-smi` with the CUDA and cuDNN versions that the framework was built for."

GPU = (
    Signature(
        "data_error",
        "An index or label is outside of its range, which an assertion on the GPU found",
        (
            "Compare labels and token ids with the size of the layer; they count from 0.",
            "Run it on the CPU, or with CUDA_LAUNCH_BLOCKING=1, to get the real line.",
        ),
        words("device-side assert", r"Assertion `.*(?:n_classes|srcIndex|index).*failed"),
        confidence=0.75,
    ),
    Signature(
        "gpu_driver_or_library",
        "The GPU, its driver or its libraries failed",
        (_COMPARE, "`dmesg | grep -i xid` tells of faults of the hardware."),
        words(
            r"CUDNN_STATUS|CUBLAS_STATUS|CUSOLVER_STATUS|CUFFT_|CUDA_ERROR_|cudaError|cublas|cuDNN",
            r"DNN library is not found|[Dd]nn library initialization failed",
            r"(?:CUDA|\bcuda) (?:error|driver|initialization|runtime|kernel|call)",
            r"\bcu(?:dnn|solver|fft|rand|sparse)[A-Z]\w+",
            r"no kernel image is available|driver version is insufficient|NVIDIA driver",
            r"[Nn]o CUDA(?: GPUs|-capable)|not compiled with CUDA|compiled without CUDA",
            r"CUDA is (?:not available|unavailable)",
            r"Attempting to deserialize object on a CUDA device",
            r"Failed to get convolution algorithm|Failed to call ThenRnn",
            r"Blas \w* ?\w+ launch failed|without BLAS support|Blas \w+ failed",
            r"libdevice not found|libdevice is required|find libdevice|\bptxas\b",
            r"illegal memory access|unspecified launch failure|uncorrectable ECC",
            r"lib(?:cu(?:da|dnn|dart|blas|fft|rand|solver|sparse|pti)|nv)\w*\.so",
            r"(?:cudart|cudnn|cublas|nvcuda)\w*\.dll",
            r"cuda\w+\(\) (?:on GPU:\d+ )?failed|GPU is lost|NVML",
            r"[Bb]ackend\W+\W?(?:cuda|gpu|rocm|tpu)\b",
            r"No OpKernel was registered.*Cudnn|Cudnn(?:RNN|BatchNorm)\w* (?:op|with these attrs)",
        ),
        classes(
            "RuntimeError ImportError OSError AssertionError UnknownError ValueError "
            "AcceleratorError CudaError NVMLError DeferredCudaCallError CalledProcessError Error",
            TENSORFLOW,
            XLA,
        ),
        confidence=0.9,
    ),
    Signature(
        "gpu_driver_or_library",
        "CUDA could not compile a kernel for this GPU",
        (_COMPARE,),
        words(r"NVRTC_(?!SUCCESS)[A-Z]+|NVRTC [Cc]ompilation failed|nvrtc: error"),
        confidence=0.85,
    ),
)
