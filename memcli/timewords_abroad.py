"""Words of time in German, Spanish, French, Russian, Japanese and Korean, said in English or Chinese."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from memcli.text import regex

_COUNTS = {
    "de": "ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "es": "un dos tres cuatro cinco seis siete ocho nueve diez once doce",
    "fr": "un deux trois quatre cinq six sept huit neuf dix onze douze",
    "ru": "один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать",
}
_MONTHS = {
    "de": "januar februar märz april mai juni juli august september oktober november dezember",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    # Without the endings of its cases.
    "ru": "январ феврал март апрел ма июн июл август сентябр октябр ноябр декабр",
}
_WEEKDAYS = {
    "de": "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "es": "lunes martes miércoles jueves viernes sábado domingo",
    "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "ru": "понедельник вторник сред четверг пятниц суббот воскресень",
}
_SEASONS = {
    "de": "frühling sommer herbst winter",
    "es": "primavera verano otoño invierno",
    "fr": "printemps été automne hiver",
    "ru": "весн лет осен зим",
}
_ENGLISH = {
    "count": "1 2 3 4 5 6 7 8 9 10 11 12",
    "month": "January February March April May June July August September October November December",
    "weekday": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "season": "spring summer autumn winter",
}
_OTHERS = {
    "eine": "1",
    "einem": "1",
    "einer": "1",
    "una": "1",
    "une": "1",
    "sonnabend": "Saturday",
    "setiembre": "September",
    "tag": "day",
    "woche": "week",
    "monat": "month",
    "jahr": "year",
    "wochenende": "weekend",
    "día": "day",
    "semana": "week",
    "mes": "month",
    "año": "year",
    "fin de semana": "weekend",
    "jour": "day",
    "semaine": "week",
    "mois": "month",
    "an": "year",
    "année": "year",
    "week-end": "weekend",
    "weekend": "weekend",
    "anfang": "early",
    "mitte": "mid",
    "ende": "late",
    "principios": "early",
    "mediados": "mid",
    "finales": "late",
    "début": "early",
    "mi": "mid",
    "fin": "late",
    "одну": "1",
    "две": "2",
    "недел": "week",
    "месяц": "month",
    "год": "year",
    "выходн": "weekend",
    "начал": "early",
    "середин": "mid",
    "конц": "late",
}


def _table() -> Iterator[tuple[str, str]]:
    for kind, lists in (
        ("count", _COUNTS),
        ("month", _MONTHS),
        ("weekday", _WEEKDAYS),
        ("season", _SEASONS),
    ):
        for words in lists.values():
            yield from zip(words.split(), _ENGLISH[kind].split(), strict=True)
    yield from _OTHERS.items()


_WORDS: Mapping[str, str] = dict(_table())


def _any(words: str, *more: str) -> str:
    return "|".join((*words.split(), *more))


def _english(word: str | None) -> str:
    """A word of the tables in English; what is in none, a number, stays."""
    folded = (word or "").casefold()
    # "Tagen", "Wochen", "semanas", "meses", "jours": the plural is one more letter or two.
    cut = (folded, folded[:-1], folded[:-2])
    return next((_WORDS[each] for each in cut if each in _WORDS), folded)


_DE = {
    "n": rf"(?P<n>\d{{1,3}}|{_any(_COUNTS['de'], 'eine[mr]?')})",
    "unit": "(?P<unit>tag(?:en?)?|wochen?|monat(?:en?)?|jahr(?:en?)?)",
    "what": rf"(?P<what>woche|monat|jahr|wochenende|{_any(_WEEKDAYS['de'], 'sonnabend')}"
    rf"|{_any(_SEASONS['de'])})s?",
    "month": f"(?P<month>{_any(_MONTHS['de'])})",
    "weekday": f"(?P<weekday>{_any(_WEEKDAYS['de'], 'sonnabend')})",
}
_ES = {
    "n": rf"(?P<n>\d{{1,3}}|{_any(_COUNTS['es'], 'una')})",
    "unit": "(?P<unit>días?|semanas?|mes(?:es)?|años?)",
    "what": rf"(?P<what>fin de semana|semana|mes|año|{_any(_WEEKDAYS['es'])}|{_any(_SEASONS['es'])})",
    "month": f"(?P<month>{_any(_MONTHS['es'], 'setiembre')})",
    "weekday": f"(?P<weekday>{_any(_WEEKDAYS['es'])})",
}
_FR = {
    "n": rf"(?P<n>\d{{1,3}}|{_any(_COUNTS['fr'], 'une')})",
    "unit": "(?P<unit>jours?|semaines?|mois|ans?|années?)",
    "what": rf"(?P<what>week-?end|semaine|mois|année|an|{_any(_WEEKDAYS['fr'])}|{_any(_SEASONS['fr'])})",
    "month": f"(?P<month>{_any(_MONTHS['fr'])})",
    "weekday": f"(?P<weekday>{_any(_WEEKDAYS['fr'])})",
}
_RU = {
    "n": rf"(?P<n>\d{{1,3}}|{_any(_COUNTS['ru'], 'одну', 'две')})",
    "what": r"(?P<what>недел[еюия]|месяц[еа]?|год[уа]?|выходны[ехм]|понедельник|вторник|среду|четверг|пятницу"
    r"|субботу|воскресенье|весной|летом|осенью|зимой)",
    "month": r"(?P<month>(?:январ|феврал|апрел|сентябр|октябр|ноябр|декабр|ию[нл])[ьяею]"
    r"|(?:март|август)[ае]?|ма[йяею])",
    "weekday": "(?P<weekday>понедельник|вторник|среду|четверг|пятницу|субботу|воскресенье)",
}
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DAY = r"(?P<day>[0-3]?\d)"

_Rows = Sequence[tuple[str, str]]

_GERMAN: _Rows = (
    ("vorgestern", "the day before yesterday"),
    ("übermorgen", "the day after tomorrow"),
    ("(?:an|zu|letzte) weihnachten", "at Christmas"),
    ("gestern(?: abend| nacht| früh| morgen)?", "yesterday"),
    ("heute(?: morgen| abend| früh| nacht)?", "today"),
    ("(?<!guten )(?<!am )(?<!jeden )(?-i:morgen)", "tomorrow"),
    (f"(?:letzte|vorige|vergangene)[nrsm]? {_DE['what']}", "last {what}"),
    (f"diese[nrsm]? {_DE['what']}", "this {what}"),
    (f"(?:nächste|kommende)[nrsm]? {_DE['what']}", "next {what}"),
    (f"vor {_DE['n']} {_DE['unit']}", "{n} {unit} ago"),
    (f"(?:letzten|vergangenen) {_DE['n']} {_DE['unit']}", "past {n} {unit}s"),
    (rf"{_DAY}\. ?{_DE['month']}(?: {_YEAR})?", "{day} {month} {year}"),
    (rf"{_DAY}\.(?P<month>[01]?\d)\. ?{_YEAR}", "{year}-{month}-{day}"),
    (f"(?P<part>anfang|mitte|ende) {_DE['month']}(?: {_YEAR})?", "{part} {month} {year}"),
    (f"(?:im|bis) {_DE['month']}(?: {_YEAR})?", "in {month} {year}"),
    (f"im jahr {_YEAR}", "in {year}"),
    (f"seit {_DE['month']}(?: {_YEAR})?", "since {month} {year}"),
    (f"seit {_YEAR}", "since {year}"),
    (f"seit {_DE['weekday']}", "since {weekday}"),
    (f"am {_DE['weekday']}", "on {weekday}"),
)
_SPANISH: _Rows = (
    ("anteayer|antier", "the day before yesterday"),
    ("pasado mañana", "the day after tomorrow"),
    ("ayer", "yesterday"),
    ("(?:en|por|la pasada) navidad", "at Christmas"),
    ("anoche", "last night"),
    ("hoy|esta (?:mañana|tarde|noche)", "today"),
    ("(?<!la )(?<!de )(?<!cada )mañana", "tomorrow"),
    (f"{_ES['what']} (?:pasad[oa]|anterior)", "last {what}"),
    (f"(?:pasad[oa]|últim[oa]) {_ES['what']}", "last {what}"),
    (f"est[ea] {_ES['what']}", "this {what}"),
    (f"{_ES['what']} (?:que viene|próxim[oa])", "next {what}"),
    (f"próxim[oa] {_ES['what']}", "next {what}"),
    (f"hace {_ES['n']} {_ES['unit']}", "{n} {unit} ago"),
    (f"últim[oa]s {_ES['n']} {_ES['unit']}", "past {n} {unit}s"),
    (rf"{_DAY} de {_ES['month']}(?: del? {_YEAR})?", "{day} {month} {year}"),
    (f"a (?P<part>principios|mediados|finales) de {_ES['month']}(?: del? {_YEAR})?", "{part} {month} {year}"),
    (f"(?:en|hasta) {_ES['month']}(?: del? {_YEAR})?", "in {month} {year}"),
    (f"en {_YEAR}", "in {year}"),
    (f"desde {_ES['month']}(?: del? {_YEAR})?", "since {month} {year}"),
    (f"desde (?:el )?{_ES['weekday']}", "since {weekday}"),
    (f"desde {_YEAR}", "since {year}"),
    (f"el {_ES['weekday']}", "on {weekday}"),
)
_FRENCH: _Rows = (
    ("avant-hier", "the day before yesterday"),
    ("après-demain", "the day after tomorrow"),
    ("(?:à|pour) noël", "at Christmas"),
    ("hier(?: soir| matin)?", "yesterday"),
    ("aujourd['’]hui|ce (?:matin|soir)|cet après-midi", "today"),
    ("demain", "tomorrow"),
    (f"{_FR['what']} (?:derni(?:er|ère)|passée?)", "last {what}"),
    (f"ce(?:tte|t)? {_FR['what']}(?:-ci)?", "this {what}"),
    (f"{_FR['what']} prochaine?", "next {what}"),
    (f"il y a {_FR['n']} {_FR['unit']}", "{n} {unit} ago"),
    (f"{_FR['n']} (?:derniers|dernières) {_FR['unit']}", "past {n} {unit}s"),
    (rf"{_DAY}(?:er)? {_FR['month']}(?: {_YEAR})?", "{day} {month} {year}"),
    (f"(?P<part>début|mi|fin)[- ]{_FR['month']}(?: {_YEAR})?", "{part} {month} {year}"),
    (f"(?:en|jusqu['’]en) {_FR['month']}(?: {_YEAR})?", "in {month} {year}"),
    (f"en {_YEAR}", "in {year}"),
    (f"depuis {_FR['month']}(?: {_YEAR})?", "since {month} {year}"),
    (f"depuis {_FR['weekday']}", "since {weekday}"),
    (f"depuis {_YEAR}", "since {year}"),
    (f"(?<!chaque )(?:le |ce ){_FR['weekday']}", "on {weekday}"),
)
_RUSSIAN: _Rows = (
    ("позавчера", "the day before yesterday"),
    ("послезавтра", "the day after tomorrow"),
    ("вчера(?: утром| днём| днем| вечером| ночью)?", "yesterday"),
    ("сегодня(?: утром| днём| днем| вечером| ночью)?", "today"),
    ("завтра", "tomorrow"),
    (rf"(?:на |в )?(?:прошл|минувш)\w{{2,3}} {_RU['what']}", "last {what}"),
    (rf"(?:на |в )?эт(?:ой|ом|от|у|и|им|их) {_RU['what']}", "this {what}"),
    (rf"(?:на |в )?следующ\w{{2,3}} {_RU['what']}", "next {what}"),
    (f"{_RU['n']} д(?:ень|ня|ней) назад", "{n} day ago"),
    (f"{_RU['n']} недел[юиь] назад", "{n} week ago"),
    (f"{_RU['n']} месяц(?:а|ев)? назад", "{n} month ago"),
    (f"{_RU['n']} (?:года?|лет) назад", "{n} year ago"),
    ("(?P<unit>неделю|месяц|год) назад", "1 {unit} ago"),
    (rf"{_DAY}(?:-го)? {_RU['month']}(?: {_YEAR})?(?: года)?", "{day} {month} {year}"),
    (rf"в (?P<part>начале|середине|конце) {_RU['month']}(?: {_YEAR})?", "{part} {month} {year}"),
    (rf"в {_RU['month']}(?: {_YEAR})?(?: года)?", "in {month} {year}"),
    (rf"в {_YEAR} году", "in {year}"),
    (rf"с {_RU['month']}(?: {_YEAR})?", "since {month} {year}"),
    (rf"во? {_RU['weekday']}", "on {weekday}"),
)
_JAPANESE: _Rows = (
    ("一昨日|おととい", "前天"),
    ("昨日|きのう", "昨天"),
    ("昨夜|昨晩|ゆうべ", "昨晚"),
    ("今日|きょう", "今天"),
    ("明日|あした", "明天"),
    ("明後日|あさって", "后天"),
    ("先週末", "上周末"),
    ("先々週", "上上周"),
    ("(?P<which>[先今来])週の?(?P<weekday>[月火水木金土日])曜日?", "{which}周{weekday}"),
    ("(?P<which>[先今来])週", "{which}周"),
    ("(?P<which>[先今来])月", "{which}个月"),
    ("昨年|去年", "去年"),
    ("来年", "明年"),
    ("(?P<weekday>[月火水木金土日])曜日?", "周{weekday}"),
    ("(?P<n>[0-9一二三四五六七八九十]{1,3})日前", "{n}天前"),
    ("(?P<n>[0-9一二三四五六七八九十]{1,3})(?P<unit>週間|[かヶカケ]月|年)前", "{n}{unit}前"),
    ("(?P<year>[去今])年の(?P<season>[春夏秋冬])", "{year}年{season}天"),
    ("月の?(?:初め|はじめ|上旬|頭)", "月初"),
    ("月の?(?:半ば|なかば|中旬)", "月中旬"),
    ("月の?(?:終わり|末|下旬)", "月底"),
)
_KOREAN: _Rows = (
    ("그저께|그제|엊그제", "前天"),
    ("어젯밤", "昨晚"),
    ("어제", "昨天"),
    ("오늘", "今天"),
    ("내일", "明天"),
    ("모레", "后天"),
    ("지난 ?주말", "上周末"),
    ("(?P<which>지난|이번|다음) ?주 ?(?P<weekday>[월화수목금토일])요일", "{which}周{weekday}"),
    ("(?P<which>지난|이번|다음) ?(?P<unit>[주달])", "{which}个{unit}"),
    ("작년", "去年"),
    ("올해", "今年"),
    ("내년", "明年"),
    ("(?P<weekday>[월화수목금토일])요일", "周{weekday}"),
    (r"(?P<n>\d{1,3})일 ?전", "{n}天前"),
    (r"(?P<n>\d{1,3})(?P<unit>주|개월|년) ?전", "{n}{unit}前"),
    (r"(?P<month>\d{1,2})월 ?(?P<day>\d{1,2})일", "{month}月{day}日"),
    (r"(?P<month>\d{1,2})월", "{month}月"),
    (rf"{_YEAR}년", "{{year}}年"),
)
_CHINESE = {
    **dict(zip("先今来", "上这下", strict=True)),
    **dict(zip("月火水木金土日", "一二三四五六日", strict=True)),
    **dict(zip("월화수목금토일", "一二三四五六日", strict=True)),
    "지난": "上",
    "이번": "这",
    "다음": "下",
    "주": "周",
    "달": "月",
    "개월": "个月",
    "년": "年",
    "週": "周",
    "週間": "周",
    "か月": "个月",
    "ヶ月": "个月",
    "カ月": "个月",
    "ケ月": "个月",
}

_LANGUAGES: Sequence[tuple[str, bool, _Rows]] = (
    (
        "gestern heute morgen letzte vorige vergangen diese nächste kommende _vor_ anfang _mitte_ _ende_ jahr"
        " weihnachten montag dienstag mittwoch donnerstag freitag samstag sonntag sonnabend januar februar"
        " märz .19 .20 _mai juni juli oktober dezember m_april m_august m_september m_november ._april"
        " ._august ._september ._november",
        True,
        _GERMAN,
    ),
    (
        "_ayer anteayer antier _hoy anoche mañana pasad últim _este_ _esta_ próxim _viene _hace_ _de_ _en_"
        " _el_ desde_ principios mediados finales navidad",
        True,
        _SPANISH,
    ),
    (
        "_hier avant-hier aujourd demain _soir _matin derni passé cette_ _ce_ prochain y_a_ _le_ _en_"
        " depuis_ début noël janvier février _mars avril _mai_ juin juillet août septembre octobre novembre"
        " décembre",
        True,
        _FRENCH,
    ),
    (
        "вчера сегодня завтра прошл минувш эт следующ назад январ феврал март апрел _мая_ _мае_ июн июл"
        " август сентябр октябр ноябр декабр _в_ _во_",
        True,
        _RUSSIAN,
    ),
    ("昨 今 明 一昨 おととい きのう ゆうべ きょう あした 先 来 曜 前 去 月の", False, _JAPANESE),
    ("제 어 오늘 내일 모레 지난 이번 다음 작년 올해 내년 요일 전 월 년", False, _KOREAN),
)
"""What a text must hold one of to be looked at (`holds_any`), whether words are parted, and the rows."""

_KANA_HANGUL = regex("[\u3040-\u30ff\uac00-\ud7af]|[週曜]|[先昨今来]月")


def translated(text: str) -> str:
    """The text with its words of time in English or Chinese; what no table knows stays as it is."""
    padded = f" {text.casefold()} "
    is_of_the_east = not text.isascii() and _KANA_HANGUL.search(text) is not None
    for cues, is_parted, rows in _LANGUAGES:
        if is_parted is not is_of_the_east and holds_any(padded, cues):
            for pattern, template in rows:
                text = _compiled(pattern, is_parted=is_parted).sub(_telling(template, is_parted), text)
    return text


def holds_any(padded: str, cues: str) -> bool:
    """Whether a text, in small letters and between two spaces, holds one of the cues; "_" is a space.

    Much faster than to search for a pattern that begins with a choice.
    """
    return any(map(padded.__contains__, _cues(cues)))


@cache
def _cues(cues: str) -> tuple[str, ...]:
    return tuple(cue.replace("_", " ") for cue in cues.split())


@cache
def _compiled(pattern: str, *, is_parted: bool) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{pattern})(?!\w)" if is_parted else pattern, re.IGNORECASE)


@cache
def _telling(template: str, is_parted: bool) -> Callable[[re.Match[str]], str]:
    def tell(match: re.Match[str]) -> str:
        say = _english if is_parted else _chinese
        return template.format_map({name: say(word) for name, word in match.groupdict().items()})

    return tell


def _chinese(word: str | None) -> str:
    return _CHINESE.get(word or "", word or "")
