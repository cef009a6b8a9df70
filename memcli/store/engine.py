"""The one door to LanceDB: its compiled module, driven one call at a time.

`import lancedb` takes over a second, half of it for REST models that a local table never uses. The compiled
module `lancedb._lancedb` does all the work and loads in 20 ms, so it is imported behind an empty
stand-in for its package. It is private to LanceDB: pyproject pins the minor version, nothing outside
this file touches it, and where the stand-in does not serve, the whole package is imported instead.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from memcli.errors import DamagedError, DiskFullError, StoreError
from memcli.lean import with_numpy
from memcli.store.seal import MEND

if TYPE_CHECKING:
    import asyncio

    import pyarrow as pa

T = TypeVar("T")

_BATCH_ROWS = 8192

# Read once, at load. Without the first each query may warn on stderr; the others bound what compaction and
# the making of indexes hold in memory (by default that grows with the store), and use a second processor.
_SETTINGS = {
    "LANCEDB_LOG": "error",
    "LANCE_DEFAULT_BATCH_SIZE": "1024",
    "LANCE_DEFAULT_FRAGMENT_READAHEAD": "2",
    "LANCE_DEFAULT_IO_BUFFER_SIZE": str(32 << 20),
    "LANCE_FTS_NUM_SHARDS": "1",
    "LANCE_FTS_PARTITION_SIZE": "32",
    # By default two less than there are, or one.
    **({"LANCE_CPU_THREADS": "2"} if (os.cpu_count() or 1) < 4 else {}),
}
# Of glibc's mallopt(3): M_ARENA_MAX; M_TRIM_THRESHOLD and M_MMAP_THRESHOLD. Threads of Lance share two heaps:
# each of its own keeps what it has freed. And these keep a little more between two questions: to get the
# pages of some megabytes of vectors anew each time takes longer than to compare them.
_HEAPS = ((-8, 2), (-1, 64 << 20), (-3, 32 << 20))
_SPARING_HEAPS = ((-1, 1 << 20), (-3, 128 << 10))
# What a connection keeps of indexes and of the files' own descriptions; by default gigabytes.
_INDEX_CACHE_BYTES, _METADATA_CACHE_BYTES = 256 << 20, 16 << 20
# So many times as many rows as are asked for are looked at with their whole vectors.
_REFINE = 5


class GoneError(StoreError):
    """A file of the table is gone: another process has replaced it; open the table again."""


@cache
def native(*, lean: bool = True) -> ModuleType:
    """The compiled module of LanceDB; `lean=False` imports the whole package as its makers mean it."""
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    _set_heaps()
    if lean and "lancedb" not in sys.modules:
        module = _behind_stand_in()
        if module is not None:
            return module
    with_numpy()
    import lancedb  # noqa: F401 - the package first: its module is then found behind it

    # Not an attribute of the package when the stand-in has loaded it before.
    return import_module("lancedb._lancedb")


def _set_heaps(heaps: Sequence[tuple[int, int]] = _HEAPS) -> None:
    import ctypes

    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt"):
        for parameter, value in heaps:
            libc.mallopt(parameter, value)
        libc.malloc_trim(0)


@contextmanager
def sparing_memory() -> Iterator[None]:
    """Within this, what is freed is given back at once: for upkeep, which goes through all there is.

    So is what pyarrow has kept of what was freed before, some 50 MB after a large import.
    """
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    _set_heaps(_SPARING_HEAPS)
    try:
        yield
    finally:
        _set_heaps()


def _behind_stand_in() -> ModuleType | None:
    from importlib.util import find_spec

    spec = find_spec("lancedb")
    if spec is None or spec.submodule_search_locations is None:
        return None
    stand_in = ModuleType("lancedb")
    stand_in.__path__ = list(spec.submodule_search_locations)
    sys.modules["lancedb"] = stand_in
    try:
        return import_module("lancedb._lancedb")
    except ImportError:
        return None
    finally:
        # Whoever imports lancedb later in this process gets the real package.
        sys.modules.pop("lancedb", None)


# --- one event loop, in a thread of its own -------------------------------------------------------

_loop_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def _running_loop() -> asyncio.AbstractEventLoop:
    import asyncio

    global _loop  # noqa: PLW0603 - one loop a process: the module's futures belong to it
    with _loop_lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="lance", daemon=True).start()
        return _loop


def run(work: Coroutine[Any, Any, T]) -> T:
    """Await `work` from ordinary code, from any thread. Raises StoreError for what Lance reports."""
    import asyncio

    loop, begun, over = _running_loop(), threading.Event(), threading.Event()

    async def to_its_end() -> T:
        begun.set()
        try:
            return await work
        finally:
            over.set()

    with translated():
        try:
            return asyncio.run_coroutine_threadsafe(to_its_end(), loop).result()
        except KeyboardInterrupt:
            # A commit that went on would land after the lock of its writer is let go of. After another turn
            # of the loop it has begun, if it ever does.
            asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result()
            if begun.is_set():
                over.wait()
            raise


_FULL = ("no space left", "(os error 28)", "disk quota", "file too large", "(os error 27)")
# A sentence of Lance (lower case) → what it means for the person.
_FAULTS: tuple[tuple[tuple[str, ...], type[StoreError], str, str], ...] = (
    (
        (
            "permission denied",
            "(os error 13)",
            "read-only file system",
            "(os error 30)",
            "operation not permitted",
        ),
        StoreError,
        "the store cannot be written",
        "check the permissions of the data directory; `memcli doctor` shows it",
    ),
    (
        (
            "corrupt",
            "failed to decode",
            "panicked",
            "invalid format",
            "file size is too small",
            "sufficient data",
            "generic memory error",
            "fill whole buffer",
            "invalid magic",
            "is outside ",
            "is not aligned",
            "lanceerror(schema)",
        ),
        DamagedError,
        "a file of the store is damaged",
        MEND,
    ),
    (
        ("not found", "(os error 2)", "no such file"),
        GoneError,
        "a part of the store is missing",
        "run `memcli doctor`",
    ),
    (
        ("commit conflict", "concurrent", "retryable"),
        GoneError,
        "another process changed the store at the same moment",
        "run the command again",
    ),
)


def _translation(error: BaseException) -> StoreError:
    told = str(error).lower()
    if any(word in told for word in _FULL):
        return DiskFullError()
    for words, kind, message, hint in _FAULTS:
        if any(word in told for word in words):
            return kind(message, hint)
    # Without the place in Lance's own source that it ends with.
    first_line = re.sub(r",?\s\S+\.rs:\d.*", "", str(error).strip().split("\n")[0])[:200]
    return StoreError(f"the store cannot be read or written ({first_line})", "run `memcli doctor`")


@contextmanager
def translated() -> Iterator[None]:
    """Turn what Lance and Arrow raise into StoreError."""
    try:
        yield
    except (RuntimeError, ValueError, OSError) as error:
        raise _translation(error) from error
    except BaseException as error:
        # A panic in the compiled code derives from BaseException alone; it says a file is damaged.
        if type(error).__name__ in ("PanicException", "RustPanic"):
            raise _translation(error) from error
        raise


# --- what the compiled module reads by attribute --------------------------------------------------


class FTS:
    """A full-text index; the compiled module knows it by its class name and reads these names."""

    def __init__(self, **options: Any) -> None:
        defaults: dict[str, Any] = {
            "with_position": False,
            "base_tokenizer": "simple",
            "language": "English",
            "max_token_length": 40,
            "lower_case": True,
            "stem": True,
            "remove_stop_words": True,
            "ascii_folding": True,
            "ngram_min_length": 3,
            "ngram_max_length": 3,
            "prefix_only": False,
            "block_size": 128,
            "custom_stop_words": None,
            "memory_limit": None,
            "num_workers": None,
            "document_granularity": "row",
        }
        self.__dict__.update(defaults | options)


class IvfSq:
    """An index of vectors: in partitions, a byte a number (known by its class name too)."""

    def __init__(self) -> None:
        self.distance_type = "cosine"
        self.num_partitions = None
        self.max_iterations = 50
        self.sample_rate = 256
        self.target_partition_size = None


class MatchQuery:
    """Words to find in one column (known by its class name too). Any text is safe: it holds no operators."""

    def __init__(self, query: str, column: str) -> None:
        self.query = query
        self.column = column
        self.boost = 1.0
        self.fuzziness = 0
        self.max_expansions = 50
        self.operator = "OR"
        self.prefix_length = 0
        self.document_granularity = None

    def query_type(self) -> str:
        """What kind of query the compiled module takes this for."""
        return "match"


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows to append, in the shape the compiled module asks for."""

    table: pa.Table
    rescannable: bool = True

    @property
    def schema(self) -> pa.Schema:
        return self.table.schema

    @property
    def num_rows(self) -> int:
        return int(self.table.num_rows)

    def reader(self) -> pa.RecordBatchReader:
        return self.table.to_reader()


class _Stream:
    """Rows to append as they come; it is read once."""

    rescannable = False
    num_rows = None

    def __init__(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        self.schema = schema
        self.error: StoreError | None = None
        self._batches = batches

    def reader(self) -> pa.RecordBatchReader:
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.schema, self._told())

    def _told(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._batches
        except StoreError as error:
            # On its way through the compiled module it would become another.
            self.error = error
            raise


def quoted(value: str) -> str:
    """A text as an SQL literal; the only way a value enters a `where`."""
    return "'" + value.replace("'", "''") + "'"


# --- the database and its tables ------------------------------------------------------------------


class Database:
    """A directory (or URI) of Lance tables, connected on first use; what is read of indexes is kept."""

    def __init__(self, uri: str) -> None:
        # The compiled connect takes a relative path that begins with "db" for the cloud.
        self.uri = uri if "://" in uri else str(Path(uri).absolute())
        self.looked_at: set[str] = set()
        """Files that were found to be what was written."""
        self._connection: Any = None

    async def _connected(self) -> Any:
        if self._connection is None:
            session = native().Session(_INDEX_CACHE_BYTES, _METADATA_CACHE_BYTES)
            self._connection = await native().connect(
                self.uri, None, None, None, None, 0.0, None, None, session
            )
        return self._connection

    def table_names(self) -> list[str]:
        """Every table in the directory, finished or not."""

        async def names() -> list[str]:
            return list(await (await self._connected()).table_names([], None, None))

        return run(names())

    def create(self, name: str, schema: pa.Schema) -> Table:
        """A new empty table; the caller holds the writers' lock (two creators lose rows)."""

        async def create() -> Any:
            return await (await self._connected()).create_empty_table(name, "create", schema)

        return Table(run(create()))

    def open(self, name: str) -> Table:
        """The table as it is now. Raises GoneError when there is none of that name."""

        async def open_() -> Any:
            return await (await self._connected()).open_table(name)

        return Table(run(open_()))

    def drop(self, name: str) -> None:
        """Remove a table with all its files; one that is not there is fine."""

        async def drop() -> None:
            await (await self._connected()).drop_table(name, [])

        try:
            run(drop())
        except GoneError:
            return


class Table:
    """One Lance table. Reading methods see the newest version; writing ones need the writers' lock."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    # reading

    def schema(self) -> pa.Schema:
        """Its columns."""

        async def schema() -> pa.Schema:
            return await self._inner.schema()

        return run(schema())

    def columns(self) -> list[str]:
        """The names of its columns."""
        return list(self.schema().names)

    def at_every_version(self) -> Iterator[Table]:
        """This table as each version that its directory still holds shows it."""

        async def numbers() -> list[int]:
            return [int(version["version"]) for version in await self._inner.list_versions()]

        async def checkout(number: int) -> None:
            await self._inner.checkout(number)

        async def latest() -> None:
            await self._inner.checkout_latest()

        for number in run(numbers()):
            run(checkout(number))
            try:
                yield self
            finally:
                run(latest())

    def version(self) -> int:
        """The number of the version that is read."""

        async def version() -> int:
            return int(await self._inner.version())

        return run(version())

    def go_back(self, version: int) -> None:
        """Read an older version from now on. Raises GoneError when it is no longer there."""

        async def checkout() -> None:
            await self._inner.checkout(version)

        run(checkout())

    def count(self, where: str | None = None) -> int:
        """How many rows there are, or match."""

        async def count() -> int:
            return int(await self._inner.count_rows(where))

        return run(count())

    def scan(
        self,
        columns: Sequence[str],
        *,
        where: str | None = None,
        order: Sequence[tuple[str, bool]] = (),
        limit: int | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Batches of the rows that match; `order` is (column, ascending) pairs of `columns`, nulls last."""
        query = self._inner.query()
        query.select_columns(list(columns))
        if where:
            query.where(where)
        if order:
            query.order_by(
                [{"column_name": name, "ascending": up, "nulls_first": False} for name, up in order]
            )
        if limit is not None:
            query.limit(limit)
        return _batches(query)

    def places(self, column: str, values: Collection[str], *, where: str | None = None) -> list[int]:
        """Where the rows are whose `column` holds one of many values, for `take`.

        A condition that names each of them would be held once for every fragment.
        """
        query = self._inner.query()
        query.select_columns([column])
        query.with_row_id()
        if where:
            query.where(where)
        return [
            place
            for batch in _batches(query)
            for value, place in zip(
                batch.column(column).to_pylist(), batch.column("_rowid").to_pylist(), strict=True
            )
            if value in values
        ]

    def take(self, places: Sequence[int], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Batches of the rows at these places."""
        query = self._inner.take_row_ids(list(places))
        query.select_columns(list(columns))
        return _batches(query)

    def collect(self, columns: Sequence[str], *, where: str) -> Coroutine[Any, Any, list[pa.RecordBatch]]:
        """All batches of the rows that match, few of them. Await with `run`."""

        def build() -> Any:
            query = self._inner.query()
            query.select_columns(list(columns))
            query.where(where)
            return query

        return _collected(build)

    def match(
        self, text: str, column: str, *, columns: Sequence[str], limit: int, where: str | None = None
    ) -> Coroutine[Any, Any, list[dict[str, Any]]]:
        """Rows whose `column` holds words of `text`, best first, with `_score` (BM25). Await with `run`."""

        def build() -> Any:
            query = self._inner.query().nearest_to_text({"query": MatchQuery(text, column)})
            query.select_columns([*columns, "_score"])
            query.limit(limit)
            if where:
                query.where(where)
            return query

        return _rows(build)

    def nearest(
        self, vector: Any, *, columns: Sequence[str], limit: int
    ) -> Coroutine[Any, Any, list[dict[str, Any]]]:
        """Rows nearest to a float32 Arrow array, with `_distance` (1 − cosine). Await with `run`.

        Where there is an index it tells which rows come near; their distance is that of the vectors
        themselves.
        """

        def build() -> Any:
            query = self._inner.query().nearest_to(vector)
            query.column("vector")
            query.distance_type("cosine")
            query.refine_factor(_REFINE)
            query.select_columns([*columns, "_distance"])
            query.limit(limit)
            return query

        return _rows(build)

    def indexes(self) -> list[Any]:
        """The configurations of its indexes: `.name`, `.num_unindexed_rows`, `.size_bytes`."""

        async def indexes() -> list[Any]:
            return list(await self._inner.list_indices())

        return run(indexes())

    def versions(self) -> int:
        """How many versions its directory still holds."""

        async def versions() -> int:
            return len(await self._inner.list_versions())

        return run(versions())

    def fragments(self) -> int:
        """How many data fragments it is made of."""

        async def stats() -> int:
            found = await self._inner.stats()
            shape = found["fragment_stats"] if isinstance(found, dict) else found.fragment_stats
            return int(shape["num_fragments"] if isinstance(shape, dict) else shape.num_fragments)

        return run(stats())

    # writing

    def add(self, rows: pa.Table) -> None:
        """Append rows, in one commit."""

        async def add() -> None:
            await self._inner.add(_Rows(rows), "append")

        run(add())

    def append(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        """Append rows as they come, in one commit."""
        stream = _Stream(schema, batches)

        async def add() -> None:
            await self._inner.add(stream, "append")

        try:
            run(add())
        except StoreError:
            if stream.error is not None:
                raise stream.error from None
            raise

    def upsert(self, rows: pa.Table, *, key: str, replaces: str) -> None:
        """Insert or replace rows by `key`; rows that match `replaces` and are not among them go."""
        options: Mapping[str, Any] = {
            "on": [key],
            "when_matched_update_all": True,
            "when_matched_update_all_condition": None,
            "when_not_matched_insert_all": True,
            "when_not_matched_by_source_delete": True,
            "when_not_matched_by_source_condition": replaces,
            "when_not_matched_by_source_condition_expr": None,
            "timeout": None,
            "use_index": True,
            "use_lsm": None,
            "validate_single_shard": None,
        }

        async def merge() -> None:
            await self._inner.execute_merge_insert(rows.to_reader(), dict(options))

        run(merge())

    def delete(self, where: str) -> None:
        """Hide rows; their bytes stay until the table is rewritten (purge)."""

        async def delete() -> None:
            await self._inner.delete(where)

        run(delete())

    def index(self, configs: Mapping[str, object]) -> None:
        """Build or rebuild the indexes of these columns, side by side."""

        async def index() -> None:
            import asyncio

            makings = [
                self._inner.create_index(
                    column, config, replace=True, wait_timeout=None, name=None, train=True
                )
                for column, config in configs.items()
            ]
            # All of them are waited for: what goes on after a failure would write to a table that is gone.
            done = await asyncio.gather(*makings, return_exceptions=True)
            for error in filter(None, done):
                raise error

        run(index())

    def compact(self, *, keep_ms: int) -> None:
        """Merge small fragments and index parts; drop versions older than `keep_ms`."""

        async def compact() -> None:
            # A handle that is behind gets commit conflicts for ever.
            await self._inner.checkout_latest()
            await self._inner.optimize(cleanup_since_ms=keep_ms, delete_unverified=False)
            # What its last step has replaced only goes with another.
            await self._inner.optimize(cleanup_since_ms=keep_ms, delete_unverified=False)

        run(compact())


async def _collected(build: Callable[[], Any]) -> list[pa.RecordBatch]:
    return [batch async for batch in await build().execute(None, None)]


def _batches(query: Any) -> Iterator[pa.RecordBatch]:
    async def start() -> tuple[AsyncIterator[pa.RecordBatch], pa.RecordBatch | None]:
        stream = (await query.execute(_BATCH_ROWS, None)).__aiter__()
        return stream, await anext(stream, None)

    async def following() -> pa.RecordBatch | None:
        return await anext(stream, None)

    stream, batch = run(start())
    while batch is not None:
        yield batch
        batch = run(following())


async def _rows(build: Callable[[], Any]) -> list[dict[str, Any]]:
    return [row for batch in await _collected(build) for row in batch.to_pylist()]
