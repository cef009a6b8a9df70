"""Long-term memory for language models, on your own machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memcli.memory import Memory, open_memory

__version__ = "0.1.0"
__all__ = ["Memory", "__version__", "open_memory"]


def __getattr__(name: str) -> object:
    """Load `Memory` and `open_memory` on first use: `import memcli` itself stays light."""
    if name in ("Memory", "open_memory"):
        from memcli import memory

        return getattr(memory, name)
    raise AttributeError(f"module 'memcli' has no attribute {name!r}")
