"""fsspec's name for this compression."""

from __future__ import annotations

from typing import Any

from ulpack._files import open as open_stream


def register() -> None:
    """Lets `fsspec.open("x.safetensors.ulp", compression="infer")` read and write, where fsspec is installed."""
    try:
        from fsspec.compression import register_compression
    except ImportError:
        return

    def opened(file: Any, mode: str = "rb", **kwargs: Any) -> Any:
        return open_stream(file, "wb", **kwargs) if "w" in mode else open_stream(file, "rb", **kwargs)

    register_compression("ulp", opened, "ulp", force=True)
