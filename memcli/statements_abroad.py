"""What `statements` reads, said in German, Spanish, French, Russian, Japanese and Korean."""

from __future__ import annotations

from collections.abc import Sequence

_NAME = r"(?-i:[A-ZÀ-ÖØ-ÞА-ЯЁ])\w"
_START_JA = r"(?:^|[、,])(?:(?:私|僕|俺|わたし|うち)(?:たち)?は、?)?(?:今は?、?|現在は?、?|先[月週]、?)?"
_START_KO = r"(?:^|(?<=[,] )|(?<!\w)(?:나는?|난|저는?|전|우리는?|지금은?|이제는?|현재|요즘은?) )"
_TO_KO = r"(?:[^\s,.]+(?<![은는이가]) )?[^\s,.]{1,10}"

SLOTS: Sequence[tuple[str, str, str]] = (
    (
        "home",
        "wohne|wohnen|lebe|leben",
        rf"\b(?:(?:ich|wir) CUE|CUE (?:ich|wir))(?:(?! nicht| nie) \w+){{0,3}}? in {_NAME}",
    ),
    ("home", "gezogen", rf"\bnach {_NAME}\w* (?:um)?CUE"),
    ("home", "vivo|vivimos|resido", rf"(?<!\bno )\bCUE(?: \w+){{0,2}}? en {_NAME}"),
    ("home", "me mudé|nos mudamos|me he mudado|nos hemos mudado", rf"(?<!\bno )\bCUE a {_NAME}"),
    (
        "home",
        "habit|je vis|déménagé",
        r"(?:\bj['’]habite|\bon habite|\bnous habitons|\bje vis|\b(?:j['’]ai|nous avons|on a) déménagé)"
        rf"(?:(?! pas| plus) \w+){{0,2}}? (?:à|en|au) {_NAME}",
    ),
    ("home", "живу|живем|живём", rf"(?<!\bне )\bCUE(?: \w+){{0,2}}? (?:в|во|на) {_NAME}"),
    ("home", "переехал|перебрал", rf"(?<!\bне )\bCUE\w*(?: \w+)? (?:в|во|на) {_NAME}"),
    (
        "home",
        "に住んで|に引っ越し|に引越し|に移住し|に転居し",
        rf"{_START_JA}[^、。はがの]{{1,10}}CUE(?:いる|います|る|ます|た|まし|て)(?!いた)",
    ),
    ("home", "에 살|에서 살", rf"{_START_KO}[^\s,.]{{1,8}}CUE(?:고 있|아|아요|게 됐|ㄴ다)"),
    ("home", "로 이사", rf"{_START_KO}[^\s,.]{{1,8}}CUE(?:를 )?(?:했|갔|왔|해)"),
    (
        "work",
        "arbeite",
        r"\b(?:ich CUE|CUE ich)(?:(?! nicht| nie| gerne?) \w+){0,3}?"
        r" (?:bei|beim|als|für|in (?:einer|einem|der))\b(?! (?:nacht|früh|regel|woche))",
    ),
    (
        "work",
        "trabajo",
        r"(?<!\bno )(?<!\bel )(?<!\bmi )(?<!\bun )(?<!\bdel )(?<!\bsu )(?<!\bde )(?<!\beste )\bCUE"
        r"(?: ahora| actualmente)? (?:en|de|para|como)\b(?! (?:casa|equipo|línea|noche|día|lunes))",
    ),
    (
        "work",
        "je travaille",
        r"\bCUE(?:(?! pas| plus) \w+){0,2}? (?:chez|pour|comme|dans (?:une?|la|le))\b",
    ),
    (
        "work",
        "работаю",
        r"(?<!\bне )\bCUE(?: теперь| сейчас)?"
        r"(?: (?:в|во|на|у) (?!выходн|дому|ночь|нол)| \w{3,}(?:ом|ем|ой|ей)\b)",
    ),
    (
        "work",
        "で働いて|で勤務して|に勤めて",
        rf"{_START_JA}[^、。はが]{{1,14}}CUE(?:いる|います|る|ます)",
    ),
    ("work", "に転職し|に就職し", rf"{_START_JA}[^、。はが]{{1,14}}CUE(?:た|まし|て)"),
    ("work", "에서 일", rf"{_START_KO}{_TO_KO}CUE(?:하고 있|해|합니다)"),
    ("work", "로 이직|에 취직", rf"{_START_KO}{_TO_KO}CUE(?:했|해)"),
    (
        "phone",
        "nummer|número|teléfono|móvil|celular|numéro",
        r"\b(?:meine|mi|mon) (?:(?:neue|nuevo|nouveau) )?\w*CUE(?: de \w+)?(?: nuevo)?"
        r" (?:ist|lautet|es|est)(?: jetzt| ahora| maintenant)?(?: el| le)?[: ]+[+(]?\d",
    ),
    (
        "phone",
        "номер|телефон",
        r"\bмой (?:новый )?CUE(?: телефона)?(?: теперь| сейчас)?(?: это)? ?[-—:]? ?[+(]?\d",
    ),
    ("phone", "電話|携帯", r"^(?:私の)?(?:新しい)?CUE(?:番号)?は ?[+(]?\d"),
    ("phone", "번호", r"^(?:내 |제 )?(?:새 )?(?:전화|핸드폰|휴대폰)? ?CUE는 ?[+(]?\d"),
)
"""Slot, cues and pattern; the form of the verb or its subject says that it is the person's own."""

OVER: Sequence[tuple[str, str, str]] = (
    ("mehr", r"\bkeine?[nmr]? (?P<old>\w+) CUE\b", r"\b(?:ich|wir|mir|uns|meine?)\b"),
    ("nicht mehr", r"^(?P<old>\w+) \w+ (?:ich|wir) (?:\w+ ){0,2}?CUE\b", r"\b(?:ich|wir|mir|uns|meine?)\b"),
    (
        "ya no|dejé|he dejado",
        r"\bCUE(?: de| (?-i:[a-zé]+[oé]))? (?:\w+r )?(?:el |la |los |las )?(?P<old>\w+)\b",
        r"\b(?:\w+o|me|mis?|nos|nuestr\w+)\b",
    ),
    (
        "je ne|j'ai arrêté|j’ai arrêté",
        r"\bCUE (?:\w+ plus (?:de |d['’])?|(?:de \w+ )?(?:le |la |les |du )?)(?P<old>\w+)\b",
        r"\b(?:je|j|nous|mes|mon|ma)\b",
    ),
    (
        "больше не|бросил|бросила",
        r"\bCUE (?:\w+[юу] |\w+ть )?(?P<old>\w+)\b",
        r"\b(?:я|мы|мне|мой|моя|\w{2,}[юу])\b",
    ),
    (
        "やめた|やめました|やめて|飲まなく|食べなく|吸わなく|飲まない|食べない",
        r"(?:^|[、は])(?P<old>[^、。はをが]{1,8})[はをが]?(?:もう)?CUE",
        r"飲|食|吸|好き|毎[日朝晩週]|いつも|して|使|やって",
    ),
    (
        "끊었|그만뒀|안 마셔|안 먹어|안 해",
        r"(?P<old>[^\s,.]{1,8}?)(?:은|는|을|를)? (?:이제 |더 이상 |더는 )*CUE",
        r"마시|마셔|먹|피우|피워|좋아|매일|항상|늘|자주|해|하고|다녀|다니",
    ),
)
"""Cues, pattern with the thing that is over as `old`, and how an earlier statement that names it looks."""
