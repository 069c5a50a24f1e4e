"""The processor of this machine, which benchmarks name beside their figures."""

from __future__ import annotations

import platform
from pathlib import Path


def processor() -> str:
    """Return the model of the processor."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()
