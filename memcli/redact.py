"""The table of secrets, and scrub(): the sentence stays, what is secret in it goes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from hashlib import sha256
from operator import attrgetter
from typing import Any, TypeAlias
from unicodedata import decimal, normalize

from memcli.text import Cues, matching, regex
from memcli.types import Record


@dataclass(frozen=True, slots=True)
class Secret:
    """One way a secret is written.

    `pattern` is searched in folded text; what is hidden is its group "secret", or the whole match
    where there is no such group. `check`, where there is one, has the last word on what was found.
    `sample` is an invented text with the secret between ‹ and ›; no sample stands whole in this
    source, so that scanners of secrets stay quiet.
    """

    kind: str
    pattern: str
    check: Callable[[str], bool] | None
    sample: str


_regex = cache(re.compile)  # compiled when first needed: all of them would cost each start 50 ms


# --- checks: what looks like a secret, and is it one? ---------------------------------------------

_ORDINARY = r"""(?xai)
    [0-9]{1,3} (?: [-~+] [0-9]{0,3} )?                              # "at least 8", "8-16"
    | v? [0-9]+ (?: \.[0-9x]+ )+                                    # versions
    | [0-9]+ (?: % | st | nd | rd | th | x | -? (?: bit | char | digit | day | word | letter ) [a-z-]* )
    | (?: sha | aes | rsa | md | base | utf | argon | pbkdf | oauth ) -? [0-9]+ [a-z]{0,2} (?: [-_] [a-z-]+ )?
    | [12] fa (?: -[a-z]+ )? | n/a | e\.g | i\.e | and/or
    | (?: https? | ftp ) :// .* | [~.]{0,2} / .*                    # addresses and paths
    | [<{$%\[(] .* | [*x.•…_\#-]+                                   # placeholders
    | .* \b (?: your | insert | placeholder ) [-_\ ]? .*
    | [\w.]+ [(\[] .*                                               # code: a call, an index, a field
    | (?: self | this | req | request | body | user | data | config | settings | process | os | env
        | args | params | options | props | state | form | auth | ctx | event | app | cfg | opts ) \. .*
"""

_COMMON = """
a about again all almost already also always an and any anything are as at auto awful back back-up
bad base be been before being better blank bool boring both broken by bytes case case-sensitive
characters clear common complex correct crap current dead default different difficult down due dumb
dynamic easily easy either empty enough even every everything everywhere expiring fake false fine
first fixed for from fun function funny garbage gibberish gone good great hard he here hers hidden
his horrible how i if important in incorrect insecure int invalid is it its just kept key known last
letters like lion loading long longer lost mandatory maybe mine missing monday more most my name
necessary needed never new next nice no nobody none nonsense not nothing now null number numbers
object obsolete of off ok okay old on one only optional or our ours out outdated over own password
passwords pending permanent personal plain pointless pretty previous private problem public quite
random really reset right safe same saved secret secure sensitive sent set shared short short-lived
shorter shown simple so some somebody somehow something somewhere static still stolen str strict
string strong stronger stuck such taken temporary terrible text that the theirs then there these
they this those to today token tomorrow too tricky true tuesday ugly undefined under unique unknown
unsafe until up useless user username users valid value very visible wait was way weak weaker what
when where which who why will with without wonderful word words written wrong yes yesterday yet you
your yours
"""
_COMMON_WORDS = frozenset(_COMMON.split())

_PARTICIPLE = "(?i)[a-z'’-]+(?:ed|ing|able|ible|ive|ful|less|ous|ly|ent|ical)"

_FUNCTION_WORDS = _COMMON_WORDS - {"old", "own", "word", "case", "base", "lion", "off", "one", "way", "wait"}


def _is_plain(value: str) -> bool:
    return re.sub(r"['’-]", "", value).isalpha()


def _is_odd(value: str) -> bool:
    """Not a word, not a version, a path, a percentage or anything else that prose is made of."""
    value = value.rstrip("!")
    if _regex(_ORDINARY).fullmatch(value) or sum(map(str.isalnum, value)) < 3:
        return False
    return not _is_plain(value) or bool(re.fullmatch(r"[A-Za-z]*[a-z][A-Z][A-Za-z]*", value))


def _is_uncommon(value: str) -> bool:
    """A word that says nothing about a password: "sunshine" is one, "wrong" is none."""
    return len(value) > 2 and value.lower() not in _COMMON_WORDS and not _regex(_PARTICIPLE).fullmatch(value)


def _is_value(value: str) -> bool:
    """What an assignment sets: neither a placeholder, nor code, nor a sentence for people."""
    words = value.split()
    if len(words) > 1:
        return not any(word.lower().strip(".,:;!?") in _COMMON_WORDS for word in words)
    return not _regex(_ORDINARY).fullmatch(value) and value.lower() not in _COMMON_WORDS


def _is_strong(value: str) -> bool:
    """Random enough to be a password where only a space ties it to the word."""
    digits = sum(map(str.isdigit, value))
    if digits == len(value):
        return digits >= 6
    letters = sum(map(str.isalpha, value))
    symbols = len(value) - letters - digits - value.count("-") - value.count(".")
    mixed = symbols > 0 or (digits > 1 and len(value) >= 8) or not (value.islower() or value.isupper())
    return _is_odd(value) and letters > 0 and digits > 0 and mixed and len(value) >= 6


def _has_run(value: str, length: int) -> bool:
    runs = re.findall(rf"[A-Za-z0-9]{{{length},}}", value)
    return any(re.search("[0-9]", run) and re.search("[A-Za-z]", run) for run in runs)


def _is_key(value: str) -> bool:
    return _has_run(value, 8) and not _regex(_ORDINARY).fullmatch(value)


def _is_token(value: str) -> bool:
    return _has_run(value, 6) and not _regex(_ORDINARY).fullmatch(value)


def _is_long_key(value: str) -> bool:
    # A bare "key is" may well speak of a commit: 40 or 64 hexadecimal digits are left alone.
    return _has_run(value, 16) and not re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", value)


def _is_aws_secret(value: str) -> bool:
    return all(re.search(kind, value) for kind in ("[A-Z]", "[a-z]", "[0-9]"))


def _is_basic(value: str) -> bool:
    from base64 import b64decode
    from binascii import Error

    try:
        return b":" in b64decode(value + "=" * (-len(value) % 4))
    except (Error, ValueError):
        return False


def _is_credential(value: str) -> bool:
    return _is_basic(value) or not _is_plain(value.replace("_", ""))


def _is_phrase(value: str) -> bool:
    return not _FUNCTION_WORDS & set(re.split("[ ,-]+", value.lower()))


_CARD_PREFIX = r"""(?x)
    4 (?: [0-9]{12} | [0-9]{15} | [0-9]{18} )                                           # Visa
    | (?: 5[1-5] | 222[1-9] | 22[3-9][0-9] | 2[3-6][0-9]{2} | 27[01][0-9] | 2720 ) [0-9]*   # Mastercard
    | 3[47] [0-9]{13}                                                                   # American Express
    | (?: 30[0-5] | 309 | 36 | 3[89] ) [0-9]*                                           # Diners Club
    | (?: 6011 | 64[4-9] | 65 | 352[89] | 35[3-8][0-9] ) [0-9]*                         # Discover, JCB
    | (?: 62 | 81 | 9558 | 220[0-4] ) [0-9]*                                            # UnionPay, Mir
    | (?: 50[0-9] | 5[678] | 6304 | 67 ) [0-9]*                                         # Maestro
"""
_CARD_LENGTH = {"2": {16, 19}, "3": {14, 15, 16, 19}, "4": {13, 16, 19}, "5": {16, 19}, "6": {16, 17, 18, 19}}


def _is_card(value: str) -> bool:
    digits = re.sub("[^0-9]", "", value)
    if len(digits) not in _CARD_LENGTH.get(digits[0], {16, 19}) or not _regex(_CARD_PREFIX).fullmatch(digits):
        return False
    from stdnum import ean, luhn

    return luhn.is_valid(digits) and not (len(digits) == 13 and ean.is_valid(digits))


def _is_resident(value: str) -> bool:
    from stdnum.cn import ric
    from stdnum.exceptions import ValidationError

    number = re.sub("[^0-9X]", "", value.upper())
    try:
        # Not ric.validate: its list of counties lacks some that old cards carry.
        return ric.calc_check_digit(number) == number[-1] and bool(ric.get_birth_date(number))
    except ValidationError:
        return False


def _is_iban(value: str) -> bool:
    from stdnum import iban

    return iban.is_valid(value)


def _is_ssn(value: str) -> bool:
    from stdnum.us import ssn

    return ssn.is_valid(value)


# --- keys and tokens known by their form ----------------------------------------------------------

_ALNUM, _WORD, _HEX, _UPPER = "[A-Za-z0-9]", "[A-Za-z0-9_-]", "[0-9a-f]", "[A-Z0-9]"
_NAME_CHAR = "[A-Za-z0-9_]"
_FILL = {
    _ALNUM: "Qm3xT9vLk2Zr8YwB6nHdJ4sUc7PaEfG1oNiVtXqK",
    _WORD: "Qm3xT9vLk2Zr8YwB6n_HdJ4sUc7PaEfG1-oNiVtXqK",
    _NAME_CHAR: "11ABCDE0aBcDeFgHiJkLmN_Zr8YwB6nHdJ4sUc7",
    _HEX: "3f9a01c7b2e84d56a0fe19c8d73b4e62a5f0918c",
    _UPPER: "Q3XT9VLK2ZR8YWB6NHDJ4SUC7PAEFG1QNVTXQKM7",
}


def _prefixed(prefix: str, body: str, least: int) -> Secret:
    # The prefix stands first and its left edge is looked at afterwards: a literal start is what makes
    # the search of `re` fast. The digit tells "sk-learn-contrib" and "your-key-goes-here" from keys.
    start = re.escape(prefix)
    pattern = rf"{start}(?<![A-Za-z0-9\0]{start})(?=[A-Za-z_-]{{0,40}}[0-9]){body}{{{least},}}"
    return Secret("api-key", pattern, None, f"use ‹{prefix}{_FILL[body][: max(least, 32)]}› there")


# The least length is below the true one where the prefix is unmistakable: a key cut short is still a key.
_PREFIXES: tuple[tuple[str, str, int], ...] = (
    ("sk-ant- sk-proj- sk-svcacct- sk-admin- sk-or-v1-", _WORD, 16),  # Anthropic, OpenAI, OpenRouter
    ("ghp_ gho_ ghu_ ghs_ ghr_", _ALNUM, 20),  # GitHub
    ("github_pat_", _NAME_CHAR, 20),
    ("glpat- gldt- glrt- glptt- glcbt- glft- glsoat- glagent-", _WORD, 16),  # GitLab
    ("AKIA ASIA ABIA ACCA", _UPPER, 16),  # AWS
    ("AIza", _WORD, 30),  # Google
    ("ya29. GOCSPX-", _WORD, 20),
    ("xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", _WORD, 16),  # Slack
    ("sk_live_ rk_live_ sk_test_ rk_test_ whsec_", _ALNUM, 16),  # Stripe
    ("hf_ npm_ r8_ gsk_ xai- pplx- tvly- ntn_ secret_", _ALNUM, 20),  # Hugging Face, npm, Replicate, …
    ("lin_api_ lin_oauth_ nfp_ pcsk_ fw_ re_", _ALNUM, 20),  # Linear, Netlify, Pinecone, …
    ("pypi-", _WORD, 32),
    ("SK", _HEX, 32),  # Twilio
    ("dop_v1_ doo_v1_ dor_v1_", _HEX, 32),  # DigitalOcean
    ("dapi key- rubygems_ shpat_ shpca_ shppa_ shpss_ sbp_ lsv2_pt_ lsv2_sk_", _HEX, 32),
    ("dckr_pat_ figd_ glsa_ sntrys_ sntryu_ hvs. hvb. pscale_pw_ pscale_tkn_ tskey-", _WORD, 20),
    ("ATATT3 PMAK- NRAK- sq0atp- sq0csp- EAAA", _WORD, 22),  # Atlassian, Postman, New Relic, Square
    ("LTAI AKID", _ALNUM, 16),  # Alibaba, Tencent
    ("AGE-SECRET-KEY-1", _UPPER, 40),
)


def _expand(forms: tuple[tuple[str, str, int], ...]) -> Iterator[Secret]:
    for prefixes, body, least in forms:
        yield from (_prefixed(prefix, body, least) for prefix in prefixes.split())


_SOME = _FILL[_WORD]

KEYS: tuple[Secret, ...] = (
    Secret(
        "private-key",
        r"(?as)-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?!-----BEGIN).){0,20000}?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----",
        None,
        "it is ‹-----BEGIN RSA "
        + f"PRIVATE KEY-----\n{_SOME}\n{_SOME[:9]}=\n-----END RSA PRIVATE KEY-----› ok",
    ),
    Secret(  # cut off before its end: the lines of Base64 that follow
        "private-key",
        r"(?a)-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:\s|\\[rn])++(?:[A-Za-z0-9+/=]{20,}+|[A-Z][A-Za-z-]{2,30}:[^\n\\]{1,80}))++"
        r"(?:(?:\n|\\n)[A-Za-z0-9+/]{1,76}={0,2}(?=\s*?\n|\\|[\"']|\s*\Z))?",
        None,
        "cut: ‹-----BEGIN OPENSSH " + f"PRIVATE KEY-----\\n{_FILL[_ALNUM]}\\n{_FILL[_ALNUM]}› and so on",
    ),
    Secret(
        "private-key",
        r"(?a)Private-Lines: [0-9]{1,3}\s+"
        r"(?P<secret>(?:[A-Za-z0-9+/=]{20,}+(?:\n(?=[A-Za-z0-9+/=]{20}))?)++)",
        None,
        f"Private-Lines: 1\n‹{_FILL[_ALNUM]}›",
    ),
    Secret(
        "jwt",
        r"eyJ(?<![A-Za-z0-9\0]eyJ)[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{1,}){0,3}",
        None,
        "it says ‹ey" + f"JhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ3cmVuIn0.{_SOME}› to the server",
    ),
    *_expand(_PREFIXES),
    Secret(
        "api-key",
        r"sk-(?<![A-Za-z0-9\0]sk-)(?:[a-z0-9]{1,12}-){0,3}(?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9]{16,}[A-Za-z0-9_-]*",
        None,
        f"OpenAI says ‹sk-{_FILL[_ALNUM]}› is ours",
    ),
    Secret(
        "api-key",
        r"SG\.(?<![A-Za-z0-9\0]SG\.)[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
        None,
        f"mail goes with ‹SG.{_SOME[:22]}.{_SOME}› now",
    ),
    Secret(
        "webhook",
        r"hooks\.slack\.com/(?P<secret>(?:services|workflows|triggers)/[A-Za-z0-9_/-]{16,})",
        None,
        f"post to https://hooks.slack.com/‹services/T{_SOME[:8]}/B{_SOME[:8]}/{_SOME[:24]}› please",
    ),
    Secret(
        "webhook",
        r"api/webhooks/(?P<secret>[0-9]{10,}/[A-Za-z0-9_-]{20,})",
        None,
        f"https://discord.com/api/webhooks/‹123456789012345678/{_SOME}› is the hook",
    ),
    Secret(  # Telegram
        "api-key",
        r"[0-9](?<![A-Za-z0-9\0].)[0-9]{7,9}:[A-Za-z0-9_-]{33,36}(?![A-Za-z0-9_\0-])",
        None,
        f"the bot is ‹123456789:AA{_SOME[:33]}› on Telegram",
    ),
    Secret(  # Discord
        "api-key",
        r"[MNO](?<![A-Za-z0-9\0].)[A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}(?![A-Za-z0-9_\0-])",
        None,
        f"the bot is ‹MT{_SOME[:22]}.G{_SOME[:5]}.{_SOME[:27]}› on Discord",
    ),
    Secret(  # Mailchimp
        "api-key",
        r"[0-9a-f](?<![A-Za-z0-9\0].)[0-9a-f]{31}-us[0-9]{1,2}(?![0-9\0])",
        None,
        f"letters go with ‹{_FILL[_HEX][:32]}-us14› now",
    ),
)

ADDRESSES: tuple[Secret, ...] = (
    Secret(
        "password",
        r"://[^\s:/@?#\0]{0,64}:(?P<secret>(?![$<{*]|%[A-Z_]+%)[^\s/?\"'<>`\0]{1,128})@(?=[\w\[.-])",
        None,
        "the ledger is at postgres://ledger:‹n0t-" + "Re4l›@db.internal:5432/ledger today",
    ),
)


# --- numbers with a checksum ----------------------------------------------------------------------

# Not inside a longer number, a decimal, an identifier, a UUID or a telephone number.
# (The digit comes before its look-behinds: a start that is one of few characters makes `re` fast.)
_FIRST = r"[0-9](?<![A-Za-z0-9_+\0].)(?<![0-9\0]\..)(?<![0-9A-Fa-f\0]-.)"
_ENDS = r"(?![A-Za-z0-9_\0])(?!\.[0-9\0])"
_GAP = "[ .-]"

NUMBERS: tuple[Secret, ...] = (
    Secret(
        "national-id",
        rf"{_FIRST}(?<=[1-68])[0-9]{{5}}{_GAP}?(?:19|20)[0-9]{{6}}{_GAP}?[0-9]{{3}}[0-9Xx](?![A-Za-z0-9_\0])",
        _is_resident,
        "我的身份证号是‹110105" + "19491231002X›，签证要用",
    ),
    Secret(
        "iban",
        r"[A-Z]{2}[0-9]{2}(?<![A-Za-z0-9\0]....)(?:[ -]?[A-Z0-9]{4}){2,7}"
        r"(?:[ -]?[A-Z0-9]{1,3})?(?![A-Z0-9\0])",
        _is_iban,
        "pay to ‹DE89 3704 0044 " + "0532 0130 00› by Friday",
    ),
    Secret(
        "iban",
        r"[A-Z]{2}[0-9]{2}(?<![A-Za-z0-9\0]....)(?:[ -]?[A-Z0-9]{4}){2,7}(?![A-Z0-9\0])",
        _is_iban,
        "pay to ‹ES91 2100 0418 " + "4502 0005 1332› or so",
    ),
    Secret(
        "card-number",
        rf"{_FIRST}[0-9]{{12,18}}{_ENDS}",
        _is_card,
        "my card is ‹41111111" + "11111111›, thanks",
    ),
    Secret(
        "card-number",
        rf"{_FIRST}[0-9]{{3}}(?:{_GAP}[0-9]{{4}}){{3}}{_ENDS}",
        _is_card,
        "my card is ‹4111 1111 " + "1111 1111› 12/27",
    ),
    Secret(
        "card-number",
        rf"{_FIRST}(?:{_GAP}{{0,3}}+[0-9]){{12,18}}+{_ENDS}",
        _is_card,
        "my card is ‹3782-822463-" + "10005›, thanks",
    ),
    Secret(
        "ssn",
        r"[0-9]{3}(?<![A-Za-z0-9_\0-]...)-[0-9]{2}-[0-9]{4}(?![A-Za-z0-9_\0-])",
        _is_ssn,
        "I am ‹536-90" + "-4399› to the state",
    ),
)


# --- what people and programs say is secret -------------------------------------------------------


def _after(words: str, *gaps: str) -> str:
    """A place that stands after one of `words`: a look-behind has one width, so each gets its own."""
    return "(?:" + "|".join(f"(?<={word}{gap})" for word in words.split() for gap in gaps) + ")"


_PASSWORDLIKE = (
    r"(?:pass(?:words?|wd|phrases?|codes?)|pass[ -](?:word|phrase|code)|pwd|passwor[dt]|kennwort|contraseña"
    r"|mot de passe|senha|пароль|パスワード|密[码碼]|口令|(?<![a-z0-9])(?:pass|pw)(?=[\"']?\s?[:：=]))"
)
_OPENS = _after(
    "door gate alarm entry entrance access security unlock lock safe garage keypad verification auth"
    " authentication login log-in sign-in 2fa mfa sms one-time backup recovery pass",
    "",
    r"\s",
)
_CODE = (
    rf"(?:(?<![a-z0-9_])pin(?:[ -]?(?:code|number|no\.?)|[码碼])?|{_OPENS}(?:pass)?code|combination"
    r"|(?<![a-z])code(?=\s(?:for|to|of|on)\s(?:[\w']{1,20}\s){0,3}"
    r"(?:door|gate|alarm|garage|safe|lock|house|building)\b)"
    r"|(?<![a-z])(?:otp|cvv2?|cvc2?)(?:\scode)?"
    r"|密[码碼]|口令|验证码|驗證碼|动态码|動態碼|校验码|安全码|门禁码|解锁码)"
)
_GIVES = _after(
    "api access secret auth private encryption signing master account shared service license app application"
    " client session refresh bearer webhook deploy bot",
    "",
    "[ _-]",
)
_KEY = rf"(?:(?:{_GIVES}|(?<=[_-]))key|{_GIVES}(?:token|secret)|[密秘私][钥鑰]|令牌)"
_TOKENLIKE = "(?:secret|token)"
_PHRASE = (
    rf"(?:{_after('seed recovery backup wallet secret', '[ _-]')}(?:phrase|words)|mnemonic|助[记記][词詞])"
)
_STAGE = "(?:_(?:prod|dev|test|staging|live|[0-9]{1,2}))?"

# What ties a value to its name: "for the router is", "=", "现在是".
_QUOTE = r"\\?[\"'`“”‘’「『]"
_EQUALS = r"\s{0,3}=(?!=)\s{0,3}"
_SETS = rf"(?:{_QUOTE})?(?:\s{{0,3}}(?::=|=>|[:：]|=(?!=)|->|→|>)\s{{0,3}}|\s-\s)"
_ABOUT = (
    r"(?:\s(?:for|to|of|on|at|in|from)(?:\s[^\s\0.,;:：!?=]{1,30}+(?:\.[^\s\0.,;:：!?=]{1,30}+)*+){1,6}?"
    r"|\s?[(（][^)）\n\0]{1,40}+[)）]"
    r"|(?:现在|現在|已经|已經|我|都|就|还|還|也|应该|應該|暂时|默认|預設|统一|又|刚刚?|被|给你){1,3}+)?"
)
_IS = (
    r"(?:\s{1,3}(?:is|was|are|will be|should be|has been|ist|es|est)"
    r"(?:\s(?:now|still|just|simply|currently|again))?(?:\s(?:set|changed|reset|switched) to)?"
    r"\s{0,2}[:：]?\s{1,3}|['’]s\s|\s(?:changed |set |reset )?to\s"
    r"|\s{0,3}(?:就?是|[为為]|[设設][为為成置]+|改[为為成]+|[换換变變][为為成]+|は)了?\s{0,3}[:：]?\s{0,3})"
)
_SAID = rf"{_ABOUT}(?:{_SETS}|{_IS})[(*_]{{0,2}}"

# Values. Possessive and bounded, so that a hostile text costs no more than its length. Closing marks
# belong to a value only where it goes on after them; it ends at "</tag", at "\n" written out, at ";name=".
_CORE = r"[A-Za-z0-9!#$%(+/=@\[^{|~¡-ɏͰ-῿-]"
_VALUE = (
    rf"(?P<secret>(?:{_CORE}{{1,48}}+|[.,:?)\]}}'*_>]{{1,8}}+(?={_CORE})|<(?!/)|\\(?![nrtu\"'])"
    rf"|[;&](?!\w{{1,30}}=)(?={_CORE})){{1,24}}+)"
)
_QUOTED = rf"{_QUOTE}(?P<secret>[^\n\0\"'`“”‘’「」『』\\]{{3,200}}+)\\?[\"'`“”‘’」』]"
_OPAQUE = r"(?P<secret>[\w./+=~-]{%d,})"
_NO_UNIT = (
    r"(?!\s?(?:characters?|chars?|digits?|bits?|bytes?|letters?|days?|times?|years?|words?"
    r"|[位个個次天年月日字秒分]))"
)
_WHOLE = rf"{_NO_UNIT}(?![0-9A-Za-z%]|[.,:/-][0-9])"
_CLAUSE_ENDS = r"(?=\s*(?:[.,;!?)\]\"'，。；！？、）”’」](?!\w)|$|\n)|\s(?:and|but|or)\s)"

PASSWORDS: tuple[Secret, ...] = (
    Secret(
        "password",
        rf"(?ai)pass[ -]?phrase{_SAID}{_QUOTE}?"
        rf"(?P<secret>[a-z]{{3,}}(?:[ -][a-z]{{3,}}){{2,9}}){_CLAUSE_ENDS}",
        _is_phrase,
        "the passphrase is ‹walrus mitten " + "copper lantern›.",
    ),
    Secret(
        "password",
        rf"(?ai){_PASSWORDLIKE}{_STAGE}{_SAID}{_QUOTED}",
        _is_value,
        '{"db_password": "‹let' + 'mein›", "port": 5432}',
    ),
    Secret(
        "password",
        rf"(?ai){_PASSWORDLIKE}{_STAGE}{_EQUALS}{_VALUE}",
        _is_value,
        "export DB_PASSWORD=‹let" + "mein› in the shell",
    ),
    Secret(
        "password",
        rf"(?ai){_PASSWORDLIKE}{_STAGE}{_SAID}{_QUOTE}?{_VALUE}{_NO_UNIT}",
        _is_odd,
        "my wifi password is ‹Xk9#" + "mQ2v!tRz7› at home",
    ),
    Secret(
        "password",
        rf"(?ai){_PASSWORDLIKE}{_SAID}(?P<secret>[a-z][a-z'’-]+){_CLAUSE_ENDS}",
        _is_uncommon,
        "the password for the router is ‹sun" + "shine›, as ever",
    ),
    Secret(
        "password",
        rf"(?ai)(?:{_PASSWORDLIKE}(?:\s{{1,2}}|(?<=[码碼令]))|(?<=--)pass(?:word|wd)?\s)\"?{_VALUE}{_NO_UNIT}",
        _is_strong,
        "log in with password ‹Xk9#" + "mQ2v!tRz7› please",
    ),
    Secret(
        "password",
        rf"(?a)-u\s(?<=\s-u\s)[\"']?[^\s:\"'/]{{1,64}}+:{_VALUE}",
        _is_strong,
        "curl -u wren:‹Xk9#" + "mQ2v!tRz7› https://example.org",
    ),
)

CODES: tuple[Secret, ...] = (
    Secret(
        "passcode",
        rf"(?ai){_CODE}(?:{_SAID}|\s?){_QUOTE}?[#*]?(?P<secret>[0-9]{{4,12}}){_WHOLE}",
        None,
        "the alarm code is ‹47" + "11›, tell nobody",
    ),
    Secret(
        "passcode",
        r"(?ai)(?:(?<![a-z])(?:cvv2?|cvc2?)|(?<=security )code|combination|安全码)"
        rf"(?:{_SAID}|\s?){_QUOTE}?(?P<secret>[0-9]{{3}}|[0-9]{{1,2}}(?:-[0-9]{{1,2}}){{2,3}}){_WHOLE}",
        None,
        "its CVV is ‹12" + "3›, they asked",
    ),
)

TOKENS: tuple[Secret, ...] = (
    Secret(
        "api-key",
        r"(?ai)(?:aws|amazon|secret|(?<=access[ _-])key|[密秘][钥鑰])[^\n]{0,40}?(?<![A-Za-z0-9/+])"
        r"(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        _is_aws_secret,
        "AWS secret ‹wJalrXUtnFEMI/" + "K7MDENG/bPxRfiCYEXAMPLEKEY› for the bucket",
    ),
    Secret(
        "api-key",
        rf"(?ai)(?<=[_-]){_TOKENLIKE}{_STAGE}(?:{_EQUALS}{_QUOTE}?|{_SETS}{_QUOTE})(?P<secret>[!-&(-~]{{5,}}[\w=+/-])",
        _is_value,
        "set JWT_SECRET=‹correct" + "horsebattery› in the shell",
    ),
    Secret(
        "api-key",
        rf"(?ai)(?:{_KEY}{_STAGE}{_SAID}|(?<=-){_TOKENLIKE}[= ]){_QUOTE}?{_OPAQUE % 8}",
        _is_key,
        "my weather API key is ‹3f9a01c7" + "b2e84d56a0fe› for now",
    ),
    Secret(
        "api-key",
        rf"(?ai){_TOKENLIKE}{_SETS}{_QUOTE}?{_OPAQUE % 6}",
        _is_token,
        "token: ‹s3cr3" + "t77› until May",
    ),
    Secret(
        "api-key",
        rf"(?ai)(?<![a-z0-9])(?:key|{_TOKENLIKE}){_SAID}{_QUOTE}?{_OPAQUE % 16}",
        _is_long_key,
        "the key is ‹Qm3xT9vLk2" + "Zr8YwB6nHd› for now",
    ),
)

LABELLED: tuple[Secret, ...] = (
    Secret(
        "api-key",
        r"(?ai)authorization\\?[\"'`]?\s{0,3}[:=]\s{0,3}\\?[\"'`]?(?:[a-z]{3,10}\s{1,3})?"
        r"(?P<secret>[\w.~+/=:-]{8,})",
        _is_credential,
        "Authorization: Bearer ‹Qm3xT9" + "vLk2Zr8Y› goes first",
    ),
    Secret(
        "api-key",
        r"(?ai)bearer\s{1,3}(?P<secret>[\w.~+/=-]{12,})",
        _is_token,
        "send Bearer ‹Qm3xT9" + "vLk2Zr8Y› first",
    ),
    Secret(
        "password",
        r"(?ai)basic\s{1,3}(?P<secret>[A-Za-z0-9+/]{8,}={0,2})",
        _is_basic,
        "send Basic ‹d3Jlbjpu" + "MHQtcmVhbA==› first",
    ),
    Secret(
        "password",
        r"(?ai)(?:credentials?|creds|logins?|[账帐]号密码|用户名密码)"
        rf"{_SAID}[^\s:/\0]{{1,40}}+\s?[/:|]\s?{_VALUE}",
        _is_odd,
        "the credentials are wren / ‹hun" + "ter2›, ok",
    ),
    Secret(  # BIP 39: 12, 15, 18, 21 or 24 words
        "recovery-phrase",
        rf"(?ai){_PHRASE}(?:\sphrase)?{_SAID}{_QUOTE}?(?P<secret>[a-z]{{3,8}}(?P<gap>,?\s)(?:[a-z]{{3,8}}(?P=gap)){{10}}"
        r"[a-z]{3,8}(?:(?:(?P=gap)[a-z]{3,8}){3}){0,4})(?![a-z])",
        _is_phrase,
        "my seed phrase is ‹ladder ocean velvet tiger maple candle frozen rocket pencil garden silver "
        + "window›, keep it",
    ),
    Secret(
        "ssn",
        r"(?ai)(?:(?<![a-z])ssn|social[ -]security)\b[^0-9\n\0]{0,25}"
        r"(?P<secret>[0-9]{3}[ -]?[0-9]{2}[ -]?[0-9]{4})(?![0-9])",
        None,
        "my SSN is ‹078" + "051120›, do not tell",
    ),
    Secret(  # of the first generation, without a check digit
        "national-id",
        r"(?ai)身份[证證](?:号码?|號碼?)?\s?(?:是|为|為|[:：])?\s?(?P<secret>[1-68][0-9]{14})(?![0-9])",
        None,
        "旧身份证号是‹110105" + "491231002›，还记得",
    ),
)

_MINE = r"(?:is\s(?:your|my|the|our)\s(?:[\w'’-]{1,20}\s){0,3}|[是为][您你我]?的?[^.\n\0，。]{0,12}?)"
_NAME = r"(?:pass(?:word|code|phrase)|pin|otp|code|密[码碼]|口令|验证码|驗證碼|动态码|校验码)"

NAMED_AFTER: tuple[Secret, ...] = (
    Secret(
        "passcode",
        rf"(?ai)(?<![a-z0-9.])(?P<secret>[0-9]{{4,8}})\s?(?:{_MINE}|[（(][^)）\n\0]{{0,6}}){_NAME}"
        rf"(?:{_CLAUSE_ENDS}|\sfor\s)",
        None,
        "‹4829" + "13› is your verification code.",
    ),
    Secret(
        "password",
        rf"(?ai)(?<![^\s\"'“(，。：]){_VALUE}[\"'”)]?\s?{_MINE}{_NAME}(?![a-z])(?!\s?(?:manager|reset|管理))",
        _is_strong,
        "‹Xk9#mQ" + "2v!tRz7› is my wifi password",
    ),
)

SECRETS: tuple[Secret, ...] = (
    *KEYS,
    *NUMBERS,
    *ADDRESSES,
    *NAMED_AFTER,
    *LABELLED,
    *TOKENS,
    *PASSWORDS,
    *CODES,
)


# --- the search -----------------------------------------------------------------------------------

Span: TypeAlias = tuple[int, int, str]
"""Where a secret starts and ends, and its kind."""

_MARKER_BEGINS = "[redacted:"
_MARKER = re.compile(r"\[redacted:[a-z-]+\]")
# Stands for what is hidden already. No pattern lets it into a secret, and beside a key or a number it counts
# as a letter: else what is glued to a secret would be found only once that is gone, one by one.
_TAKEN = "\0"


class _Folding(dict[int, str]):
    """Character → its NFKC form where that is one character: "１" is "1", offsets stay."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        digit = decimal(char, None)
        form = str(digit) if digit is not None else normalize("NFKC", char)
        # Full-width sentence marks stay: unlike "," and "!", they never belong to a password.
        self[code] = folded = form if len(form) == 1 and char not in "！（），．：；？" else char
        return folded


_FOLDED = _Folding(dict.fromkeys(map(ord, "‐‑‒–—－"), "-"))
_FOLDED[ord("İ")] = "I"  # the one letter that str.lower() makes longer


def scrub(text: str) -> tuple[str, dict[str, int]]:
    """`text` with each secret replaced by "[redacted:KIND]", and how many there were of each kind.

    Idempotent: what comes out is searched again until nothing is found.
    """
    counts: dict[str, int] = {}
    while spans := _spans(text):
        for _, _, kind in spans:
            counts[kind] = counts.get(kind, 0) + 1
        text = _replaced(text, spans, lambda span: f"[redacted:{span[2]}]")
    return text, counts


def _spans(text: str) -> list[Span]:
    """Each secret, none overlapping another."""
    folded = text if text.isascii() else text.translate(_FOLDED)
    if _MARKER_BEGINS in folded:
        folded = _MARKER.sub(lambda marker: _TAKEN * len(marker[0]), folded)
    held = _CUES.held_by(folded.lower())
    spans: list[Span] = []
    for step in _STEPS:
        found = step.search(folded, [cue for cue in step.cues if cue in held], step.rows)
        if found:
            folded = _blanked(folded, found)
            spans += found
    return spans


def _blanked(text: str, spans: list[Span]) -> str:
    return _replaced(text, spans, lambda span: _TAKEN * (span[1] - span[0]))


def _replaced(text: str, spans: list[Span], stand_in: Callable[[Span], str]) -> str:
    pieces: list[str] = []
    done = 0
    for span in sorted(spans):
        pieces += (text[done : span[0]], stand_in(span))
        done = span[1]
    return "".join(pieces) + text[done:]


def _anywhere(folded: str, held: Sequence[str], rows: tuple[Secret, ...]) -> list[Span]:
    """Tries each row everywhere, if the text holds one of the words at all."""
    return _tried(folded, rows) if held else []


def _if_like(pattern: str, folded: str, _: Sequence[str], rows: tuple[Secret, ...]) -> list[Span]:
    """The same for a pattern in place of words; `re` is several times faster on text that is only ASCII."""
    if not folded.isascii():
        folded = folded.encode("ascii", "replace").decode("ascii")
    return _tried(folded, rows) if _regex(pattern).search(folded) else []


def _at_cues(folded: str, held: Sequence[str], rows: tuple[Secret, ...]) -> list[Span]:
    """Tries the rows, the first that hits wins, wherever one of the words begins, in any case."""
    spans: list[Span] = []
    done = 0
    for start in _places(folded.lower(), held) if held else ():
        if start >= done and (hit := _first_hit(folded, start, rows)):
            spans.append(hit)
            done = hit[1]
    return spans


def _places(lower: str, words: Sequence[str]) -> Iterator[int]:
    """Where the words begin, in order; none inside another. Some times faster than a pattern of them all."""
    end = 0
    for start, number in sorted(
        (at, number) for number, word in enumerate(words) for at in _all(lower, word)
    ):
        if start >= end:
            yield start
            end = start + len(words[number])


def _all(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


def _tried(folded: str, rows: tuple[Secret, ...]) -> list[Span]:
    spans: list[Span] = []
    for row in rows:
        found = [hit for match in _regex(row.pattern).finditer(folded) for hit in _hit(row, match)]
        if found:
            folded = _blanked(folded, found)
            spans += found
    return spans


def _first_hit(folded: str, start: int, rows: tuple[Secret, ...]) -> Span | None:
    for row in rows:
        match = _regex(row.pattern).match(folded, start)
        for hit in _hit(row, match) if match else ():
            return hit
    return None


def _hit(row: Secret, match: re.Match[str]) -> tuple[Span, ...]:
    group = "secret" if "secret" in match.re.groupindex else 0
    if row.check and not row.check(match[group]):
        return ()
    start, end = match.span(group)
    return ((start, end, row.kind),)


_Search: TypeAlias = Callable[[str, Sequence[str], tuple[Secret, ...]], list[Span]]


def _any_of(words: str) -> tuple[str, ...]:
    return tuple(words.split("|"))


@dataclass(frozen=True, slots=True)
class _Step:
    """Rows that are looked for in one way, at or beside words (`cues`) of which a text has to hold one.

    `needs` is what a folded text in small letters has to match for any of the rows to be found: for many
    texts at once, so of what RE2 knows only (no look-arounds).
    """

    search: _Search
    rows: tuple[Secret, ...]
    cues: tuple[str, ...]
    needs: str


_MIXED = "(?:[0-9][a-z]|[a-z][0-9])"
_NAMES = "(?:pass(?:word|code|phrase)|pin|otp|code)"
_SPACE = r"[ \t\n\r\f\v]"
_KEY_LIKE = "[A-Za-z0-9_+/-]{20}"
_NUMBER_LIKE = f"[0-9](?:{_GAP}{{0,3}}[0-9]){{8}}"

# In this order: what one step has taken is gone for those after it.
_STEPS: tuple[_Step, ...] = (
    _Step(partial(_if_like, _KEY_LIKE), KEYS, (), _KEY_LIKE),
    _Step(partial(_if_like, _NUMBER_LIKE), NUMBERS, (), _NUMBER_LIKE),
    _Step(_anywhere, ADDRESSES, ("://",), "://[^@]*@"),
    _Step(
        _anywhere,
        NAMED_AFTER,
        _any_of("is your |is my |is the |is our |码|碼|口令"),
        f"is (?:your|my|the|our) .*{_NAMES}|{_NAMES}.*is (?:your|my|the|our) |码|碼|口令",
    ),
    _Step(
        _at_cues,
        LABELLED,
        _any_of(
            "authorization|bearer|basic|cred|login|phrase|words|mnemonic|ssn|social|助|身份|账号|帐号|用户名"
        ),
        rf"authorization|bearer|basic{_SPACE}{{1,3}}[a-z0-9+/]{{8}}|(?:cred|login).*[/:|]"
        "|(?:seed|recovery|backup|wallet|secret)[ _-](?:phrase|words)|mnemonic"
        "|(?:ssn|social[ -]security).*[0-9]{3}|助|身份|账号|帐号|用户名",
    ),
    _Step(
        _at_cues,
        TOKENS,
        _any_of("secret|token|key|aws|amazon|密|秘|私|令牌"),
        # What has no letter beside a digit is a long run (see KEYS), or it is set: JWT_SECRET=…
        f"(?:secret|token|key|[密秘私]|令牌).*{_MIXED}|[_-](?:secret|token)",
    ),
    _Step(
        _at_cues,
        PASSWORDS,
        _any_of("pass|pwd|pw|-u|kennwort|contraseña|mot de passe|senha|пароль|パスワード|密|口令"),
        "pass(?:word|wd|phrase|code)|pass[ -](?:word|phrase|code)|passwor[dt]|--pass|pwd|kennwort|contraseña"
        r"|mot de passe|senha|пароль|パスワード|密[码碼]|口令"
        rf"|(?:pass|pw)[\"']?{_SPACE}?[:：=]|-u{_SPACE}[^:]*:",
    ),
    _Step(
        _at_cues,
        CODES,
        _any_of(
            "pin|code|combination|otp|cvv|cvc|密|口令|验证码|驗證碼|动态码|動態碼|校验码|安全码|门禁码|解锁码"
        ),
        "(?:(?:^|[^a-z0-9_])pin|code|combination|otp|cv[vc]|密|口令|[码碼]).*(?:[0-9]{3}|[0-9]-[0-9])",
    ),
)
_CUES = Cues(cue for step in _STEPS for cue in step.cues)
_NEEDS = "(?s)" + "|".join(step.needs for step in _STEPS)


def suspects(texts: Sequence[str]) -> list[bool]:
    """Which of many texts may hold a secret: all that `scrub` would change, and few others.

    Ten times as fast as to scrub them all.
    """
    folded = (text if text.isascii() else text.translate(_FOLDED) for text in texts)
    return matching([text.lower() for text in folded], _NEEDS)


# No vendor's key is shorter.
_KEY_CHARS = 16
# Nearly every long id, and no key: each would take as long as a text.
_UUID = regex("[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
# Numbers that are ids of messages can pass a checksum by chance; only what is a key by its look is no id.
_NOT_IN_IDS = frozenset({"card-number", "national-id", "iban", "ssn", "passcode", "password"})


def scrub_records(records: Sequence[Record]) -> list[tuple[Record, dict[str, int]]]:
    """Many records without secrets, as `scrub_record` makes them, in a fraction of the time."""
    may_hold = suspects([record.text for record in records])
    return [
        scrub_record(record, is_suspect=is_suspect)
        for record, is_suspect in zip(records, may_hold, strict=True)
    ]


def scrub_record(record: Record, *, is_suspect: bool = True) -> tuple[Record, dict[str, int]]:
    """A record without secrets in anything that it says, and how many of each kind were taken out.

    An id that holds a key keeps a mark of its own, so that two of them stay two. Of one that is not
    `is_suspect` it is known that the text holds no secret.
    """
    shared, found_there = _scrubbed_shared(*_shared(record))
    if not (is_suspect or found_there or record.meta or len(record.source_id or "") >= _KEY_CHARS):
        return record, {}
    found, said = Counter(found_there), dict(shared)
    if record.source_id:
        said["source_id"] = _clean_id(record.source_id, found)
    if record.meta:
        said["meta"] = _clean(record.meta, found)
    if is_suspect:
        said["text"] = _clean(record.text, found)
    # Nearly every record has none: a copy of each would cost more than the search.
    return (replace(record, **said), dict(found)) if found else (record, {})


def _clean(value: Any, found: Counter[str]) -> Any:
    if isinstance(value, str):
        text, counts = scrub(value) if len(value) > _SHORT_CHARS else _scrubbed_short(value)
        found.update(counts)
        return text
    if isinstance(value, Mapping):
        return {key: _clean(inner, found) for key, inner in value.items()}
    return type(value)(_clean(inner, found) for inner in value) if isinstance(value, (list, tuple)) else value


def _clean_id(value: str, found: Counter[str]) -> str:
    if len(value) < _KEY_CHARS or _UUID.fullmatch(value):
        return value
    text, counts = _scrubbed_id(value)
    found.update(counts)
    return text


# What the messages of a conversation mostly share.
_SHARED_WORDS, _SHARED_IDS = ("name", "topics", "project", "audience"), ("source", "session_id")
_shared = attrgetter(*_SHARED_WORDS, *_SHARED_IDS)


@lru_cache(maxsize=1024)
def _scrubbed_shared(*values: Any) -> tuple[dict[str, Any], Counter[str]]:
    """The values of these fields as they may be kept, and what was found in them."""
    found: Counter[str] = Counter()
    said = dict(zip((*_SHARED_WORDS, *_SHARED_IDS), values, strict=True))
    for name, value in said.items():
        if value:
            said[name] = (_clean if name in _SHARED_WORDS else _clean_id)(value, found)
    return said, found


_SHORT_CHARS = 100
_scrubbed_short = lru_cache(maxsize=1024)(scrub)


@lru_cache(maxsize=1024)
def _scrubbed_id(value: str) -> tuple[str, dict[str, int]]:
    text, found = scrub(value)
    if not found or found.keys() <= _NOT_IN_IDS:
        return value, {}
    return f"{text}-{sha256(value.encode()).hexdigest()[:8]}", found
