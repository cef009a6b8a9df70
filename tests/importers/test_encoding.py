from __future__ import annotations

import codecs
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.errors import UsageError
from memcli.importers.encoding import MAX_TEXT_BYTES, byte_lines, encoding_of, is_binary, read_text
from memcli.importers.source import Source
from memcli.types import BadLine, Document, Notice

from .reading import items_of, source_of, texts_in

CHINESE = "周末想去爬山，天气预报说会下雨吗？\n周六多云，周日有小雨，建议周六去。\n"
LATIN = "Größe, Äpfel und schöne Grüße aus Österreich. Außerdem müssen wir früher anfangen.\n"


@pytest.mark.parametrize("codec", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_byte_order_mark_decides(codec: str) -> None:
    data = f"\ufeff{CHINESE}".encode(codec)
    text, encoding = read_text(source_of(data), asked="latin-1")
    assert text == CHINESE
    assert list(encoding.notices()) == []


@pytest.mark.parametrize("codec", ["gb18030", "big5", "shift_jis", "euc_kr"])
def test_clear_guess_is_taken_with_a_notice(codec: str) -> None:
    text = {
        "gb18030": CHINESE + "请大家提前准备好材料，不要迟到。财务部门已经批准了第一期的款项。",
        "big5": "今天我們討論了專案的進展情況。小李說他下週要去上海出差，所以會議改到星期五。",
        "shift_jis": "今日はプロジェクトの進捗について話しました。来週は大阪に出張するので、会議は金曜です。",
        "euc_kr": "오늘은 프로젝트 진행 상황을 논의했습니다. 다음 주에 부산으로 출장을 가기 때문에 "
        "회의는 금요일 오후 세 시로 변경되었습니다.",
    }[codec]
    read, encoding = read_text(source_of(text.encode(codec)), asked=None)
    assert read == text
    (notice,) = encoding.notices()
    assert "--encoding" in notice.text


@pytest.mark.parametrize("data", [LATIN.encode("latin-1"), "好".encode("gbk"), "é!".encode("latin-1")])
def test_unclear_encoding_is_refused_and_never_guessed(data: bytes) -> None:
    with pytest.raises(UsageError, match="is not UTF-8, and its encoding cannot be told") as error:
        read_text(source_of(data), asked=None)
    assert "--encoding gb18030" in error.value.hint


@given(st.text(st.characters(min_codepoint=0xA1, max_codepoint=0x24F, codec="latin-1"), min_size=1))
def test_western_text_is_never_read_as_another_script(text: str) -> None:
    data = f"{LATIN}{text}".encode("latin-1")
    with pytest.raises(UsageError):
        read_text(source_of(data), asked=None)


def test_asked_encoding_is_used_where_the_file_is_not_utf_8() -> None:
    assert read_text(source_of(LATIN.encode("cp1252")), asked="cp1252")[0] == LATIN
    assert read_text(source_of(LATIN.encode()), asked="cp1252")[0] == LATIN


def test_asked_encoding_is_used_where_its_bytes_are_ascii() -> None:
    data = "金曜日です".encode("iso-2022-jp")
    assert data.isascii()
    assert read_text(source_of(data), asked="iso-2022-jp")[0] == "金曜日です"


def test_utf_16_without_a_mark_can_be_asked_for() -> None:
    items = items_of('{"role":"user","content":"hi"}\n'.encode("utf-16-le"), encoding="utf-16-le")
    assert texts_in(items) == ["hi"]


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("text", ['{"role":"user","content":"%s"}\n', "# Notes\n\n- %s, weil es regnet\n"])
def test_wide_text_without_a_mark_is_told_by_its_nuls(codec: str, text: str) -> None:
    items = items_of((text % "好 Grüße").encode(codec))
    notices = [item.text for item in items if isinstance(item, Notice)]
    told = [*texts_in(items), *(item.text for item in items if isinstance(item, Document))]
    assert "好 Grüße" in told[0]
    assert f"read as {codec}, which the file does not declare; --encoding says otherwise" in notices


@given(st.binary(max_size=300))
def test_bytes_with_a_nul_are_text_only_where_every_character_of_it_is(data: bytes) -> None:
    sample = b"\x01\0" + data
    assert is_binary(sample) or sample.startswith((codecs.BOM_UTF16, codecs.BOM_UTF32))


@pytest.mark.parametrize("letters", ["", "好"])
def test_few_damaged_bytes_do_not_make_another_encoding_of_a_whole_array(letters: str) -> None:
    messages = [{"role": "user", "content": f"{number} {letters * 30} and more"} for number in range(300)]
    data = bytearray(json.dumps(messages, ensure_ascii=False).encode())
    data[data.index(b"and more")] = 0xE9
    items = items_of(bytes(data))
    assert [item.why for item in items if isinstance(item, BadLine)] == ["not utf-8"]
    assert len(texts_in(items)) == 299


def test_text_that_is_not_in_the_asked_encoding_is_refused() -> None:
    with pytest.raises(UsageError, match="is not ascii"):
        read_text(source_of(b"\xff"), asked="ascii")


def test_unknown_encoding_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no encoding 'klingon'"):
        encoding_of(b"abc", asked="klingon", path="x")


def test_few_damaged_lines_do_not_make_another_encoding() -> None:
    sample = b'{"a":1}\n{"a":"\xe9"}\n{"a":2}\n'
    assert encoding_of(sample, asked=None, path="x", by_line=True).name == "utf-8"


def test_character_that_the_sample_cuts_is_no_damage() -> None:
    assert encoding_of("é".encode()[:1], asked=None, path="x").name == "utf-8"


def test_only_line_feed_ends_a_line() -> None:
    text = "a\u2028b\x85c\rd\x0be\r\nf"
    source = source_of(text)
    lines = list(byte_lines(source, encoding_of(source.head(), asked=None, path="x")))
    assert [line.decode() for line in lines] == ["a\u2028b\x85c\rd\x0be\r\n", "f"]


def test_half_a_character_at_a_torn_end_does_not_lose_the_lines_before() -> None:
    data = b"\xff\xfe" + '{"role":"user","content":"hi"}\n{"ro'.encode("utf-16-le") + b"\x00"
    assert texts_in(items_of(data)) == ["hi"]


def test_too_large_a_text_is_refused() -> None:
    class Endless:
        def read(self, size: int) -> bytes:
            return b"text " * (size // 5) + b"\n"

        def close(self) -> None: ...

    source = Source("big.txt", Endless)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="too large to be one memory"):
        read_text(source, asked=None)
    assert source.bytes_read < 2 * MAX_TEXT_BYTES


def test_text_is_cleaned() -> None:
    (document,) = items_of(b"one\0two", format_name="text", name="x.txt")
    assert isinstance(document, Document)
    assert document.text == "one\ufffdtwo"
