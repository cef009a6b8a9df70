"""The table of secrets and scrub()."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.redact import SECRETS, scrub, scrub_record, scrub_records, suspects
from memcli.types import Record

# Invented, and in parts, so that scanners of secrets stay quiet.
FILL = "Qm3xT9vLk2Zr8YwB6nHdJ4sUc7PaEfG1oNiVtXqK"
HEX = "3f9a01c7b2e84d56" + "a0fe19c8d73b4e62"
AWS_ID = "AK" + "IAIOSFODNN7EXAMPLE"
AWS_SECRET = "wJalrXUtnFEMI/" + "K7MDENG/bPxRfiCYEXAMPLEKEY"
PEM = "-----BEGIN RSA " + f"PRIVATE KEY-----\nMIIEowIBAAKCAQEA{FILL}\n-----END RSA PRIVATE KEY-----"
PHRASE = "ladder ocean velvet tiger maple candle frozen rocket pencil garden silver window"

# The secret stands between ‹ and ›.
SAID = [
    f"For the weather bot I use the key ‹sk-proj-{FILL}› and deploy from the repo Stratus.",
    f"export GITHUB_TOKEN=‹gh{'p_'}{FILL[:36]}›  # for Stratus CI",
    f"AWS id ‹{AWS_ID}› secret ‹{AWS_SECRET}›",
    f"aws_secret_access_key = ‹{AWS_SECRET}›",
    f"我的 AWS 密钥是‹{AWS_SECRET}›",
    f"STRIPE_KEY=‹sk_{'live_'}{FILL[:24]}›",
    f"密钥是‹sk-proj-{FILL}›。",
    f"OpenWeather API key: ‹{HEX}›",
    f"API密钥是‹{HEX}›",
    f"token是‹{HEX}›",
    f"the secret is ‹{HEX[:16]}›",
    "令牌：‹a1b2c3d4e5f6›",
    'api_key = "‹abcd1234efgh›"',
    "API_KEY=‹abcd1234efgh›",
    "apiKey: '‹abcd1234efgh›'",
    "accessToken=‹abcd1234efgh›",
    "export FOO_TOKEN=‹abcd1234efgh›",
    "X-Api-Key: ‹abcd1234efgh5678›",
    '{"client_secret": "‹abcDEF123456›", "x": 1}',
    "SECRET_KEY = '‹django-insecure-abc123def456›'",
    f"AccountKey=‹{FILL}{FILL}abcdef==›;EndpointSuffix=core.windows.net",
    "Authorization: Bearer ‹abcd1234efgh5678›",
    "curl -H 'Authorization: Basic ‹d3JlbjpuMHQtcmVhbA==›' https://example.org",
    "curl -u admin:‹hunter2x99› https://example.org",
    "postgres://ledger:‹n0t-Re4l›@db.internal:5432/ledger",
    "mongodb+srv://wren:‹p@ss#word›@cluster0.example.net/test",
    "redis://:‹s3cret›@localhost:6379/0",
    "jdbc:mysql://h/db?user=x&password=‹hunter2›&ssl=true",
    "Server=tcp:db;User Id=sa;Password=‹Str0ng!Pass›;Encrypt=true",
    f"‹{PEM}›",
    f"my key: ‹{PEM.removesuffix('-----END RSA PRIVATE KEY-----').strip()}›\nand that was cut off",
    '"private_key": "‹' + PEM.replace("\n", "\\n") + '›\\n"',
    "my wifi password is ‹Xk9#mQ2v!tRz7›",
    "My wifi password is ‹sunshine›.",
    "password: ‹hunter2›",
    "Password: ‹letmein›",
    "pwd=‹letmein›",
    "user: wren\npassword: ‹hunter2›\nhost: x",
    '\\"password\\": \\"‹hunter2›\\"',
    "<password>‹hunter2›</password>",
    'The password is "‹open sesame›".',
    "my password's ‹hunter2›",
    "I changed my password to ‹Hunter2!x›",
    "the new password is now ‹Blue-Fox-42›.",
    "The WiFi at the cabin: network Lodge, password ‹pinecone42!›",
    "my sudo password is ‹CorrectHorse› for the laptop",
    "the credentials are admin / ‹hunter2›",
    "Mein Passwort ist ‹Hunter2›",
    "The passcode for the door is ‹4711›.",
    "My PIN is ‹1234›.",
    "my PIN for the bank card is ‹4711›",
    "PIN: ‹1234›",
    "The door code is ‹4711›",
    "The safe combination is ‹12-34-56›.",
    "Your verification code is ‹482913›.",
    "‹482913› is your login code",
    "‹Xk9#mQ2v› is my wifi password",
    f"my seed phrase is ‹{PHRASE}›",
    "家里路由器的密码是：‹Xk9#mQ2v!tRz7›",
    "家里路由器的密码是‹Xk9#mQ2v!tRz7›，别告诉别人。",
    "密码为‹hunter2›，记住了吗？",
    "密碼是‹abc12345›",
    "口令 ‹Xk9#mQ2v!tRz7›",
    "密码是“‹芝麻开门›”",
    "我把邮箱密码改成‹Tiger2024!›了",
    "WiFi密码‹abc12345›",
    "手机锁屏密码改成了‹259371›",
    "密码现在是‹abc123›。",
    "初始密码就是‹123456›",
    "我家门锁的密码是‹２５８３６９›，你别忘了",
    "您的验证码为 ‹482913›，请勿泄露",
    "【银行】‹482913›是您的验证码",
    "【银行】‹482913›（动态验证码），5分钟内有效",
    f"助记词：‹{PHRASE}›",
    "my card number is ‹4111111111111111› and it expires soon",
    "card ‹4111-1111-1111-1111›, exp 09/28",
    "cards: ‹4111 1111 1111 1111› ‹5555 5555 5555 4444›",
    "Amex ‹3782 822463 10005›, exp 09/28",
    "Mastercard ‹5555 5555 5555 4444› CVV ‹123›",
    "卡号‹４１１１１１１１１１１１１１１１›，有效期12/27",
    "我的身份证号是‹11010519491231002X›，签证要用。",
    "我的身份证号是‹１１０１０５１９４９１２３１００２Ｘ›。",
    "身份证：‹110105 19491231 002X›",
    "IBAN ‹DE89 3704 0044 0532 0130 00›",
    "IBAN ‹GB29NWBK60161331926819›, Barclays",
    "SSN ‹536-90-4399›",
    "my SSN is ‹５３６－９０－４３９９›",
]

NEAR_MISSES = """\
My parcel number is 4111 1111 1111 1112 and it is stuck in Leeds.
The bug came in with commit 3f786850e387550fdab836ed7e6dc881de23001b.
The book I want has ISBN 978-0-306-40615-7.
I keep forgetting my password, so I bought a password manager called Keyfold.
We train the model with sk-learn, version 1.7.2.
sk-toggleable__content sk-estimator-doc-link
Ticket 550e8400-e29b-41d4-a716-446655440000 is about the lift.
sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
The password reset link expires in an hour.
the password is wrong
my password has been reset
The password is too short.
my password is wrong!
Password: required.
the password is the same as before
my password is stored in Keyfold
password is 8 characters
The password was changed on 2024-11-29.
The password is case-sensitive.
The password is hashed with SHA-256.
password is argon2id hashed
I reset my password 3 times
I changed my password to something stronger.
Keyfold2 is my password manager.
In 2024 is your code still running?
token budget is 4096
max_tokens=4096
token_count=1234567
The key to success is patience.
The key is to practise every day.
secret: santa
The primary key is user_id
PASSWORD_MIN_LENGTH=12
password = getpass()
password = os.environ['DB_PASSWORD']
password: body.password,
def login(user: str, password: str, token: str | None = None):
API_KEY=${API_KEY}
api_key = "your-api-key-here"
password: '********'
"password": "Enter your password"
if (password === confirmPassword) {
pad_token="<pad>"
basic understanding of chemistry
connect it to pin 13
PIN is 4 digits
the pin is broken
promo code is SAVE20
the verification code never arrived
security code review
call me at +44 7911 123456
+49 151 12345678
timestamp 1700000000000
id 1234567890123456789
00:1A:2B:3C:4D:5E #ff8800 192.168.1.1:8080 3.141592653589793
http://localhost:8080/path?email=a@b.c
https://user@example.com/ git@github.com:user/repo.git
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7
A PEM file starts with -----BEGIN PUBLIC KEY----- on its first line.
000-12-3456
2024-11-29T10:00:00Z
DE89 3704 0044 0532 0130 01 is not valid
compass: north
Access token expired
login: https://example.com/login
ean 4006381333931
我的密码忘了，怎么办？
我买了一个密码管理器，叫 Keyfold。
密码太短了
密码是错的
密码是什么？
密码是 8 位
密码是8-16位字符
密码长度为8
密码输错3次
密码是Keyfold生成的
密码学是门有趣的学科
验证码是什么意思
改密码的链接是 https://example.com/reset
快递单号 4111 1111 1111 1112 卡在利兹了
书号 978-7-302-51165-9
提交 3f786850e387550fdab836ed7e6dc881de23001b 引入了这个错误
110105194912310021
token 数量是 4096
密钥长度是2048位
手机号13800138000
邮政编码是100080
""".splitlines()

MARK = "[redacted:?]"


def unmarked(text: str) -> str:
    return text.replace("‹", "").replace("›", "")


def hidden(text: str) -> str:
    return re.sub("‹.*?›", MARK, text, flags=re.DOTALL)


def anonymous(text: str) -> str:
    return re.sub(r"\[redacted:[a-z-]+\]", MARK, text)


@pytest.mark.parametrize("secret", SECRETS, ids=lambda secret: f"{secret.kind} {secret.pattern[:20]}")
def test_each_row_hides_its_own_sample_and_nothing_else(secret):
    sample = f"Hello there. {secret.sample} And so on."
    text, counts = scrub(unmarked(sample))
    assert text == re.sub("‹.*›", f"[redacted:{secret.kind}]", sample, flags=re.DOTALL)
    assert counts == {secret.kind: 1}


@pytest.mark.parametrize("text", SAID)
def test_secret_goes_and_its_sentence_stays(text):
    assert anonymous(scrub(unmarked(text))[0]) == hidden(text)


@pytest.mark.parametrize("text", NEAR_MISSES)
def test_what_only_looks_like_a_secret_stays(text):
    assert scrub(text) == (text, {})


def test_counts_are_by_kind():
    _, counts = scrub("PIN: 4711, card 4111111111111111, other card 5555555555554444")
    assert counts == {"passcode": 1, "card-number": 2}


def test_marker_is_never_matched_again():
    text = (
        "password: [redacted:password] and postgres://wren:[redacted:password]@db/x, token=[redacted:api-key]"
    )
    assert scrub(text) == (text, {})


FRAGMENTS = st.sampled_from([unmarked(text) for text in SAID] + NEAR_MISSES + ["[redacted:password]"])


@given(
    st.lists(FRAGMENTS | st.text(max_size=20), max_size=5),
    st.sampled_from(["", " ", "\n", ":", "=", "，", "."]),
)
def test_scrubbing_twice_is_scrubbing_once(pieces, glue):
    once, _ = scrub(glue.join(pieces))
    assert scrub(once) == (once, {})


@given(st.text(alphabet=st.characters(codec="utf-16", categories=None) | st.characters(categories=["Cs"])))
def test_any_text_at_all_can_be_scrubbed(text):
    assert isinstance(scrub(text)[0], str)


@given(st.text(alphabet="abc ,.;的是我\n"))
def test_text_without_a_trigger_comes_back_as_it_was(text):
    assert scrub(text) == (text, {})


OTHERS = [""] * 200
"""Fewer texts than that are all suspects."""


@given(
    st.lists(st.lists(FRAGMENTS | st.text(max_size=20), max_size=4), max_size=8), st.sampled_from(" \n:=，.")
)
def test_whatever_holds_a_secret_is_suspect(texts, glue):
    told = [glue.join(pieces) for pieces in texts]
    told += list(map(str.upper, told))
    suspect = suspects([*told, *OTHERS])
    assert [
        text for text, is_suspect in zip(told, suspect, strict=False) if scrub(text)[1] and not is_suspect
    ] == []


@pytest.mark.parametrize("secret", SECRETS, ids=lambda secret: f"{secret.kind} {secret.pattern[:20]}")
def test_each_sample_is_suspect(secret):
    assert suspects([f"Hello there. {unmarked(secret.sample)} And so on.", *OTHERS])[0]


def test_most_of_what_people_say_is_no_suspect():
    plain = [
        "The compass was in the token machine, as ever.",
        "我昨天去了动物园。",
        "The pin is yours.",
        *OTHERS,
    ]
    assert not any(suspects(plain))


def test_what_cannot_be_encoded_is_suspect():
    assert all(suspects(["half a \ud83d", *OTHERS]))


def test_many_records_are_scrubbed_like_each_of_them():
    records = [
        Record("a", "PIN: 4711"),
        Record("b", "a plain text", name="password: n0t-Re4l", topics=("PIN: 4712",)),
        Record("c", "another", meta={"title": ["PIN: 4713", {"deep": "PIN: 4714"}]}, session_id="x" * 20),
        *(Record(f"{number}", f"the heron number {number}") for number in range(200)),
    ]
    assert scrub_records(records) == list(map(scrub_record, records))
    assert [found for _, found in scrub_records(records)[:3]] == [
        {"passcode": 1},
        {"password": 1, "passcode": 1},
        {"passcode": 2},
    ]


@given(st.uuids(), st.booleans())
def test_a_uuid_is_no_secret(id_, is_loud):
    told = str(id_).upper() if is_loud else str(id_)
    assert scrub(told)[1].keys() <= {"card-number", "national-id", "iban", "ssn", "passcode", "password"}
    record = Record("a", "a heron", source_id=told, session_id=told)
    assert scrub_record(record) == (record, {})


UNMISTAKABLE = [
    unmarked(text)
    for text in (
        PEM,
        AWS_ID,
        "gh" + "p_" + FILL[:36],
        "sk-ant-" + FILL,
        "4111111111111111",
        "11010519491231002X",
    )
]


@given(st.text(), st.sampled_from(UNMISTAKABLE), st.text(), st.sampled_from(" \n,\"'(，。"))
def test_secret_inside_any_text_does_not_survive(before, secret, after, gap):
    assert secret not in scrub(f"{before}{gap}{secret}{gap}{after}")[0]


HOSTILE = [
    "a",
    "4",
    "4111-1111-1111-1111 ",
    "password ",
    "password=",
    "password=your_",
    "password to ",
    "pass:a.",
    "密码是",
    "aws ",
    "://a:",
    "eyJhbGciOi.",
    "sk-a1-",
    "-----BEGIN PRIVATE KEY-----",
    "123456789:AA" + "a" * 33,
    "Authorization: ",
    "'\"",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_takes_time_in_proportion_to_its_length(piece):
    text = (piece * 60_000)[:60_000]
    start = time.process_time()
    scrub(text)
    assert time.process_time() - start < 1
