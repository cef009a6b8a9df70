"""Scenarios of a life with the program: a row of tests/data/behaviour says what is done and what must hold.

A row is `{"name", "now", "talk"?, "setup": [...], "checks": [...]}`. `talk` names a small history that is
imported first, so that an answer has something to stand out from. A check asks a question (or, with
`prompt`, for the block of a prompt) and says what must be in the answer (in its `top` first memories), what
must not, what must be there so many times, and what must be in no byte of the store.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from memcli.absorb import Intake
from memcli.inject import count_tokens
from memcli.memory import Draft, Memory, open_memory
from memcli.times import parse_typed_time
from memcli.types import Filters, Query, Selection

DATA = Path(__file__).parent / "data" / "behaviour"

# In parts, so that what scans a repository for secrets stays quiet. All of them are invented.
SECRETS = {
    name: "".join(parts)
    for name, parts in {
        "VENDOR_KEY": ("sk-", "proj-", "Hn5rTb2Wq8", "LmZ0xVy7Ck", "Jd3Ug9PsEa", "RoN4fXiQtB"),
        "NPM_TOKEN": ("np", "m_", "Zk3Vb8Qw1X", "r6Ty9Lm4Nc", "0Jh7Gf2DsP", "aUeIoY"),
        "DSN": ("postgres", "://tern:", "Wq8-", "s4lt", "@db.harbour:5432/tides"),
        "DSN_PASSWORD": ("Wq8-", "s4lt"),
        "PASSWORD": ("Qr7%", "nB4x!", "kLp2"),
        "CARD": ("5555", "5555", "5555", "4444"),
        "IBAN": ("DE89", "3704", "0044", "0532", "0130", "00"),
        "PEM": ("-----BEGIN ", "PRIVATE KEY-----\n", "MIIEvQIBADAN", "Bgk8Qv2LmZ0x", "\n-----END ",
                "PRIVATE KEY-----"),
        "PEM_BODY": ("MIIEvQIBADAN", "Bgk8Qv2LmZ0x"),
        "JWT": ("eyJhbGciOiJIUzI1NiJ9", ".eyJzdWIiOiJsaW5uZXQifQ", ".Zk3Vb8Qw1Xr6Ty9Lm4Nc0Jh7Gf2DsPaUeIoY"),
        "CNID": ("110101", "19900307", "7715"),
    }.items()
}  # fmt: skip


def rows() -> Iterator[Any]:
    for path in sorted(DATA.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            yield pytest.param(line, id=f"{path.stem}: {row['name']}")


def filled(line: str) -> Any:
    """A row with its secrets put together."""
    for name, secret in SECRETS.items():
        line = line.replace(f"{{{{{name}}}}}", json.dumps(secret)[1:-1])
    return json.loads(line)


def content_of(spec: str | Mapping[str, Any]) -> str:
    """A text as it stands, or a long one: a filler again and again, a needle at a share of the length."""
    if isinstance(spec, str):
        return spec
    pieces, length, has_needle = [], 0, False
    while length < spec["chars"]:
        if not has_needle and length >= spec["at"] * spec["chars"]:
            pieces.append(spec["needle"])
            has_needle = True
        pieces.append(spec["filler"].format(n=len(pieces)))
        length += len(pieces[-1])
    return "".join(pieces)


def millis(text: str) -> int:
    return parse_typed_time(text, now=0, tz=UTC).start


@dataclass
class World:
    """The users of a scenario, each with a memory, at one moment."""

    home: Path
    now: int
    files: int = 0

    def memory(self, user: str) -> Memory:
        return open_memory(user, data_dir=self.home / "data", clock=lambda: self.now, embedder="builtin")

    def do(self, step: Mapping[str, Any]) -> None:
        getattr(self, f"do_{step['op']}")(self.memory(step["user"]), step)

    def do_import(self, memory: Memory, step: Mapping[str, Any]) -> None:
        self.files += 1
        path = self.home / f"{self.files}.jsonl"
        messages = [{**message, "content": content_of(message["content"])} for message in step["messages"]]
        path.write_text("".join(json.dumps(message) + "\n" for message in messages), "utf-8")
        memory.absorb([str(path)], intake=Intake())
        memory.fill_vectors()

    def do_remember(self, memory: Memory, step: Mapping[str, Any]) -> None:
        expires = step.get("expires")
        memory.remember(
            Draft(
                text=step["text"],
                source_id=step["id"],
                at=millis(step["at"]),
                priority=step.get("priority"),
                expires=millis(expires) if expires else None,
            )
        )

    def do_forget(self, memory: Memory, step: Mapping[str, Any]) -> None:
        memory.erase(
            memory.plan_forget(Selection(query=step.get("query"), source_ids=tuple(step.get("ids", ()))))
        )

    def answers(self, check: Mapping[str, Any]) -> list[str]:
        """The texts that come back, best first; of a prompt its block alone."""
        memory, query = self.memory(check["user"]), Query(check["question"], now=self.now)
        if check.get("prompt"):
            block = memory.block(query, budget_tokens=check["budget"])
            assert count_tokens(block.text) <= check["budget"]
            return [block.text] if block.text else []
        return [hit.record.text for hit in memory.recall(query).hits]

    def traces(self, user: str, texts: list[str]) -> list[str]:
        """Which of the texts are in a byte of the store, or in a memory as it is decoded."""
        kept = [path.read_bytes() for path in (self.home / "data").rglob("*") if path.is_file()]
        kept += [record.text.encode() for record in self.memory(user).export(Filters())]
        return [text for text in texts if any(text.encode() in data for data in kept)]


@pytest.mark.parametrize("line", list(rows()))
def test_a_scenario_holds(line: str, tmp_path: Path) -> None:
    row = filled(line)
    world = World(tmp_path, millis(row["now"]))
    if talk := row.get("talk"):
        messages = json.loads((DATA / f"talk.{talk}.json").read_text("utf-8"))
        for user in {step["user"] for step in row["setup"]}:
            world.do({"op": "import", "user": user, "messages": messages})
    for step in row["setup"]:
        world.do(step)
    for check in row["checks"]:
        answers = world.answers(check)
        shown = "\n".join(answers[: check.get("top")])
        everything = "\n".join(answers)
        assert [text for text in check.get("includes", ()) if text not in shown] == [], check["question"]
        assert [text for text in check.get("excludes", ()) if text in everything] == [], check["question"]
        counts = dict.fromkeys(check.get("once", ()), 1) | check.get("count", {})
        assert {text: everything.count(text) for text in counts} == counts, check["question"]
        assert world.traces(check["user"], check.get("store_excludes", [])) == []
        assert not (check.get("empty") and answers), check["question"]
