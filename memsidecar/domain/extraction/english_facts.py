"""English rules for who somebody is: name, people, residence, work, studies, health, things."""

from __future__ import annotations

import re
from collections.abc import Callable

from memsidecar.domain.claims import Manner, Span
from memsidecar.domain.extraction import english_words as words
from memsidecar.domain.extraction.english_clauses import Head
from memsidecar.domain.extraction.reading import Reading
from memsidecar.domain.extraction.times import english_time
from memsidecar.domain.extraction.values import cut, items, trimmed

Rule = Callable[[Reading, Head], None]
_CAPITAL = re.compile(r"[A-ZÀ-Ý]")
_TO = re.compile(r"\s+(?:(?:back|out|over|here|away|house|in)\s+)?(?:to|into)\s+")
_FROM_TO = re.compile(r"\s+(?:(?:back|out|over|here)\s+)?from\s+[^,.]{2,40}?\s+to\s+")
_IN = re.compile(
    r"\s+(?:(?:here|now|currently|alone|together|full-time|right)\s+)*(?:in|at|near|out\sof|outside(?:\sof)?|close\sto)\s+"
)
_AS = re.compile(r",?\s+as\s+(?:a|an|the|their)?\s*")
_ARTICLE = re.compile(r"(?:an?|the)\s")
_NEW_JOB = re.compile(
    r"\s+(?:(?:my|a)\s+)?(?:new\s+)?(?:job|position|role|gig|work|working|career)\s+(?:at|with|for)\s+"
)
_JOB_AS = re.compile(r"\s+(?:(?:my|a)\s+)?(?:new\s+)?(?:job|position|role|work|working|career)\s+as\s+")
_WORK_AT = re.compile(
    r"\s+(?:(?:part-time|full-time|remotely|now|currently|here|there|mostly|freelance)\s+)*(?P<how>at|for|with|in|as)\s+"
)
_NOT_EMPLOYERS = re.compile(
    r"(?:home|night|it|this|that|these|those|them|you|hours?|my|the\s(?:project|problem|same|moment|time|weekend|code|office|day)|days?|weeks?|months?|years?|least|first|\d"
    r"|long|free|now|a\s(?:living|while|long|project|problem|few|solution|better)|what|which|me|everyone|us|large|scale)\b",
    re.IGNORECASE,
)
_COMPANY_NOUN = re.compile(
    r"\b(?:company|startup|start-up|firm|bank|hospital|clinic|school|university|restaurant|cafe|bakery|agency|studio|store|shop|hotel|factory|lab|library|museum|ngo"
    r"|nonprofit|non-profit|government|office|college|bookstore|newspaper|magazine|airline|shelter|gym|warehouse|farm)\b",
    re.IGNORECASE,
)
_INDUSTRY = re.compile(
    r"(?:the\s)?(?P<field>(?:marketing|finance|sales|tech|it|hr|human\sresources|advertising|healthcare|education|logistics|construction|retail|hospitality|real\sestate|insurance"
    r"|banking|consulting|engineering|accounting|law|medicine|film|fashion|publishing|journalism|television|tv|media|software|cybersecurity|manufacturing|agriculture"
    r"|aerospace|biotech|research|public\srelations|customer\sservice|data\sscience|product\smanagement|the\sarts|politics|design|gaming))\b(?:\s(?:industry|sector|field))?"
    r"(?=\s*$|\s*[,.;!]|\s+(?:and|at|for|now|currently)\b)",
    re.IGNORECASE,
)


def place(reading: Reading, start: int, head: Head) -> Span | None:
    """The place that is named from `start` on, or None when it does not look like one."""
    end = _value_end(reading, start, head)
    span = trimmed(reading.text, start, end)
    if span is None:
        return None
    value = reading.text[span.start : span.end]
    first = value.split()[0].lower()
    if _CAPITAL.search(value):
        # "in My opinion", "in THIS": a place begins with its name, or says what kind it is.
        return span if first not in words.NOT_PLACES else None
    if any(word in words.PLACE_NOUNS for word in re.findall(r"[a-z]+", value)):
        return span
    own = reading.text[head.start : head.end]
    lower_case = own == own.lower()
    return span if lower_case and first not in words.NOT_PLACES and len(value.split()) <= 2 else None


def _value_end(reading: Reading, start: int, head: Head, *, commas: bool = True) -> int:
    """Where a value ends that begins at `start`: before the time that the clause names, at the latest."""
    end = cut(reading.text, start, head.end, commas=commas)
    if reading.time is not None and start < reading.time.outer.start < end:
        end = reading.time.outer.start
    return end


def value(reading: Reading, start: int, head: Head, *, commas: bool = True) -> Span | None:
    """The value that begins at `start`, trimmed."""
    return trimmed(reading.text, start, _value_end(reading, start, head, commas=commas))


def find_time(reading: Reading, head: Head) -> None:
    reading.time = english_time(reading.text, head.start, head.end)


def lives(reading: Reading, head: Head) -> None:
    found = _IN.match(reading.text, head.after - len(head.verb) + len(head.verb), head.end)
    if found is None or head.modal:
        return
    find_time(reading, head)
    if (where := place(reading, found.end(), head)) is None:
        return
    gone = (
        head.used
        or (head.past and head.verb not in ("based", "located", "living"))
        or (head.verb == "lived"
        and "'ve" not in head.words)
    )
    negated = head.negated or gone
    manner = (
        Manner.CHANGED
        if negated and head.manner is not Manner.CORRECTED and (gone or _no_more(reading, head))
        else head.manner
    )
    reading.add("lives_in", where, subject=head.subject, negated=negated, manner=manner, entity_type="place")


def _no_more(reading: Reading, head: Head) -> bool:
    return (
        head.manner is Manner.CHANGED or re.search(r"\bany\s?more\b", reading.text[head.start : head.end]) is not None
    )


def moved(reading: Reading, head: Head) -> None:
    if head.modal or head.negated or head.used or head.be not in ("", "been"):
        return
    found = _FROM_TO.match(reading.text, head.after, head.end) or _TO.match(reading.text, head.after, head.end)
    if found is None:
        return
    find_time(reading, head)
    where = place(reading, found.end(), head)
    if where is not None:
        reading.add("lives_in", where, subject=head.subject, manner=Manner.CHANGED, since=True, entity_type="place")


def comes_from(reading: Reading, head: Head) -> None:
    found = re.compile(r"\s+from\s+|\s+").match(reading.text, head.after, head.end)
    if found is None or head.modal or head.negated or (head.verb == "come" and "from" not in found.group()):
        return
    if (where := place(reading, found.end(), head)) is not None:
        reading.add("from", where, subject=head.subject, manner=head.manner, entity_type="place")


def grew(reading: Reading, head: Head) -> None:
    found = re.compile(r"\s+up\s+(?:in|on|near)\s+").match(reading.text, head.after, head.end)
    if (
        found is not None
        and not head.negated
        and not head.modal
        and (where := place(reading, found.end(), head)) is not None
    ):
        reading.add("from", where, subject=head.subject, manner=head.manner, entity_type="place")


def born(reading: Reading, head: Head) -> None:
    if head.negated:
        return
    find_time(reading, head)
    if reading.time is not None and re.search(r"\d", reading.original[reading.time.span.start : reading.time.span.end]):
        time, reading.time = reading.time.span, None
        reading.add("birthday", time, subject=head.subject, manner=head.manner)
    for found in re.compile(r"\bin\s+(?=[A-Z])").finditer(reading.text, head.after, head.end):
        end = cut(reading.text, found.end(), head.end)
        where = trimmed(reading.text, found.end(), end)
        if where is not None and english_time(reading.text, found.start(), where.end) is None:
            reading.add("birthplace", where, subject=head.subject, manner=head.manner, entity_type="place")


def works(reading: Reading, head: Head) -> None:
    found = _WORK_AT.match(reading.text, head.after, head.end)
    if found is None or head.modal:
        return
    find_time(reading, head)
    past = head.used or head.past or (head.verb == "worked" and "'ve" not in head.words and "have" not in head.words)
    negated = head.negated or past
    manner = Manner.CHANGED if past or (negated and _no_more(reading, head)) else head.manner
    how, at = found.group("how").lower(), found.end()
    if how == "in":
        if (field := _INDUSTRY.match(reading.text, at, head.end)) is not None:
            span = Span(*field.span("field"))
            reading.add("industry", span, subject=head.subject, negated=negated, manner=manner)
        return
    role = _AS.search(reading.text, at, head.end) if how != "as" else None
    if how != "as" and not _NOT_EMPLOYERS.match(reading.text, at, head.end):
        stop = role.start() if role else head.end
        end = min(stop, _value_end(reading, at, head))
        whom = trimmed(reading.text, at, end)
        if whom is not None:
            written = reading.text[whom.start : whom.end]
            if (
                _CAPITAL.search(written)
                or _COMPANY_NOUN.search(written)
                or reading.text[head.start : head.end].islower()
            ):
                reading.add(
                    "employer", whom, subject=head.subject, negated=negated, manner=manner, entity_type="organisation"
                )
    if how == "as":
        role_at = at
        employer = re.compile(r"\s+(?:at|for)\s+(?=[A-Z])").search(reading.text, at, head.end)
    elif role is not None:
        role_at, employer = role.end(), None
    else:
        return
    end = min(_value_end(reading, role_at, head), employer.start() if employer else head.end)
    what = trimmed(reading.text, role_at, end)
    if what is not None and trade(reading.text[what.start : what.end]):
        reading.add("job", what, subject=head.subject, negated=negated, manner=manner)
    if employer is not None and (whom := value(reading, employer.end(), head)) is not None:
        reading.add("employer", whom, subject=head.subject, negated=negated, manner=manner, entity_type="organisation")


def trade(written: str) -> bool:
    """Whether words say what somebody is by trade: their last one does."""
    parts = re.findall(
        r"[a-z]+",
        re.split(r"\s(?:of|at|in|for|from|on|specializing|specialising|working|living|based)\s", written.lower())[0],
    )
    return (
        bool(parts)
        and len(parts) <= 6
        and (parts[-1] in words.PROFESSIONS or (parts[-1] == "assistant" and len(parts) > 1))
    )


def new_job(reading: Reading, head: Head) -> None:
    """Of "started", "got", "landed", "accepted", "lost", "quit", "left", "switched"."""
    if head.modal or head.negated:
        return
    if head.verb in ("start", "starting") and "new" not in reading.text[head.after : head.end]:
        return
    leaves = head.verb in ("quit", "left", "lost", "resigned")
    find_time(reading, head)
    if head.verb == "resigned":
        found = re.compile(r"\s+from\s+(?:my\s+(?:job|position|role)\s+(?:at|with)\s+)?(?=[A-Z])").match(
            reading.text, head.after, head.end
        )
    elif head.verb in ("joined", "left"):
        found = _NEW_JOB.match(reading.text, head.after, head.end)
    else:
        found = _NEW_JOB.match(reading.text, head.after, head.end)
    if found is not None and (whom := value(reading, found.end(), head)) is not None:
        if _CAPITAL.search(reading.text[whom.start : whom.end]) or _COMPANY_NOUN.search(
            reading.text[whom.start : whom.end]
        ):
            role = _AS.search(reading.text, whom.start, whom.end)
            whom = Span(whom.start, role.start()) if role else whom
            reading.add(
                "employer",
                whom,
                subject=head.subject,
                negated=leaves,
                manner=Manner.CHANGED,
                since=True,
                entity_type="organisation",
            )
        return
    found = _JOB_AS.match(reading.text, head.after, head.end)
    if (
        found is not None
        and (what := value(reading, found.end(), head)) is not None
        and trade(reading.text[what.start : what.end])
    ):
        reading.add("job", what, subject=head.subject, negated=leaves, manner=Manner.CHANGED, since=True)


_FROM_JOB = re.compile(
    r"\s+(?:off\s+)?(?:from|by)\s+(?:my\s+(?:job|position|role)\s+(?:at|with)\s+)?(?=(?:the\s)?[A-Z])"
)


def dismissed(reading: Reading, head: Head) -> None:
    """Of "laid off from", "fired from", after "was" or "got"."""
    found = _FROM_JOB.match(reading.text, head.after, head.end)
    if found is None or head.modal or head.negated:
        return
    find_time(reading, head)
    if (whom := value(reading, found.end(), head)) is not None:
        reading.add(
            "employer",
            whom,
            subject=head.subject,
            negated=True,
            manner=Manner.CHANGED,
            since=True,
            entity_type="organisation",
        )


def speaks_fluently(reading: Reading, head: Head) -> None:
    """Of "fluent in"."""
    if reading.text.startswith(" in ", head.after) and not head.modal:
        head.after += len(" in")
        speaks(reading, head)


def dates_somebody(reading: Reading, head: Head) -> None:
    """Of "dating"."""
    found = _DATING.match(reading.text, head.after, head.end)
    if found is not None and not head.negated and not head.modal and not head.subject:
        reading.add("partner", Span(*found.span("name")), manner=head.manner, entity_type="person")


_DATING = re.compile(
    r"\s+(?:an?\s[a-z ]{2,20}\s(?:named|called)\s|someone\s(?:named|called)\s)?(?P<name>[A-ZÀ-Ý][\w'-]+)(?=\s*$|\s*[,.!]|\s(?:for|since|now|and)\b)"
)
_PLAYS = re.compile(
    r"\s+(?:the\s+)?(?P<what>violin|guitar|piano|drums|bass|cello|flute|saxophone|trumpet|ukulele|clarinet|harp|keyboard|chess|tennis|soccer|football|basketball|volleyball|golf|hockey"
    r"|badminton|baseball|cricket|rugby|squash|table\stennis|ping\spong|poker|dungeons\sand\sdragons|d&d)\b",
    re.IGNORECASE,
)


def plays(reading: Reading, head: Head) -> None:
    """Of "play": instruments and sports."""
    found = _PLAYS.match(reading.text, head.after, head.end)
    if found is not None and not head.modal and not head.subject and not head.past and not head.be:
        manner = Manner.CHANGED if head.used else head.manner
        polarity = -0.4 if head.used or head.negated else 0.6
        reading.add("hobby", Span(*found.span("what")), polarity=polarity, manner=manner)


_RUNS = re.compile(
    r"\s+(?:an?|my\sown|our\sown)\s+(?P<what>(?:[a-z-]+\s){0,3}(?:bakery|shop|store|restaurant|business|company|startup|cafe|café|studio|agency|farm|blog|podcast|channel|newsletter|salon|gym|clinic|bar))\b"
)


def runs(reading: Reading, head: Head) -> None:
    """Of "run" and "drive": a business, a car."""
    found = (
        _RUNS.match(reading.text, head.after, head.end)
        if head.verb == "run"
        else _DRIVES.match(reading.text, head.after, head.end)
    )
    if found is not None and not head.modal and not head.subject and not head.past and not head.negated:
        gone = head.used
        reading.add("owns", Span(*found.span("what")), negated=gone, manner=Manner.CHANGED if gone else head.manner)


_DRIVES = re.compile(
    r"\s+(?:an?\s+)(?P<what>(?:(?:\d{4}|red|blue|white|black|old|used|new|silver|grey|gray|green)\s)*[A-Z][\w-]+(?:\s[A-Z0-9][\w-]*)?)"
)
_WEIGHS = re.compile(
    r"\s+(?:about\s|around\s)?(?P<what>\d{2,3}(?:\.\d+)?\s?(?:kg|kilos?|kilograms|pounds|lbs?|stone))\b"
)


def weighs(reading: Reading, head: Head) -> None:
    """Of "weigh"."""
    found = _WEIGHS.match(reading.text, head.after, head.end)
    if found is not None and not head.modal and not head.used:
        reading.add("weight", Span(*found.span("what")), subject=head.subject, manner=head.manner)


_WITH_SOMEBODY = re.compile(
    r"\s+up\swith\s(?:my\s(?:boyfriend|girlfriend|partner|fianc[eé]e?),?\s)?(?P<name>[A-ZÀ-Ý][\w'-]+)(?=\s*$|\s*[,.!]|\s(?:last|in|yesterday|recently|after|and)\b)"
)


def broke(reading: Reading, head: Head) -> None:
    """Of "broke up with"."""
    found = _WITH_SOMEBODY.match(reading.text, head.after, head.end)
    if found is not None and not head.modal and not head.negated and not head.subject:
        find_time(reading, head)
        reading.add(
            "partner", Span(*found.span("name")), negated=True, manner=Manner.CHANGED, since=True, entity_type="person"
        )


def died(reading: Reading, head: Head) -> None:
    """Of a pet that "died" or "passed away"."""
    if head.relation == "pet" and not head.negated and not head.modal and head.relation_span is not None:
        find_time(reading, head)
        span = head.name or trimmed(reading.text, head.relation_span.start, head.relation_span.end)
        if span is not None:
            reading.claims[:] = [claim for claim in reading.claims if claim.span != Span(reading.start, reading.end)]
            reading.add("pet", span, negated=True, manner=Manner.CHANGED, since=True)


def promoted(reading: Reading, head: Head) -> None:
    found = re.compile(r"\s+(?:promoted\s+)?(?:to|from\s+[^,]{2,40}\sto)\s+").match(reading.text, head.after, head.end)
    if found is not None and not head.negated and not head.modal:
        find_time(reading, head)
        if (what := value(reading, found.end(), head)) is not None:
            reading.add("job", what, subject=head.subject, manner=Manner.CHANGED, since=True)


def retired(reading: Reading, head: Head) -> None:
    rest = reading.text[head.after : head.end]
    if not head.negated and not head.modal and re.match(r"\s*(?:$|[,.!]|last|in|from|this|recently|now|and|\d)", rest):
        find_time(reading, head)
        manner = head.manner if head.be else Manner.CHANGED
        reading.add("job", "retired", subject=head.subject, manner=manner, since=True)


def studies(reading: Reading, head: Head) -> None:
    if head.modal or head.negated:
        return
    find_time(reading, head)
    skip = re.compile(r"\s+(?:at|in)\s+|\s+").match(reading.text, head.after, head.end)
    if skip is None:
        return
    at = skip.end()
    school = re.compile(r"(?:^|\s)(?:at|in)\s+(?=(?:the\s)?[A-Z])").search(reading.text, skip.start(), head.end)
    what = trimmed(reading.text, at, min(school.start() if school else head.end, _value_end(reading, at, head)))
    past = head.past or head.used or head.verb == "studied"
    for_something = re.compile(r"(?:for|hard|a\slot|the|my|this|that|it|how|about|with|and)\b")
    if (
        what is not None
        and skip.group().strip() not in ("at", "in")
        and not for_something.match(reading.text, what.start)
    ):
        if len(reading.text[what.start : what.end].split()) <= 4:
            reading.add(
                "studies", what, subject=head.subject, negated=past, manner=Manner.CHANGED if past else head.manner
            )
    if school is not None and not past and (where := value(reading, school.end(), head)) is not None:
        reading.add("school", where, subject=head.subject, manner=head.manner, entity_type="organisation")


def majors(reading: Reading, head: Head) -> None:
    found = re.compile(r"\s+in\s+").match(reading.text, head.after, head.end)
    if (
        found is not None
        and not head.negated
        and not head.modal
        and (what := value(reading, found.end(), head)) is not None
    ):
        reading.add("studies", what, subject=head.subject, manner=head.manner)


def graduated(reading: Reading, head: Head) -> None:
    found = _GRADUATED.match(reading.text, head.after, head.end)
    if found is not None and not head.negated and not head.modal:
        find_time(reading, head)
        if (where := value(reading, found.end(), head)) is not None:
            reading.add("education", where, subject=head.subject, manner=head.manner, entity_type="organisation")


_GRADUATED = re.compile(
    r"\s+(?:from|at)\s+(?=(?:the\s)?[A-Z])|\s+with\s+(?=an?\s(?:[A-Za-z']+\s){0,2}(?:degree|diploma|PhD|MBA|BA|BSc|MSc)\b)"
)
_ALLERGY = re.compile(
    r"\s+(?:an?\s+)?(?:(?:severe|bad|mild|serious|strong|life-threatening|slight)\s+)?(?:(?P<to>[a-z][a-z-]*(?:\s(?:and|or|&)\s[a-z-]+|\s[a-z-]+)?)\s+)?allerg(?:y|ies)"
    r"(?:\s+to\s+(?P<of>[a-z][^.;]{1,60}))?"
)


def has(reading: Reading, head: Head) -> None:
    """Of "have": people, animals, illnesses and things that one has for long, by the noun."""
    if head.modal or head.past:
        return
    text = reading.text
    if allergy := _ALLERGY.match(text, head.after, head.end):
        group = "of" if allergy.group("of") else "to"
        if allergy.group(group) and allergy.group(group) not in ("any", "food", "no", "many", "seasonal"):
            span = trimmed(
                text, allergy.start(group), cut(text, allergy.start(group), allergy.end(group), commas=False)
            )
            for part in items(text, span) if span is not None else ():
                reading.add("allergic_to", part, subject=head.subject, negated=head.negated, manner=head.manner)
        return
    end = cut(text, head.after, head.end)
    found = re.compile(
        r"\s+(?:got\s+)?(?P<many>an?|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,3}|no|my\sown|some|several|bad|severe|chronic|mild|type)\s+(?P<noun>[^,.;:!?]{2,60})"
    ).match(text, head.after, end)
    if found is None:
        alone = re.compile(
            r"\s+(?:got\s+)?(?:type\s[12]\s)?(?P<noun>[A-Za-z-]+)(?=\s*$|\s*,|\s+(?:and|since|so|but)\b)"
        ).match(text, head.after, head.end)
        if alone is not None and alone.group("noun").lower() in words.CONDITIONS:
            reading.add(
                "health",
                Span(alone.start("noun"), alone.end("noun")),
                subject=head.subject,
                negated=head.negated,
                manner=head.manner,
            )
        return
    many = found.group("many").lower()
    named = re.compile(
        r",?\s+(?:(?:who\sis|who's|that\sis|that's|is)\s+)?(?:named|called)\s+(?P<name>[A-ZÀ-Ý][\w'-]+(?:\s[A-ZÀ-Ý][\w'-]+)?)(?=\s*$|[\s,.])"
    ).search(text, found.start("noun"), head.end)
    noun_end = min(found.end("noun"), named.start() if named else end)
    stop = re.compile(r"\s(?:of|in|at|on|from|about|to|under|around|and|or|near|called|named|going|coming)\b").search(
        text, found.start("noun"), noun_end
    )
    noun = Span(found.start("noun"), stop.start() if stop else noun_end)
    parts = re.findall(r"[a-z]+(?:-[a-z]+)*", text[noun.start : noun.end].lower())
    if not parts or len(parts) > 4:
        return
    last, single = parts[-1], parts[-1].rstrip("s")
    negated = head.negated or many == "no"
    whole = Span(found.start("many") if many not in ("a", "an", "no") else noun.start, noun.end)
    if last in words.CHILDREN and many not in ("a", "an", "no"):
        reading.add("children", Span(*found.span("many")), subject=head.subject, negated=negated, manner=head.manner)
    elif (relation := words.RELATIONS.get(last) or words.RELATIONS.get(single)) and relation != "pet":
        if relation in ("boss", "teacher", "doctor", "colleague", "neighbour", "friend", "partner") and named is None:
            return
        span = Span(*named.span("name")) if named else whole
        reading.add(relation, span, subject=head.subject, negated=negated, manner=head.manner, entity_type="person")
    elif last in words.PETS or single in words.PETS:
        span = Span(*named.span("name")) if named else whole
        reading.add("pet", span, subject=head.subject, negated=negated, manner=head.manner)
    elif last in words.CONDITIONS:
        reading.add(
            "health",
            Span(found.start("many") if many in ("bad", "severe", "chronic", "mild", "type") else noun.start, noun.end),
            subject=head.subject,
            negated=negated,
            manner=head.manner,
        )
    elif last in words.POSSESSIONS and not head.subject:
        reading.add("owns", whole, negated=negated, manner=head.manner)


def owns(reading: Reading, head: Head) -> None:
    """Of "own", "bought", "sold", "adopted"."""
    if head.modal or head.subject or (head.be and head.verb != "own"):
        return
    find_time(reading, head)
    what = value(reading, head.after, head)
    if what is None or not re.compile(
        r"\s+(?:an?|two|three|\d+|our\sfirst|my\sfirst|(?:my|our|the)(?=\s[a-z-]+\s*$)|my\s(?:old|car|house|bike))\s?"
    ).match(reading.text, head.after, head.end):
        return
    parts = re.findall(r"[a-z]+(?:-[a-z]+)*", reading.text[what.start : what.end].lower())
    if not parts or len(parts) > 6 or re.search(r"\b(?:lot|bit|few|ticket|tickets|some)\b", " ".join(parts)):
        return
    last = parts[-1]
    if last in words.PETS or last.rstrip("s") in words.PETS:
        if not head.negated and head.verb in ("adopted", "bought", "own", "got", "rescued"):
            reading.add("pet", what, manner=head.manner)
    elif head.verb == "sold":
        reading.add("owns", what, negated=True, manner=Manner.CHANGED, since=True)
    elif head.verb in ("own", "bought", "purchased") or (head.verb == "got" and last in words.POSSESSIONS):
        if head.verb == "own" or last in words.POSSESSIONS or _CAPITAL.search(reading.text[what.start : what.end]):
            reading.add(
                "owns", what, negated=head.negated or head.used, manner=Manner.CHANGED if head.used else head.manner
            )


def speaks(reading: Reading, head: Head) -> None:
    if head.modal:
        return
    span = value(reading, head.after, head, commas=False)
    if span is None:
        return
    for part in items(reading.text, span, loose=True):
        written = re.sub(
            r"^(?:a\s(?:little|bit\sof)|some|little|bit\sof|fluent|basic|conversational|broken|fluently)\s",
            "",
            reading.text[part.start : part.end],
        )
        name = written.split()[0].strip(",.") if written.split() else ""
        if name.lower() in words.LANGUAGES:
            reading.add("speaks", name, subject=head.subject, negated=head.negated, manner=head.manner)


def knows(reading: Reading, head: Head) -> None:
    if head.modal or head.negated or head.subject or (span := value(reading, head.after, head, commas=False)) is None:
        return
    for part in items(reading.text, span):
        written = reading.text[part.start : part.end]
        if written.lower() in words.PROGRAMMING:
            reading.add("knows", part, manner=head.manner)


def learns(reading: Reading, head: Head) -> None:
    found = re.compile(r"\s+(?:how\s)?(?:to\s)?(?=\w)").match(reading.text, head.after, head.end)
    if (
        found is None
        or head.modal
        or head.negated
        or head.subject
        or (what := value(reading, found.end(), head)) is None
    ):
        return
    written = reading.text[what.start : what.end]
    if written.lower() in words.LANGUAGES | words.PROGRAMMING or re.match(
        r"(?:to\s)?(?:play|cook|swim|drive|dance|knit|sew|code|paint|draw|ski|surf|bake|sail)\b", written
    ):
        reading.add("learning", what, manner=head.manner)


def switched(reading: Reading, head: Head) -> None:
    if head.modal or head.negated or head.subject:
        return
    text = reading.text
    found = re.compile(r"\s+(?:my\s+)(?P<what>[a-z]+(?:\s[a-z]+)?)\s+to\s+").match(text, head.after, head.end)
    find_time(reading, head)
    if found is not None:
        if (new := value(reading, found.end(), head)) is not None:
            what = found.group("what")
            attribute = words.MINE.get(what)
            if attribute == "job" and not trade(text[new.start : new.end]):
                return
            reading.add(attribute or f"uses:{what}", new, manner=Manner.CHANGED, since=True)
        return
    found = re.compile(r"\s+(?:over\s+)?(?:from\s+[^,.]{2,40}?\s+)?to\s+(?=(?:an?\s)?i?[A-Z])").match(
        text, head.after, head.end
    )
    if found is not None and (new := value(reading, found.end(), head)) is not None:
        reading.add("uses", new, manner=Manner.CHANGED, since=True)


def diagnosed(reading: Reading, head: Head) -> None:
    found = re.compile(r"\s+(?:as\s|with\s|from\s)").match(reading.text, head.after, head.end)
    if found is None or head.modal or head.negated:
        return
    find_time(reading, head)
    if (what := value(reading, found.end(), head)) is not None:
        first = reading.text[what.start : what.end].split()[0].lower()
        if first not in ("it", "this", "that", "these", "the", "lack", "burnout"):
            reading.add("health", what, subject=head.subject, manner=head.manner, since=head.verb == "diagnosed")


def eats(reading: Reading, head: Head) -> None:
    """Of "don't eat", "don't drink": what is avoided."""
    if (
        not head.negated
        or head.modal
        or head.subject
        or head.past
        or "didn't" in head.words
        or "haven't" in head.words
        or "can" in head.words
    ):
        return
    span = value(reading, head.after, head, commas=False)
    if span is None or re.match(
        r"(?:much|enough|well|that|this|it|them|out|too|any(?:thing|more)?\b|a\slot|at\b|in\b)",
        reading.text[span.start : span.end],
    ):
        return
    manner = Manner.CHANGED if _no_more(reading, head) else head.manner
    for part in items(reading.text, span):
        reading.add("likes", part, polarity=-0.8, manner=manner)


FACTS: dict[str, Rule] = {
    **dict.fromkeys(("live", "lives", "lived", "living", "reside", "based", "located", "staying"), lives),
    **dict.fromkeys(("moved", "relocated"), moved),
    **dict.fromkeys(("from", "come", "comes"), comes_from),
    **dict.fromkeys(("grew", "raised"), grew),
    "born": born,
    **dict.fromkeys(("work", "works", "working", "worked"), works),
    **dict.fromkeys(
        ("start", "starting", "started", "landed", "accepted", "quit", "left", "lost", "resigned", "took"), new_job
    ),
    "promoted": promoted,
    **dict.fromkeys(("laid", "fired"), dismissed),
    "fluent": speaks_fluently,
    "dating": dates_somebody,
    "play": plays,
    **dict.fromkeys(("run", "drive"), runs),
    **dict.fromkeys(("weigh", "weighs"), weighs),
    "broke": broke,
    **dict.fromkeys(("died", "passed"), died),
    "retired": retired,
    **dict.fromkeys(("study", "studies", "studying", "studied"), studies),
    **dict.fromkeys(("major", "majoring", "majored"), majors),
    **dict.fromkeys(("graduated",), graduated),
    **dict.fromkeys(("have", "has", "got"), has),
    **dict.fromkeys(("own", "bought", "sold", "adopted", "purchased", "rescued"), owns),
    **dict.fromkeys(("speak", "speaks"), speaks),
    "know": knows,
    "learning": learns,
    **dict.fromkeys(("switched", "changed"), switched),
    **dict.fromkeys(("diagnosed", "suffer", "suffers", "suffering"), diagnosed),
    **dict.fromkeys(("eat", "drink", "consume"), eats),
}
