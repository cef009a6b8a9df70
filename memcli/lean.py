"""Starting without numpy: pyarrow takes it along where it finds it, and hardly anything here needs it."""

from __future__ import annotations

import sys


def without_numpy() -> None:
    """Let this process do without numpy until `with_numpy`: it would take longer to load than all else.

    For the program, not for a library: what imports pyarrow afterwards gets it without its ways to numpy.
    """
    sys.modules.setdefault("numpy", None)  # type: ignore[arg-type]


def with_numpy() -> None:
    """Let numpy be imported again, by what cannot do without."""
    if sys.modules.get("numpy", sys) is None:
        del sys.modules["numpy"]
