from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.errors import UsageError
from memcli.importers import detect
from memcli.times import to_iso
from memcli.types import BadLine, Message, Notice

from .reading import count_records, items_of, messages_in, source_of, texts_in


def messages_of(text: str, **options: str) -> list[Message]:
    return messages_in(items_of(text, format_name="whatsapp", **options))


def days_of(*stamps: str) -> list[str]:
    text = "\n".join(f"{stamp} - Ana: word {number}" for number, stamp in enumerate(stamps))
    return [to_iso(message.at)[:10] for message in messages_of(text) if message.at is not None]


@pytest.mark.parametrize(
    ("line", "name", "time"),
    [
        ("12/31/20, 9:41 PM - Ana: hi", "Ana", "2020-12-31T21:41:00"),
        ("12/31/20, 12:41 AM - Ana: hi", "Ana", "2020-12-31T00:41:00"),
        ("31.12.20, 21:41 - Ana: hi", "Ana", "2020-12-31T21:41:00"),
        ("31-12-2020 21:41 - Ana: hi", "Ana", "2020-12-31T21:41:00"),
        ("31/12/2020 21:41 - Ana: hi", "Ana", "2020-12-31T21:41:00"),
        ("2020-12-31, 9:41 p.m. - Ana: hi", "Ana", "2020-12-31T21:41:00"),
        ("31/12/20 9:41 p.\u00a0m. - Ana: hi", "Ana", "2020-12-31T21:41:00"),
        ("31.12.2020 klo 21.41 - Ana: hi", "Ana", "2020-12-31T21:41:00"),
        ("31.12.2020 г., 12:05 ч. - Ana: hi", "Ana", "2020-12-31T12:05:00"),
        ("31.12.20, 9:41 ÖS - Ana: hi", "Ana", "2020-12-31T21:41:00"),
        ("21:41, 31/12/2020 - Ana: hi", "Ana", "2020-12-31T21:41:00"),
        ("31/12/2563 21:41 - Ana: hi", "Ana", "2020-12-31T21:41:00"),
        ("٣١\u200f/١٢\u200f/٢٠٢٠، ٩:٤١ م - سارة: hi", "سارة", "2020-12-31T21:41:00"),
        ("2020/12/31 下午9:41 - 小李: hi", "小李", "2020-12-31T21:41:00"),
        ("2020년 12월 31일 오후 9:41, 민수 : hi", "민수", "2020-12-31T21:41:00"),
        ("[2020. 12. 31. 오후 9:41:05] 민수: hi", "민수", "2020-12-31T21:41:05"),
        ("[2020/12/31 下午9:41:05] 小李: hi", "小李", "2020-12-31T21:41:05"),
        ("[31/12/20, 21:41:05] Ana: hi", "Ana", "2020-12-31T21:41:05"),
        ("\u200e[12/31/20, 9:41:05\u202fPM] Ana Maria: hi", "Ana Maria", "2020-12-31T21:41:05"),
        ("12/31/20, 9:41 PM - \u202a+49 170 1234567\u202c: hi", "+49 170 1234567", "2020-12-31T21:41:00"),
    ],
)
def test_stamp_of_any_phone_is_read(line: str, name: str, time: str) -> None:
    assert detect(source_of(line)).name == "whatsapp"
    (message,) = messages_of(line)
    assert (message.name, message.text) == (name, "hi")
    assert message.at is not None
    assert to_iso(message.at).startswith(time)


@pytest.mark.parametrize(
    ("stamps", "days"),
    [
        (("01/03/2026, 09:00", "13/03/2026, 09:00"), ["2026-03-01", "2026-03-13"]),
        (("01/03/2026, 09:00", "03/13/2026, 09:00"), ["2026-01-03", "2026-03-13"]),
        (("05/03/2026, 09:00", "01/04/2026, 09:00"), ["2026-03-05", "2026-04-01"]),
        (("03/05/2026, 09:00", "04/01/2026, 09:00"), ["2026-03-05", "2026-04-01"]),
        (("01.02.26, 09:00",), ["2026-02-01"]),
        (("01-02-26 09:00",), ["2026-02-01"]),
        (("1/2/26, 9:00 AM",), ["2026-01-02"]),
        (("1/2/26, 9:00 am",), ["2026-02-01"]),
        (("01/02/26, 9:00 AM",), ["2026-02-01"]),
        (("26/02/01, 09:00", "2026/02/03, 09:00"), ["2026-02-01", "2026-02-03"]),
    ],
)
def test_order_of_day_and_month_is_told_by_the_whole_file(stamps: tuple[str, ...], days: list[str]) -> None:
    assert days_of(*stamps) == days


@pytest.mark.parametrize(
    ("stamp", "is_certain"),
    [("01/02/26, 09:00", False), ("02/02/26, 09:00", True), ("01.02.26, 09:00", True)],
)
def test_order_that_nothing_proves_comes_with_a_notice(stamp: str, is_certain: bool) -> None:
    items = items_of(f"{stamp} - Ana: hi", me="Ana")
    assert [item.text for item in items if isinstance(item, Notice)] == (
        [] if is_certain else ["its dates were read as day/month/year, which nothing in it proves"]
    )


def test_times_are_in_the_zone_that_is_named() -> None:
    (message,) = messages_of("31/12/20, 21:41 - Ana: hi", tz="Asia/Shanghai")
    assert message.at is not None
    assert to_iso(message.at) == "2020-12-31T13:41:00.000Z"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("Ana: <Media omitted>", "media"),
        ("Ana: <省略多媒体文件>", "media"),
        ("Ana: \u200eimage omitted", "media"),
        ("Ana: \u200eBild weggelassen", "media"),
        ("Ana: \u200eIMG-20260101-WA0001.jpg (soubor byl přiložen)", "media"),
        ("Ana: report.pdf (file attached)", "media"),
        ("Ana: \u200e<attached: 00000042-PHOTO-2026.jpg>", "media"),
        ("Ana: This message was deleted", "system"),
        ("Ana: \u200eMissed voice call", "system"),
        ("Ana changed the group description", "system"),
        ("Ana changed the subject to “Trip: day 1”", "system"),
        ("Ana: ", "empty"),
    ],
)
def test_what_nobody_said_is_skipped_with_its_reason(body: str, reason: str) -> None:
    first, *_ = items_of(f"31/12/20, 21:41 - {body}", format_name="whatsapp")
    assert getattr(first, "reason", "") == reason


@pytest.mark.parametrize(
    "text",
    [
        "<3",
        "see notes.txt (draft)",
        "is a <div> enough?",
        "1: one",
        "null",
        "video call at 9?",
        "a\n\n12:30 tea",
    ],
)
def test_what_somebody_said_is_kept_as_it_is(text: str) -> None:
    assert [message.text for message in messages_of(f"31/12/20, 21:41 - Ana: {text}")] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "[2026-03-01 09:00:00] INFO: started\n[2026-03-01 09:00:01] ERROR: failed\n",
        "Shopping\n01/03/2026, 09:00 - Ana: hi\n",
        "[2026-03-01 09:00] Went for a walk\n",
    ],
)
def test_log_or_note_with_times_is_no_chat(text: str) -> None:
    assert detect(source_of(text)).name != "whatsapp"


def test_lines_before_the_first_message_are_bad_lines() -> None:
    bad, *_ = items_of("torn\n31/12/20, 21:41 - Ana: hi", format_name="whatsapp", me="Ana")
    assert bad == BadLine(1, "it stands before the first message")


words = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf"]), min_size=1, max_size=15).map(
    lambda text: f"so {text.strip()}."
)


@given(
    st.lists(
        st.tuples(st.sampled_from(["Ana", "Bo Li"]), st.lists(words, min_size=1, max_size=3)), min_size=1
    )
)
def test_every_message_is_read_with_all_its_lines(said: list[tuple[str, list[str]]]) -> None:
    texts = [f"{number} " + "\n".join(lines) for number, (_, lines) in enumerate(said)]
    chat = "\n".join(f"13.03.26, 21:41 - {name}: {text}" for (name, _), text in zip(said, texts, strict=True))
    items = items_of(chat)
    assert texts_in(items) == texts
    assert count_records(items) == len(said)


@given(st.data())
def test_damaged_chat_is_read_or_refused_with_a_reason(data: st.DataObject) -> None:
    chat = "".join(
        f"\u200e[13/03/2026, 9:0{number}:05\u202fAM] Ana: word {number}\r\n" for number in range(4)
    )
    spoilt = bytearray(chat.encode())
    at = data.draw(st.integers(0, len(spoilt) - 1))
    spoilt[at] ^= 1 << data.draw(st.integers(0, 7))
    with suppress(UsageError):
        found = texts_in(
            items_of(bytes(spoilt[: data.draw(st.integers(1, len(spoilt)))]), format_name="whatsapp")
        )
        assert len(found) <= 4


def test_same_words_twice_in_a_minute_are_said_twice_and_a_copy_of_the_chat_says_nothing_new() -> None:
    said = ["13.03.26, 21:01 - Ana: ok", "13.03.26, 21:01 - Ana: ok", "13.03.26, 21:02 - Bo: fine"]
    chat = "".join(f"{line}\n" for line in said)
    assert texts_in(items_of(chat)) == ["ok", "ok", "fine"]
    assert texts_in(items_of(chat + chat)) == ["ok", "ok", "fine"]
