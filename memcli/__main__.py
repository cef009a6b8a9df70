"""The program: run the command line, and turn an error into a message and an exit code."""

from __future__ import annotations

import gc
import os
import re
import sys
from typing import NoReturn

from memcli.errors import MemcliError, StoreError
from memcli.lean import without_numpy

_BUG = 70
_INTERRUPTED = 130
_LOOKS_AFTER = 100_000  # objects, for the collector
_WITH_TRACEBACK = 2  # -vv


def main() -> NoReturn:
    """Run `memcli` with the arguments of this process and exit."""
    _insist_on_utf8()
    # An import makes millions of objects and hardly a cycle: to look for some takes a tenth of its time.
    gc.set_threshold(_LOOKS_AFTER)
    without_numpy()
    sys.exit(_main(sys.argv[1:]))


def _insist_on_utf8() -> None:
    """Begin again in UTF-8 mode where the locale (LANG=C) would garble arguments and file names."""
    if sys.getfilesystemencoding().lower().replace("-", "") != "utf8" and not sys.flags.utf8_mode:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606


def _use_utf8() -> None:
    """Make the standard streams UTF-8, whatever the locale; text in other bytes is kept as it can be."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            # It was closed by whoever started us: nothing to read, nobody to tell.
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: PTH123, SIM115
    for stream, errors in ((sys.stdin, "surrogateescape"), (sys.stdout, "replace"), (sys.stderr, "replace")):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors=errors, newline=None)


def _main(argv: list[str]) -> int:
    _use_utf8()
    own = argv[: argv.index("--")] if "--" in argv else argv
    as_json = "--json" in own or "--ndjson" in own
    try:
        from memcli.cli.app import call

        code = call(argv)
        sys.stdout.flush()
    except MemcliError as error:
        _show_traceback(own)
        return _failed(error, as_json=as_json)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever read us has gone; nothing is left to say, and the interpreter shall not try again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        _show_traceback(own)
        what = "standard output" if error.filename is None else error.filename
        disk = StoreError(
            f"{what} cannot be read or written ({error.strerror or error})",
            "look at its permissions and its disk",
        )
        code = _failed(disk, as_json=as_json)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return code
    except Exception as error:  # noqa: BLE001 - the one place: a bug becomes a sentence
        _show_traceback(own)
        bug = MemcliError(
            f"this is a bug in memcli ({type(error).__name__}: {error})",
            "run it again with -vv for the traceback, and report that",
        )
        _failed(bug, as_json=as_json)
        return _BUG
    return code


def _failed(error: MemcliError, *, as_json: bool) -> int:
    from memcli.cli.output import report_error

    report_error(error, as_json=as_json)
    return error.exit_code


def _show_traceback(argv: list[str]) -> None:
    verbose = argv.count("--verbose") + sum(len(word) - 1 for word in argv if re.fullmatch("-v+", word))
    if verbose >= _WITH_TRACEBACK:
        import traceback

        traceback.print_exc()


if __name__ == "__main__":
    main()
