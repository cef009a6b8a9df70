"""English: the signs of what is no statement, and what people state of themselves."""

from __future__ import annotations

from functools import cache

from memcli.extract.language import Language, Rule, rules, sign

NEW_CLAUSE = (
    r"(?:and|but|so|because|since|although|though|while|whereas|which|until|unless|if)\s+"
    r"(?:I|I'm|I've|we|we're|my|our|he|she|they|it|you|the|there)\b"
    r"|(?:and|but)\s+(?:live|work|love|like|hate|prefer|use|have|study|speak|drive|play"
    r"|don't|can't|am|never|always"
    r"|usually|enjoy)\b|but\s+(?:now|these days)\b|(?:because|if|unless|although|though|when"
    r"|whenever|whereas)\s"
)


# --- parts of rules -------------------------------------------------------------------------------

_AM = r"(?:I'?m|I am)"
_WE_ARE = r"(?:we'?re|we are)"
_HAVE = r"(?:I|we)(?:'?ve| have)(?: got)?"
_ADVERBS = (
    r"(?:(?:really|just|also|now|currently|still|actually|honestly|always|absolutely"
    r"|definitely|generally|usually"
    r"|mostly|personally|particularly|especially|so|very|quite|pretty|do|totally|truly"
    r"|mainly|normally|typically"
    r"|both|already|recently|finally|simply|strongly|much|genuinely|originally|kinda|too"
    r"|most|both|basically|even"
    r"|(?:very|so|too) much|as of \w+|proudly|happily|mostly|often|sometimes|only|secretly)\s+)*+"
)
_I = rf"(?:I|we)\s+{_ADVERBS}"
_BE = rf"{_AM}\s+{_ADVERBS}"
_A = r"(?:an?|the|one of the)\s+"
_RELATIVE = (
    r"(?:wife|husband|spouse|partner|fianc[eé]e?|girlfriend|boyfriend|mother|mum|mom|mam"
    r"|father|dad|parents|sister"
    r"|brother|twin|son|daughter|kids?|child|children|baby|toddler|grand(?:ma|pa|mother"
    r"|father|son|daughter|kids?|child(?:ren)?)"
    r"|(?:step|half-?)(?:mother|father|mum|mom|dad|brother|sister|son|daughter)|aunt|uncle"
    r"|cousin|niece|nephew"
    r"|(?:mother|father|sister|brother|son|daughter)-in-law|in-laws|flatmate|roommate"
    r"|(?:best )?friend|neighbou?r|boss|manager"
    r"|dog|cat|puppy|kitten|horse|rabbit|parrot|hamster|tortoise|pet|doctor|dentist|landlord"
    r"|landlady|therapist|teacher|tutor)"
)
_PET = (
    r"(?:dogs?|cats?|pupp(?:y|ies)|kittens?|horses?|rabbits?|parrots?|hamsters?|tortoises?"
    r"|fish|chickens?|snakes?|budgies?|ferrets?|guinea pigs?|hens?|ducks?|geese|goats?|sheep|pigs?"
    r"|ponies|pony|donkeys?|cows?|llamas?|alpacas?|pigeons?|geckos?|lizards?|hives?|bee ?hives?)"
)
_CHILD = (
    r"(?:kids?|child(?:ren)?|sons?|daughters?|boys?|girls?|twins|siblings?|brothers?"
    r"|sisters?|grandchild(?:ren)?|grandsons?|granddaughters?|wife|husband|partner"
    r"|girlfriend|boyfriend|bab(?:y|ies)|toddlers?|nieces?|nephews?)"
)
_COUNT = r"(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|\d+|no|some|several)"
_NAME = r"(?-i:[A-Z][\w'-]+(?: [A-Z][\w'.-]+){0,2})"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_DATE = (
    rf"(?:\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}\b|\b{_MONTH}\.? (?:the )?\d{{1,2}}"
    rf"|\b\d{{4}}-\d\d-\d\d\b|\b\d{{1,2}}[./]\d{{1,2}}\b"
    r"|\b(?:next|this|coming|on|by|until|before) (?:week|month|year|spring|summer|autumn"
    r"|fall|winter|weekend|christmas|easter"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day)|\btomorrow\b|\btonight\b"
    rf"|\b(?:in|by|since|until|before|on|next|this|around|early|late|end of|mid) ?{_MONTH}\b"
    rf"|\bin (?:20\d\d|{_COUNT} (?:days?|weeks?|months?|years?))\b"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\bat \d{1,2}(?::\d\d)?(?: ?[ap]m)?\b"
    r"|\bthe \d{1,2}(?:st|nd|rd|th)\b)"
)
_NUMBER = (
    r"(?:\d|[$€£¥]|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|twenty|thirty|forty|fifty|hundred|thousand)\b)"
)
_JOB = (
    r"(?:nurse|chef|cook|student|doctor|architect|pilot|accountant|clerk|coach|mechanic"
    r"|retiree|pensioner|freelance|dentist"
    r"|vet|veterinarian|surgeon|midwife|scientist|analyst|consultant|attorney|judge|intern"
    r"|apprentice|trainee|founder|ceo|cto|cfo|coo"
    r"|ph\.?d|postdoc|undergrad(?:uate)?|graduate|postgrad|sophomore|freshman|junior|senior"
    r"|dev|sysadmin|sre|dba|devops|journalist|guide|host"
    r"|librarian|musician|technician|electrician|physician|politician|historian"
    r"|mathematician|beautician|assistant|civil servant|police officer"
    r"|(?:single |stay-at-home |working )?(?:mother|father|mum|mom|dad|parent)(?: of \w+)?"
    r"|widow(?:er)?|carer|caregiver|nanny|au pair|head of \w+|veteran|soldier"
    r"|farmer|shepherd|fisherman|postman|fireman|policeman|salesman|craftsman|businesswoman"
    r"|businessman|barista|bartender|waiter|waitress|actor|actress"
    r"|\w{2,}(?:neer|ologist|grapher|therapist|pist|chemist|physicist|artist|journalist"
    r"|novelist|typist|florist|economist|pharmacist|scientist)"
    r"|(?!list|twist|racist|sexist|tourist|checklist|playlist|wishlist|assist)\w{3,}ist"
    r"|(?!beginner|newcomer|customer|user|believer|lover|loser|sucker|member|winner|stranger"
    r"|monster|disaster|number|outsider|minor|major|learner|reader"
    r"|brother|sister|eater|sleeper|thinker|riser|lister|killer|matter|bother|poster|voter"
    r"|buyer|sufferer|survivor|visitor|error|mirror|bachelor|quitter"
    r"|hater|caller|listener|observer|viewer|starter|keeper|walker|cheater|liar|gamer|joker"
    r"|worrier|hoarder|reviewer|worker of|loner|bummer|spender|sinner|fighter)"
    r"\w{2,}(?:er|or))"
)
_END = (
    r"(?=$|\s*[,.;!]|\s+(?:at|for|in|with|from|by|and|who|working|on|of|speciali[sz]ing|near"
    r"|here|there|based|these days|now|since|but|myself|too|to)\b)"
)
_CONDITION = (
    r"(?:vegan|vegetarian|pescatarian|diabetic|asthmatic|lactose[- ]intolerant"
    r"|gluten[- ]intolerant|(?:\w+[- ])?intolerant|co?eliac|celiac|pregnant"
    r"|deaf|blind|colou?r[- ]?blind|dyslexic|autistic|epileptic|left[- ]handed"
    r"|short[- ]sighted|anaemic|anemic|teetotal|wheelchair user|type [12] diabetic|bipolar)"
)
_ILLNESS = (
    r"(?:diabetes|asthma|high blood pressure|low blood pressure|hypertension|arthritis"
    r"|migraines?|adhd|add|epilepsy|c(?:o?e)liac disease|eczema|hay ?fever|dyslexia"
    r"|anxiety|depression|insomnia|ibs|a (?:pacemaker|heart condition|bad (?:back|knee|hip)"
    r"|(?:\w+ )?(?:allergy|intolerance))|(?:an?|the) (?:\w+ )?(?:allergy|intolerance) to"
    r"|(?:\w+ )?allergies"
    r"|osteoporosis|glaucoma|tinnitus|psoriasis|a stent|an? (?:\w+ )?condition|gout|anemia"
    r"|anaemia|autism|lupus|sciatica|rheumatism)"
)
# What is liked or used has to be a thing of its own, not something of the conversation.
_THING = (
    r"(?!(?:it|this|that|these|those|you|u|your|him|her|them|how|what|when|where|why|whether"
    r"|everyone|nothing|none|both|neither|the (?:idea|way|answer|look|sound|joke|poem|story"
    r"|second|first|last|new|one"
    r"|other|fact|part|version|wrong|same|above|following|code|result|following|most|least)"
    r"|to (?:ask|know|see|hear|think|say|be|get|have|thank|point|believe|imagine|mention"
    r"|admit|help you|understand|do (?:this|that|it))|all of|some(?:thing)?|any(?:thing)?"
    r"|one of|an? (?:few|lot of (?:this|these|those)|second|moment|minute|bit)|more"
    r"|less|(?:his|hers) |every (?:word"
    r"|bit|second|minute) of|being (?:\w+ )?(?:\w+ed|woken|kept|told)|having to|waiting)\b)\S"
)
_DISLIKED = _THING.replace("|any(?:thing)?", "")
_ROUTINE = (
    r"(?:get up|wake up|go to bed|go to|run|swim|cycle|ride|walk|work|eat|drink|read|cook|bake"
    r"|play|train|meditate|write|listen|watch|take|have|start|code|use|skip|sleep|pay|buy"
    r"|shop|commute"
    r"|drive|bike|jog|do yoga|do (?:my|the)|practi[sc]e|study|fast|pray|visit|call|volunteer"
    r"|smoke|travel|order|wear|speak|review|commit|squash|test|go running|go swimming"
    r"|go hiking|go climbing)"
)
_QUANTITY = (
    r"(?:birthday|birth ?date|budget|rent|salary|income|mortgage|weight|height|age|deadline"
    r"|shoe size|size|phone(?: number)?|mobile(?: number)?|number|pin ?code|zip ?code"
    r"|post ?code|account number"
    r"|student (?:number|id)|employee (?:number|id)|member(?:ship)? (?:number|id)"
    r"|licen[cs]e plate|number plate|room number|flight(?: number)?|appointment|exam"
    r"|interview|surgery|operation|wedding|anniversary|trip|holiday|vacation|flight|train"
    r"|defen[cs]e|presentation|due date|check-?up|visa|contract|lease|passport|goal|target"
    r"|target weight|blood pressure|max heart rate|dose|pb|personal best|vo2 ?max|move"
    r"|moving date|first day|last day|final exam|mid-?term)"
)
_OWNED = (
    r"(?:(?:all-?time |current |new |old |main |go-to |native |mother |work |daily |default "
    r"|dream )*(?:fav(?:ou?rite)? (?!one\b|part\b|thing to do here)[\w' -]{2,40}?"
    r"|(?:home ?town|address|e-?mail(?: address)?"
    r"|job|occupation|profession|major|degree|hobby|hobbies|blood type|pronouns"
    r"|time ?zone|laptop|computer|car|bike|phone|camera|editor|ide|shell|terminal|os"
    r"|operating system|distro|stack|tech stack|keyboard|setup|language|tongue|school"
    r"|university|college|company|employer|office|dialect|religion|nationality"
    r"|star sign|zodiac sign|nickname|surname|last name|first name|middle name|full name"
    r"|username|user name|github(?: handle)?|handle|team|club|band|instrument|bank|gym"
    r"|browser|search engine|note-?taking app|password manager|database|framework|browser)))"
)
_REMEMBER = (
    r"(?:(?:please|pls|also|and|so|can you|could you|kindly|then"
    r"|just)[, ]+)*(?:(?:do )?remember|don't (?:you )?(?:ever )?forget|do not forget"
    r"|never forget|keep in mind|bear in mind|make a note|note|take note|write down|save"
    r"|store|for (?:future reference|the record|your records))"
    r"(?:\s+(?:this|it|for (?:me|later|next time|future reference)|down))*(?:\s+that\b"
    r"|\s*:\s*|\s*,\s*(?=(?:I|I'm|I've|my|our)\b(?!(?:'m)? (?:always )?(?:here|there"
    r"|proud|rooting)))|\s+(?=(?:I"
    r"|I'm|my|we|our|the|her|his|their)\b))\s*"
)


@cache
def _rules() -> tuple[Rule, ...]:
    # Compiled when the language is first heard: it takes a tenth of a second.
    return (
        *rules(
            "name",
            "identity",
            "name",
            (
                rf"(?:my (?:full |first |last |real )?name(?:'s| is)|{_AM} called|(?:please |just "
                rf"|you can |everyone |people |friends |everybody )*calls? me|I go by"
                rf"|{_AM} known as)\s+(?!(?:not|a|the|if|when|back|on|for|asap|later|at)\b)\w+"
            ),
        ),
        *rules(
            "job",
            "identity",
            "work",
            rf"{_BE}{_A}(?:[\w+#./'&-]+\s+){{0,5}}?{_JOB}{_END}",
            (
                rf"{_BE}(?:the )?(?:CEO|CTO|CFO|COO|head|director|lead|manager|chair|principal"
                rf"|vice president|VP|captain|mayor)\s+(?:of|at|for)\b"
            ),
            (
                rf"{_I}work(?: (?:remotely|part[- ]time|full[- ]time|nights?|mainly|mostly))*\s+(?:as|at"
                rf"|for|in)\s+(?!(?:this|that|it|the same|a (?:bug|problem)|progress|peace)\b)\w+"
            ),
            (
                rf"{_BE}(?:working|employed|self-employed|training|interning)\s+(?:as|at"
                rf"|for)\s+(?!(?:this|that|it|home\b.*today)\b)\w+"
            ),
            (
                rf"{_I}work (?:remotely|from home|night shifts?|nights|shifts|part[- ]time|full[- ]time"
                rf"|weekends)\b(?!.*\btoday\b)"
            ),
            (
                rf"{_BE}(?:retired|self-employed|unemployed|between jobs|on maternity leave"
                rf"|on parental leave|a stay-at-home \w+)\b"
            ),
            (
                rf"(?:I|we)(?:'ve)? {_ADVERBS}(?:run|own|teach|coach|founded)\s+(?:an?|my|the|our"
                rf"|\w+ (?:at|to|in)|(?:year|grade|class) \w+|\w+ graders?|(?:maths?|english|physics"
                rf"|chemistry|biology|history|music|art|german"
                rf"|french|spanish|yoga|piano|guitar|violin|kids|children)\b)(?!\s+(?:test|tests|script"
                rf"|command|query|program|code|build|fever|risk|error|loop|bath|errand|mac))"
            ),
            (
                r"I(?:'ve)? (?:just |recently |finally )*(?:started|got|began|landed|accepted"
                r"|have)\s+(?:working|a new job|a job|my new job|an? (?:internship|apprenticeship"
                r"|position|offer))\s*(?:at|as|for|with|in|from)\b"
            ),
        ),
        *rules(
            "",
            "fact",
            "work",
            rf"{_WE_ARE} (?:a|an) (?:\w+ )?(?:team|company|family|startup|household|group|band|crew) of\s+\S",
            (
                rf"(?:{_HAVE} {_ADVERBS}been|I've been)\s+(?:playing|working|living|coding|programming"
                rf"|teaching"
                r"|studying|learning|running|writing|driving|riding|sailing|climbing|cooking|using|married"
                r"|single|vegan|vegetarian|sober)\s+(?!for\b|since\b|on (?:this|that|it)\b)(?:\w+ ){1,6}?"
                rf"(?:for (?:over |about |almost |nearly |more than )?(?:{_COUNT}|many|a few|\w+teen|twenty"
                r"|thirty|forty) (?:years|months|decades)|since (?:(?:19|20)\d\d|I was))"
            ),
        ),
        *rules(
            "study",
            "identity",
            "study",
            (
                rf"(?:{_BE}(?:studying|majoring in|doing (?:a|my) (?:ph\.?d|master'?s|degree|bachelor'?s"
                rf"|msc|bsc|a-levels)|in my (?:first|second|third|fourth|final|last|sophomore|junior"
                rf"|senior) year|in (?:year|grade) \w+|in (?:high|secondary|primary|middle|grad(?:uate)?"
                rf"|med(?:ical)?|law) school)|{_I}(?:study|major in|go to (?:\w+ )?(?:university|college"
                rf"|school)))\b(?!\s+(?:this|that|it|for (?:my|the|an?) (?:exam|test)))"
            ),
        ),
        *rules(
            "home",
            "identity",
            "home",
            (
                rf"{_I}rent (?:an? |the |my |our )?(?:\w+ )?(?:room|flat|apartment|house|studio|place"
                rf"|cottage|bedsit)\b"
            ),
            (
                rf"(?:{_I}(?:live|reside)|(?:{_BE}|{_WE_ARE} {_ADVERBS})(?:living|based"
                rf"|located))\s+(?!with\b.*\bguilt|for\b|by\b (?:the rule|that)|off\b|to\b|through\b"
                rf"|under the impression)(?:\w+ )*?(?:in|at|near|on|outside|with|by|close to|just)\s+\S"
            ),
            (
                rf"(?:{_BE}(?:originally )?from|{_I}come from|{_I}grew up in"
                rf"|I was born (?:and raised )?in)\s+(?-i:[A-Z]|(?:the|a) |northern|southern|eastern"
                rf"|western|central|near |\d)"
            ),
            (
                rf"(?:{_I}|{_HAVE}\s+{_ADVERBS})(?:moved|relocated|am moving)\s+(?:back |over "
                rf"|house )?(?:from (?-i:[A-Z])[\w ]+ )?(?:to|into)\s+(?!(?:the next|another|using"
                rf"|a (?:different|new) (?:approach|library|framework)|typescript|rust|postgres)\b)\S"
            ),
        ),
        *rules(
            "age",
            "identity",
            "age",
            (
                rf"(?:{_BE}(?:turning )?\d{{1,2}}(?: ?-?years?[- ]old| y/?o|,? (?:and|male|female|m|f))?$"
                rf"|{_BE}\d{{1,2}} years?[- ]old|{_BE}in my (?:early |mid[- ]?|late )?(?:teens|twenties"
                rf"|thirties|forties|fifties|sixties|seventies|eighties|nineties|\d0s)|I (?:just "
                rf"|recently )?turned \d\d|I was born (?:in|on) (?:19|20|{_MONTH}|the|\d))"
            ),
        ),
        *rules(
            "pronouns",
            "identity",
            "name",
            r"my (?:preferred )?pronouns are\s+\w+|I use (?:they|she|he)/\w+",
        ),
        *rules(
            "name",
            "identity",
            "name",
            (
                rf"{_AM}\s+(?!(?-i:OK|Okay|Sorry|Done|Not|Fine|Sure|Back|New|Just|Still|So|Very|Really"
                rf"|Python|Java|In|At|On|Using|Trying|Looking|Working|Stuck|Also|From"
                rf"|Mr\b))(?-i:[A-Z][a-z]+(?:[- ][A-Z][a-z]+){{0,2}})(?:$|\s*[,.!]|\s+(?:and|from|here"
                rf"|by the way|btw)\b)"
            ),
        ),
        *rules(
            "languages",
            "identity",
            "languages",
            rf"{_I}speak\s+(?:\w+ )*?(?-i:[A-Z])\w+|{_BE}(?:fluent in|bilingual"
            rf"|a native (?:speaker of )?)\s*\S",
        ),
        *rules(
            "health",
            "identity",
            "health",
            (
                rf"(?:{_BE}|{_HAVE} always been |I have always been )(?!not\b)(?:\w+ )?(?:allergic"
                rf"|intolerant)\s+to\s+(?!(?:this|that|mondays?|bullshit|meetings|work|effort|people"
                rf"|stupidity|bad code|you)\b)\S"
            ),
            rf"{_BE}(?:an? )?(?:strict |severely |mildly |mostly )?{_CONDITION}\b",
            (
                rf"(?:{_I}|{_HAVE}\s+{_ADVERBS})(?:have |got |suffer from |was diagnosed with "
                rf"|been diagnosed with |get )?(?:an? |severe |chronic |mild |type [12] |really |bad "
                rf"|terrible )*{_ILLNESS}"
            ),
        ),
        *rules(
            "health",
            "fact",
            "health",
            (
                rf"{_HAVE} had\s+{_COUNT}\s+(?:[\w-]+ ){{0,2}}?(?:surger(?:y|ies)|operations?|strokes?"
                r"|heart attacks?|bypass|transplants?|concussions?|miscarriages?|c-sections?|hernias?)\b"
            ),
            (
                r"my (?:left |right |lower |upper )?(?:knees?|back|hips?|shoulders?|heart|hearing|eyesight"
                r"|sight|eyes|ankles?|wrists?|neck|joints|lungs) (?:is|are) (?:bad|weak|poor|damaged|ruined"
                r"|artificial|not good|not great)\b"
            ),
            (
                rf"(?:{_I}|{_BE})(?:take|taking|on)\s+(?:\d+ ?m?g (?:of )?\w+|blood thinners|insulin"
                rf"|metformin|statins|beta[- ]blockers|antidepressants|birth control|warfarin|the pill)\b"
            ),
        ),
        *rules(
            "health",
            "identity",
            "health",
            (
                rf"{_I}(?:can't|cannot|can not|am not allowed to|mustn't) (?:eat|drink|have|tolerate"
                rf"|digest)\s+{_THING}"
            ),
        ),
        *rules(
            "family",
            "fact",
            "family",
            rf"(?:{_HAVE}|{_I}have"
            rf"|there are \w+ of us)\s+{_ADVERBS}{_COUNT}\s+(?:[\w'-]+ ){{0,3}}?{_CHILD}\b",
        ),
        *rules(
            "pets",
            "fact",
            "pets",
            rf"(?:{_HAVE}|{_I}(?:have|adopted|own|keep"
            rf"|got))\s+{_ADVERBS}{_COUNT}\s+(?:[\w'-]+ ){{0,3}}?{_PET}\b",
        ),
        *rules(
            "family",
            "fact",
            "family",
            (
                rf"(?:{_BE}|{_WE_ARE} )(?:happily |newly |recently )?(?:married|engaged|divorced|single"
                rf"|widowed|expecting (?:a|our|twins)|getting (?:married|divorced)|an only child|(?:an? "
                rf"|the )?(?:older|younger|eldest|youngest|middle|oldest) (?:of|child|sister|brother))\b"
            ),
            (
                rf"(?:my|our) {_PET},? {_NAME},? (?:is|was born|loves|likes|hates)\s+(?!(?:so|being|getting"
                rf"|sick"
                r"|acting|a bit|very|really)\b)\S"
            ),
            (
                rf"(?:my|our)\s+(?:[a-z]+(?:est|er)? |\d+[- ]year[- ]old |twin |late "
                rf"|ex[- ])*{_RELATIVE}(?:'s name|s' names)\s+(?:is|are)\s+\w+|(?:my"
                rf"|our)\s+(?:\w+ )?{_RELATIVE}(?:'s| is| are) (?:called|named)\s+\w+"
            ),
            (
                rf"(?:my|our)\s+(?:[a-z]+(?:est|er) |little |big |\d+[- ]year[- ]old |{_COUNT} "
                rf"|twin )*{_RELATIVE}(?:,? {_NAME},?)?(?:'s|'re| is| are| just turned"
                rf"| turned| turns| will be| is turning| is going to be)\s+(?:almost |only |nearly |now "
                rf"|also |just |already )*(?:\d+|(?:an? "
                rf"|the )(?:\w+ ){{0,3}}?{_JOB}|(?:severely )?allergic to|{_CONDITION}"
                rf"|in (?:\w+ )?(?:grade|year|school|kindergarten|college|university)|from"
                rf"|(?-i:[A-Z]\w+)$|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b)"
            ),
            (
                rf"(?:my|our)\s+(?:[a-z]+(?:est|er) |little |big |\d+[- ]year[- ]old "
                rf"|twin )*{_RELATIVE}(?:,? {_NAME},?)?\s+{_ADVERBS}(?:works? (?:at|as|in|for)"
                rf"|lives? (?:in|at|near|with)|studies|study|plays? the|plays? (?:football|tennis|chess"
                rf"|basketball|hockey)|loves?|likes?|hates?|prefers?|(?:has|have) (?:{_ILLNESS})|goes to"
                rf"|was born (?:in|on)|speaks?|(?:can't|doesn't) eat|doesn't like|teaches)\s*(?!(?:it"
                rf"|this|that|me|to say|saying|when)\b)"
            ),
            (
                rf"(?:my|our)\s+(?:[a-z]+ )?{_RELATIVE}(?:'s)?\s+(?:birthday|anniversary|surgery|wedding"
                rf"|phone number|number)\s+is\s+(?:on |in |at )?\S"
            ),
        ),
        *rules(
            "",
            "decision",
            "decision",
            (
                rf"(?:{_HAVE}|I|we)\s+{_ADVERBS}(?:have )?(?:decided|chosen|opted|agreed|settled"
                rf"|resolved)\s+(?:to|on|against|for|that|not to|as a team)\s*{_THING}"
            ),
            (
                rf"(?:(?:ok|okay|alright|right|fine|great|then|so)[, ]+)*let's (?:go with|use|stick with"
                rf"|stick to|settle on|choose|pick|switch to)\s+{_THING}(?:.*?)(?:\s+then)?$"
            ),
        ),
        *rules(
            "",
            "decision",
            "decision",
            (
                rf"(?:I'?ll|we'?ll|I will|we will|{_AM} going to|{_WE_ARE} going to|{_AM}"
                rf"|{_WE_ARE})\s+{_ADVERBS}(?:go(?:ing)? with|stick(?:ing)? (?:with|to)|switch(?:ing)? to"
                rf"|migrat(?:e|ing) to|us(?:e|ing)|adopt(?:ing)?|drop(?:ping)?|mov(?:e|ing) (?:to"
                rf"|away from))\s+(?!{_THING}.*\b(?:as an example|for this example|to test|today"
                rf"|right now|here)\b)(?!port|localhost|version|line|column|row|v?\d){_THING}(?=.{{2,80}}$)"
            ),
            confidence=0.8,
        ),
        *rules(
            "",
            "decision",
            "decision",
            (
                rf"(?:I|we)(?:'ve| have)?\s+{_ADVERBS}(?:switched|migrated"
                rf"|converted)\s+(?:from .{{2,30}} )?to\s+{_THING}"
            ),
        ),
        *rules(
            "",
            "preference",
            "style",
            (
                r"(?:from now on|in (?:the )?future|going forward|in general)[, ]+(?:please |always "
                r"|I want you to |I'd like you to |you should )*(?:answer|reply|respond|write|use|call"
                r"|keep|be|give|explain|speak|talk|don't|do not|never|stop|format|include|avoid"
                r"|skip)\b.{3,}"
            ),
            (
                r"(?:please )?(?:always|never)\s+(?:answer|reply|respond|write|use|call|keep|give"
                r"|explain|speak|talk|format|include|add|show|put|start|end|address)\b(?!.*\b(?:this"
                r"|that|above|here)\b).{3,}"
            ),
            (
                r"(?:please )?(?:(?:don't|do not|never|stop|avoid|no need to) (?:use|using|add|adding)|skip"
                r"|no more"
                r"|avoid)\s+(?:any |the |all |those )*(?:emojis?|jargon|small talk|disclaimers?|flattery"
                r"|apologies"
                r"|exclamation marks?|buzzwords|em dashes|bullet points)\b.*"
            ),
        ),
        *rules(
            "",
            "fact",
            "plan",
            (
                rf"(?:{_BE}|{_WE_ARE} {_ADVERBS})(?:going to |planning (?:to|a|on) |about to )?(?:flying"
                rf"|going|moving|travel(?:l)?ing|starting|getting|taking|seeing|meeting|running|leaving"
                rf"|visiting|hosting|having|driving|attending|speaking|giving|presenting|graduating"
                rf"|sitting|playing|returning|off|turning|due|fly|go|move|travel|start|visit|leave|run"
                rf"|retire|retiring|be|see|meet|marry|marrying|launching|launch|releasing|release"
                rf"|\w+ing)\b(?=.*{_DATE})(?!.*\b(?:today|tonight|now|talk to|get back|in a (?:bit"
                rf"|moment|minute)|be back)\b)"
            ),
            (
                rf"(?:{_HAVE}|{_I}have|I've got|{_I}(?:fly|leave|move|start|travel|return|graduate"
                rf"|retire|get paid)|I'll be|we'll be)\s+(?!(?:been|tried|had|a (?:question|problem|bug"
                rf"|feeling))\b)(?=.*{_DATE}).{{3,}}"
            ),
        ),
        *rules(
            "quantity",
            "fact",
            "plan",
            (
                rf"(?:my|our|the)\s+(?:[\w'-]+ ){{0,3}}?{_QUANTITY}(?: (?:for|of|to|with"
                rf"|at) [\w' -]{{2,40}}?)?(?:'s| is| are| will be| was moved to| has moved to"
                rf"| has been moved to| has changed to| starts| ends| begins| runs out| runs until"
                rf"| lasts until"
                rf"| expires)(?: now)?(?: about| around| approximately| roughly| on| in| at"
                rf"| due)*\s+(?!(?:at )?\d+ ?%)(?=.*(?:{_NUMBER}|{_DATE}))"
            ),
            (
                rf"(?:my|our)\s+[\w' -]{{2,30}}? (?:is due|is on|is at|is scheduled for|takes place"
                rf"|starts|ends|expires|is in)\s+(?=.*{_DATE})"
            ),
            (
                r"(?:my|our)\s+[\w' -]{2,30}? (?:is|are|meets?|happens?|changes?|starts?|runs?|takes place"
                r"|closes?|opens?|switches|rotates?)\s+(?:\w+ )?(?:every|each|on)\s+(?:other |second "
                r"|first )?"
                r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|weekday|month|week)s?\b"
            ),
        ),
        *rules(
            "owned",
            "fact",
            "about",
            (
                rf"(?:my|our)\s+{_OWNED}(?: is| are| has changed to)(?: now| always"
                rf"| still)*\s+(?!(?:not|so|very|really|too|broken|slow|down|dead|wrong|crashing|being"
                rf"|getting|making|old|full|gone|lost|stuck|frozen|dying|acting|doing|what|how|that|like"
                rf"|here|at \d+|fine|ok|okay|running slow|giving|good|bad|great|awesome|amazing|nice"
                rf"|the (?:best|worst)|going|doing|trash|garbage|junk|an? (?:piece|pain|mess|joke|disaster"
                rf"|nightmare"
                rf"|wreck|bit|total|complete|real|huge)|such|kind of|toast|useless|stupid)\b)\S"
            ),
        ),
        *rules(
            "",
            "fact",
            "about",
            (
                r"(?:my|our) (?:[\w-]+ )?(?!(?:name|code|question|problem|issue|error|file|function|class"
                r"|script"
                r"|project|task|homework|answer|example|input|output|data|model|string|page|test|guess|point"
                r"|plan)\b)[\w-]+ (?:is|are) an? (?-i:[A-Z])[\w-]*(?!.*\b(?:like|as)\b)"
            ),
            (
                r"(?:my|our) (?:\w+ )?(?:back-?end|front-?end|api|app|code ?base|site|website|blog|server"
                r"|pipeline|infra(?:structure)?|services?|database|scripts|docs|product) (?:is|are|runs?)"
                r"(?: all| mostly| mainly| entirely)? (?:written in|built (?:in|with|on)|based on|in|on"
                r"|hosted (?:on|at)|deployed (?:on|to))\s+(?!fire\b|hold\b|track\b|trouble\b|charge\b)\S"
            ),
        ),
        *rules(
            "measure",
            "fact",
            "about",
            (
                r"(?:I|we) charge (?:about |around )?[$€£]?\d+\S* (?:\w+ )?(?:an?|per) (?:hour|day|month"
                r"|word|page"
                r"|session|lesson|visit|piece)\b"
            ),
            (
                rf"(?:{_I}(?:weigh|wear|earn|make|measure|pay)|{_AM})\s+(?:about |around |roughly |size "
                rf"|a size |an? |only )*(?:\d[\d.,]*|size \w+)\s*(?:kg|kilos?|pounds|lbs?|cm|m\b|metres?"
                rf"|meters?|feet|ft|k\b|euros?|dollars?|\$|€|£|a (?:month|year)|shoes?|tall|$)"
            ),
            r"I (?:wear|take) (?:a )?(?:size|an? (?:xs|s|m|l|xl|xxl)\b).*",
        ),
        *rules(
            "contact",
            "identity",
            "contact",
            (
                r"(?:you can |please )?(?:reach|contact|call|text|e-?mail|write) me (?:at|on"
                r"|under)\s+(?:\S+@\S+|\+?\d).*"
            ),
        ),
        *rules(
            "",
            "preference",
            "likes",
            (
                rf"{_I}(?:like|love|enjoy|adore|prefer|hate|dislike|detest|loathe|despise|favou?r"
                rf"|fancy|live for|swear by|avoid)\s+{_THING}"
            ),
            (
                rf"{_I}(?:don't|do not|dont|never)\s+{_ADVERBS}(?:like|love|enjoy|believe in|care for|eat"
                rf"|drink"
                rf"|smoke|use|watch|trust|wear|drive|own|play|listen to|celebrate|read|touch|buy"
                rf"|cook with|work (?:on|at|after))\s+{_DISLIKED}"
            ),
            rf"{_I}(?:don't|do not|dont) (?:smoke|drink|drive|swim|cook|dance|gamble)$",
            (
                rf"{_I}(?:can't|cannot|can not|couldn't|cant)\s+(?:stand|bear|resist|do without"
                rf"|live without|go without|start (?:the|my) day without)\s+{_THING}"
            ),
            (
                rf"{_BE}(?:not )?{_ADVERBS}(?:an? )?(?:really |very |super |big |huge |massive |great "
                rf"|total |not |particularly )*(?:into|fond of|keen on|fan of|crazy about|obsessed with"
                rf"|addicted to|passionate about|interested in|partial to|afraid of|scared of"
                rf"|terrified of|good at|bad at)\s+{_THING}"
            ),
            (
                rf"{_BE}(?:more of )?(?:an? )(?:\w+ )?(?:morning person|night owl|early bird|cat person"
                rf"|dog person|tea (?:person|drinker)|coffee (?:person|drinker|addict)|introvert"
                rf"|extrovert|minimalist|perfectionist|foodie|gamer|bookworm|football fan|runner|climber"
                rf"|(?!(?:huge|big|great|massive|real|true|total) )\w+ (?:fan|person|lover"
                rf"|enthusiast|nerd|geek|addict))\b"
            ),
            r"I(?:'d| would) (?:much |always |far )?rather\s+(?:\w+ )?.{2,40} than\s+\S",
            r"[\w' -]{2,40} (?:is|are) my (?:all-time |absolute )?favou?rite\b(?!.*\bof these\b)",
        ),
        *rules(
            "",
            "preference",
            "habits",
            (
                r"(?:I|we)\s+(?:used? to )?(?:quit|gave up|stopped|have quit|have given up"
                r"|no longer)\s+(?!(?:it|this|that|the (?:app|program|server|process|script"
                r"|container))\b)\w+(?:ing)?\b(?<!used to quit)"
            ),
            rf"I've\s+{_ADVERBS}(?:quit|given up|stopped)\s+\w+(?:ing)?\b",
            (
                rf"(?:{_I}|(?:every|each|most"
                rf"|on) [\w ]{{2,20}}?,? ?I {_ADVERBS})(?<!\w){_ROUTINE}\b(?! (?:a bit|a little"
                rf"|some)\b)(?=.*(?:\b(?:every|each|daily"
                rf"|(?:a|per) (?:day|week|month|year)|twice|once|on (?:mon|tues|wednes|thurs|fri|satur"
                rf"|sun)days?|times a|in the (?:morning"
                rf"|evening)s?|before|after|at (?:night|\d)|most|weekends?|until|at (?:about "
                rf"|around )?\d[\d:.]*)\b))(?!.*\b(?:today|yesterday|last (?:night|week|month|year)"
                rf"|this (?:morning|week)|error|fails?|crash\w*)\b)"
            ),
            (
                rf"(?:I|we)\s+(?:usually|always|normally|typically|never|generally|mostly|tend to|try to"
                rf"|often|regularly|rarely|hardly ever)\s+{_ROUTINE}\b(?!.*\b(?:error|fails?|crash\w*"
                rf"|exception|undefined|null|this|that)\b)(?! (?:a bit|a little|a lot|some)\b)"
            ),
            (
                r"(?:I|we)\s+(?:always|usually|normally|only ever)\s+"
                r"(?!(?:get|forget|end|feel|wonder|think|know|understand|remember|see|find|seem|manage|have"
                r"|want"
                r"|need|hope|wish|say|said|thought|knew|felt|got|was|were|had|went|saw|took|made|came|did|am"
                r"|lose|fail|mess|struggle|try|believe|assume|expect|hear|heard|fall|be|been|used|ask|ha[st]e"
                r"|\w+ed|this|that|there)\b)[a-z]{3,}(?<!ed) (?!first|again|anyway|wrong|late|here)(?:with "
                r"|in |at |on |by |for )?(?!it\b|them\b)\w{2,}"
                r"(?!.*\b(?:error|fails?|crash\w*|exception|undefined|null|this|that|hangs?|freezes?|breaks?"
                r"|stuck|fine)\b)"
            ),
            (
                r"(?:I|we)\s+(?:read|watch|play|listen to|drink|eat|wear)\s+(?:mostly|mainly|only"
                r"|almost only)"
                rf"\s+{_THING}"
            ),
            (
                r"(?:I|we) (?!(?:get|see|feel|think|was|were|had|did|went|ate|drank|took|saw|made|ran|came"
                r"|said|got"
                r"|read|wish|want|could|would|should|might|can't|cannot|used|hear|wonder|worry"
                r"|\w+ed)\b)[a-z]{3,} "
                r"(?!(?:it|this|that|them|you|him|her)\b).{0,60}?\b(?:every (?:single )?(?:day|morning"
                r"|evening|night"
                r"|week|weekend|month|summer|winter|year|(?:mon|tues|wednes|thurs|fri|satur|sun)day)s?"
                r"|on (?:mon|tues|wednes|thurs|fri|satur|sun)days)$"
            ),
            (
                r"every (?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|morning|evening|night|day|weekend"
                r"|summer|winter|week|month|year)\w*(?: \w+)?,? (?:I|we) \w+"
            ),
        ),
        *rules(
            "",
            "preference",
            "tools",
            (
                rf"{_I}(?:mostly |mainly )?(?:use|deploy|code|program|host|develop|build|ship"
                rf"|write(?: (?:all|most|almost all)?(?: of)? ?(?:my|our|the) (?:\w+ ){{0,2}}(?:code"
                rf"|notes|scripts|tests|essays|papers|services|thesis|apps))?|manage|track|edit|type"
                rf"|take (?:my )?notes|keep (?:my )?notes)\s+(?:(?:everything|stuff|apps|things|it all"
                rf"|code|notes|most things|our \w+|my \w+)\s+)?(?:(?:in|on|with|to|using"
                rf"|for)\s+)?(?!(?:in|on|with|to|using|for)\b)(?!(?:a (?:for|while|loop|function|regex"
                rf"|script|variable)|the (?:following|command)|my (?:code|own)|code|script"
                rf"|emails?)\b)(?<!write )(?<!build )(?<!ship )(?<!develop )(?<!manage )(?<!track )(?<!edit"
                rf" )(?<!type )(?<!host ){_THING}(?!.*\b(?:error|fails?|crash\w*|exception|but it|doesn't"
                rf"|does not|undefined)\b)"
            ),
            (
                rf"{_I}(?:run|drive|ride|own|play|fly|sail|shoot with|shoot on)\s+(?:an? |the "
                rf"|my )?(?-i:[A-Z][\w-]+)(?!.*\b(?:error|fails?|crash\w*|exception|command|twice|again"
                rf"|and (?:it|get|got))\b)"
            ),
            (
                r"(?:I|we) (?:run|host|deploy|keep|store|do) (?:everything|all of it|all our \w+|all my \w+"
                r"|our \w+"
                rf"|my \w+) (?:on|in|with|to|through)\s+{_THING}"
            ),
            rf"{_I}(?:drive|ride|own|play)\s+(?:an? |the |in an? )(?!(?:role|part|joke|bit|little|lot"
            rf"|game with you|few)\b)\w+",
        ),
        *rules(
            "",
            "preference",
            "habits",
            (
                rf"(?:{_BE}|I've been )(?:learning|training for|preparing for|practi[sc]ing"
                rf"|teaching myself|saving (?:up )?for|writing a (?:novel|book|thesis"
                rf"|dissertation))\s*(?!(?:this|that|it|here)\b)"
            ),
        ),
    )


LANGUAGE = Language(
    name="en",
    asks=sign(
        r"^(?:(?:and|so|but|ok(?:ay)?|hey|hi|btw|by the way|well|also|then|wait|no|yes|please"
        r"|quick question|question)[,:]? )*(?:(?:what|who|whose|whom|where|when|why|how"
        r"|which)(?:'s|'re|'d)?\b(?! a\b)"
        r"|(?:do|does|did|is|are|am|was|were|can|could|would|should|will|shall|may|might|have"
        r"|has|had|isn't|aren't|don't|doesn't|didn't|won't|can't|couldn't|wouldn't"
        r"|shouldn't)\s+(?:i|you|we|my|it|there|they|he|she|the|this|that|your|our|anyone"
        r"|somebody|someone)\b"
        r"|any (?:ideas?|tips?|suggestions?|recommendations?|chance|advice)|(?:can|could|would"
        r"|will) (?:you|u)|tell me|guess (?:what|who|where)|wonder(?:ing)? (?:if|whether)"
        r"|i (?:wonder|was wondering|asked|want to know|need to know|don't know|forgot"
        r"|'m not sure)\b)"
    ),
    opens_question=sign(
        r"^(?:and |so |but |or )?(?:is|are|am|do|does|did|can|could|would|should|will|shall|may"
        r"|have|has|isn't|aren't|don't|doesn't|what|who|where|when|why|how|which|any)\b"
    ),
    tag=sign(
        r"^(?:right|correct|no|yes|yeah|huh|ok(?:ay)?|innit|true|eh|or (?:not|what|am|do|is"
        r"|are).*|(?:am|do|don't|doesn't|is|isn't|are|aren't|did|didn't|have|haven't|can|can't"
        r"|would|wouldn't|won't) (?:i|it|we|they|you|he|she)(?: not)?|you know|remember"
        r"|or something|or was it.*|get it|see)$"
    ),
    supposes=sign(
        r"^(?:(?:and|so|but|ok(?:ay)?|hey|well|then|no|oh)[, ]+)*(?:even )?(?:if|unless|assuming"
        r"|in case|had i|were i|should i|as if|as though|what if|only if|if only)\b|\b(?:i wish"
        r"|i'd wish|what if|as if i|as though i|if i were|if i was|theoretically|in theory"
        r"|hopefully)\b"
    ),
    starts_condition=sign(
        r"^(?:and |but |or |even )?(?:if|unless|assuming|as if|as though|provided)\b|^(?:i"
        r"|we)(?:'d| would| could| should| might| may)\b(?! (?:much |always |far )?rather\b)"
    ),
    jokes=sign(
        r"(?:\b(?:jk|j/k|just kidding|kidding|joking|just joking|lol|lmao|rofl|hahaha*|haha|hehe"
        r"|yeah right|oh sure|sarcasm|not!|said no one ever|ironically|as a joke|in another life"
        r"|in my past life)\b|\bjust (?:love|adore)\s+(?:when|how|it when|\w+ing)\b|^(?:wow"
        r"|great|fantastic|oh joy|oh great|lovely|brilliant),|(?:^|\s)/s\b"
        r"|[\U0001F602\U0001F923\U0001F61C\U0001F61D\U0001F92A\U0001F644\U0001F643\U0001F609\U0001F608\U0001F61B]"
        r"|[;:]-?[pP)](?:\s|$)(?<!:\)\s)(?<!:\)))"
    ),
    reports=sign(
        r"\b(?!(?:i|i've|we)\b)[\w']+ (?:always |just |once |often |recently |never |keeps? "
        r"|kept )*(?:says?|said|saying|tells?|told|thinks?|thought|claims?|claimed|wrote|texted"
        r"|asked|asks|replied|goes|believes?|insists?|swears?|reckons?|shouted|joked|jokes"
        r"|complains?|complained|quoted?|posted|tweeted)\b(?! to (?:school|work|bed|university"
        r"|college|kindergarten|the))(?<!goes to)"
        r"|\baccording to\b|\bas the (?:song|saying|poem|joke|old) \w+|\b(?:rumou?r"
        r"|legend) has it|\bi (?:never|didn't) (?:said|say|told|tell|claimed)\b|\bquote\b"
        r"|\bsays\b|\blyrics?\b"
    ),
    fiction=sign(
        r"\bin (?:my|the|this|a) (?:\w+ )?(?:novel|story|game|dream|book|script|play|scenario"
        r"|film|movie|campaign|screenplay|fanfic|scene|sketch|example)\b|\b(?:my|the|main"
        r"|this) (?:\w+ )?(?:character|protagonist|narrator|avatar|hero|heroine|villain|npc|oc"
        r"|persona)\b|\bi (?:dreamt|dreamed)\b|\b(?:for example|e\.g\.|for instance|such as \"i)\b"
    ),
    opens_play=sign(
        r"\b(?:role[- ]?play(?:ing)?|pretend (?:that )?(?:i|we)\b|in character\b|let's (?:pretend|play))"
    ),
    opens_scene=sign(
        r"\b(?:pretend|imagine|role[- ]?play(?:ing)?|suppose|supposing|hypothetically|let's say"
        r"|let us say|let's pretend|let's assume|assume|say i'm|act (?:as|like)"
        r"|you are (?:now )?(?:an?|the) |you're (?:now )?(?:an?|the) (?:\w+ )?(?:interviewer"
        r"|customer|assistant|pirate|teacher|doctor|expert|recruiter)|picture this"
        r"|thought experiment|in character|what would you say if|user persona|persona:"
        r"|sample (?:text|bio)|lorem)\b"
    ),
    text_to_work_on=sign(
        r"\b(?:make (?:this|that|it) (?:(?:sound|read|look|a bit|a little) )*(?:more|less|short|long|polite"
        r"|formal"
        r"|friendl|better|nicer|clearer|simpler)\w*|translate|proofread|proof-read|rewrite|rephrase"
        r"|paraphrase|summari[sz]e"
        r"|correct (?:this|my|the|these)|fix (?:the grammar|my grammar|my english|this|these"
        r"|the following)|check (?:my|the|this) (?:grammar|spelling|english|text|email|letter"
        r"|essay)|edit (?:this|my|the following)|improve (?:this|my|the)|polish (?:this|my)"
        r"|shorten (?:this|my)|continue (?:this|the story)|complete (?:this|the) (?:sentence"
        r"|story|text)|analy[sz]e (?:this|the)|classify|parse (?:this|the)|write (?:me )?(?:an?"
        r"|the|my|some) (?:\w+ ){0,3}(?:poem|email|e-mail|letter|story|song|essay|bio|speech"
        r"|post|tweet|text|message|review|dialogue|scene|script|toast|haiku|joke|monologue|diary"
        r"|caption|ad|article|blog)"
        r"|how (?:do|would|can|should) (?:i|you) say|what does .{1,60} mean|say (?:this|it) in"
        r"|\b(?:this|the following|my) (?:paragraph|text|sentence|email|letter|essay|abstract"
        r"|bio|draft|message)\b[^.!?]*:|in (?:german|french|spanish|chinese|english|japanese"
        r"|italian):)"
    ),
    back_to_earnest=sign(
        r"^\W*(?:anyway|in reality|seriously|in real life|back to (?:reality|me)|for real"
        r"|ok(?:ay)?,? (?:end|stop|enough|out of)|end of|(?:ok(?:ay)?,? )?stop\b"
        r"|out of character|jokes aside|joking aside|on a serious note|stop role)\b"
    ),
    takes_back=sign(
        r"^\W*(?:(?:no|oh|wait|sorry|ah|hmm)[, ]+)*(?:just kidding|kidding|jk\b|j/k|just joking"
        r"|i'm joking|i'm kidding|only joking|not really|scratch that|strike that|never ?mind"
        r"|forget (?:that|it|what i (?:just )?said)|ignore that|that's not true|that was a joke"
        r"|that's a lie|i made that up|i lied|well,? (?:not really|no)|no wait|wait,? no"
        r"|sorry,? i mean|i mean|correction)\b"
    ),
    unsays=sign(
        r"^\W*(?:(?:no|oh|wait|sorry|ah|hmm|haha+|lol|ok|okay|actually)\W+)*(?:(?:i'?m |i am "
        r"|i was )?(?:just "
        r"|only )?(?:kidding|joking)|jk|j/k|that was (?:just |only )?a (?:joke|lie)|i (?:just )?made (?:that"
        r"|it) up"
        r"|i lied|that's not true|scratch that|strike that)(?=\W*$|\s*[.,!;:])"
    ),
    corrects=sign(
        r"\b(?:scratch that|strike that|no wait|wait no|i mean|i meant|correction|sorry)\b|^(?:actually|no)\b"
    ),
    hedges=sign(
        r"\b(?:maybe|perhaps|might|probably|possibly|i guess|i suppose|i think i|not sure|unsure"
        r"|or something|thinking (?:of|about)|considering|tempted|could|supposedly|almost"
        r"|nearly (?!\d)|apparently|i'd like|i would|undecided|not yet|hoping|toying|(?:practically"
        r"|basically|literally|virtually) liv(?:e|ing)|someday"
        r"|one day|should)\b|\bor so\b.*\?"
    ),
    past=sign(
        r"\b(?:used to|back then|back when|when i was|in the past|formerly|years ago|as a (?:kid"
        r"|child|teenager|student)|in my (?:youth|childhood)|once upon|at the time|previously"
        r"|before that|last (?:year|month|week)|ages ago|growing up|in those days|in college i"
        r"|until recently)\b"
    ),
    present=sign(
        r"\b(?:now|nowadays|these days|currently|today|since then|anymore|any more|still"
        r"|no longer|stopped|quit|grew up in|born|switched|moved)\b"
    ),
    fillers=sign(
        r"(?:(?:well|so|oh|ok(?:ay)?|hey|hi(?: there)?|hello(?: there)?|good (?:morning|evening"
        r"|afternoon)|yeah|yes|yep|yup|no|nope|nah|btw|by the way|also|and|but|anyway|anyways"
        r"|actually|honestly|to be (?:honest|fair|clear)|tbh|fyi|ps|p\.s|for context"
        r"|for background|some (?:context|background)|for the record|just so you know"
        r"|so you know|you know|you see|i mean|i meant|in fact|plus|because|since|now|these days"
        r"|nowadays|currently|right now|as i said|like i said|as you know"
        r"|personally|as for me|for me|me|look|listen|sorry|thanks(?: a lot)?|thank you|please"
        r"|then|besides|first(?:ly)?|second(?:ly)?|finally|lately|recently|no wait|wait"
        r"|scratch that|strike that|correction|one more thing|another thing|ah|um+|uh+|hmm+|haha"
        r"|guess what|good news|bad news|seriously|on a serious note|joking aside|a bit about me"
        r"|about me|quick (?:intro|background)|fun fact|long story short|the thing is|thing is"
        r"|the truth is|truth is|i should (?:mention|add|say)(?: that)?|i (?:want|need"
        r"|have) to (?:mention|add|say)(?: that)?|i think(?: that)?|i must (?:say"
        r"|admit)(?: that)?|i (?:told you|said)(?: that)?|i feel like|it's just that"
        r"|it turns out(?: that)?|turns out|note that|fwiw|imo|imho|in my (?:case|opinion)"
        r"|let me introduce myself|nice to meet you|since then|after all|all in all|although"
        r"|though|while|which is why|that's why|hence|therefore|as of (?:now|today|this \w+)"
        r"|starting (?:today|now|tomorrow)|when it comes to \w+(?: \w+)?|in (?:19|20)\d\d|do"
        r"|btw)\b[,:!.…-]*+\s*+)++"
    ),
    endings=sign(
        r"(?:[,\s]+(?:btw|by the way|though|tho|too|as well|you know|just so you know|just fyi"
        r"|fyi|so|and|but|then|please|of course|so on|etc|and so on|thanks|thank you"
        r"|actually|anyway|if that matters"
        r"|if that helps|lol|haha|for what it's worth|i guess|right now|at the moment|after all"
        r"|here|to be honest|tbh|honestly|:\)|:-\)|:D|\(:))+[\s.!,;:-]*$|[\s.!,;:-]+$"
    ),
    subject=sign(r"^(?P<who>I|we)\b"),
    bare=sign(
        r"^(?:and |but |then |currently |now )*(?=(?:live|work|love|like|hate|prefer|use|have"
        r"|study|speak|drive|play|don't|can't|am|enjoy|run|teach|code|own|dislike"
        r"|(?:never|always|usually) (?!around|about|at|by|after|before|in|on|with|for|from|not|just|the|a"
        r"|an|very|too|so|\d)[a-z]+)\b)"
    ),
    remembers=sign(rf"^{_REMEMBER}"),
    rules=_rules,
    empty=sign(
        r"(?<!/)\b(?:it|its|them|their|theirs|these|those|your|yours)\b|\b(?:like|as) (?:this|that)\b"
        r"|\bthis\b(?! (?:year|month|week|weekend|spring|summer|autumn|fall|winter|evening"
        r"|coming|(?:mon|tues|wednes|thurs|fri|satur|sun)day))"
        r"|\bthat (?:\w+ )?(?:one|way|idea|world|place|kind|sort|thing|song|movie|film|book|answer)\b"
        r"|\b(?:to|with|about|for) you\b|\bthe idea\b|\bquestion\b|\bwhat you\b|\bto ask you\b"
    ),
)
