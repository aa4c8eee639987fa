"""English rules for work and studies."""

from __future__ import annotations

import re

from memsidecar.domain.claims import Manner, Span
from memsidecar.domain.extraction import english_words as words
from memsidecar.domain.extraction.english_clauses import Head
from memsidecar.domain.extraction.english_places import CAPITAL, began, find_time, no_more, past_in, value, value_end
from memsidecar.domain.extraction.letters import BIG
from memsidecar.domain.extraction.reading import Reading
from memsidecar.domain.extraction.values import trimmed

_AS = re.compile(r",?\s+as\s+(?:a|an|the|their)?\s*")

_NEW_JOB = re.compile(
    r"\s+(?:(?:my|a)\s+)?(?:new\s+)?(?:job|position|role|gig|work|working|career)\s+(?:at|with|for)\s+"
)

_JOB_AS = re.compile(r"\s+(?:(?:my|a)\s+)?(?:new\s+)?(?:job|position|role|work|working|career)\s+as\s+")

_WORK_AT = re.compile(
    r"\s+(?:(?:part-time|full-time|remotely|now|currently|here|there|mostly|freelance)\s+)*(?P<how>at"
    r"|for|in|as)\s+"
)

_NOT_EMPLOYERS = re.compile(
    r"(?:home|night|it|this|that|these|those|them|you|hours?|my|the\s(?:project|problem|same|moment"
    r"|time|weekend|code|office|day)|days?|weeks?|months?|years?|least|first|\d"
    r"|long|free|now|a\s(?:living|while|long|project|problem|few|solution|better)|what|which|me"
    r"|everyone|us|large|scale)\b",
    re.IGNORECASE,
)

_COMPANY_NOUN = re.compile(
    r"\b(?:company|startup|start-up|firm|bank|hospital|clinic|school|university|restaurant|cafe|bakery"
    r"|agency|studio|store|shop|hotel|factory|lab|library|museum|ngo"
    r"|nonprofit|non-profit|government|office|college|bookstore|newspaper|magazine|airline|shelter|gym"
    r"|warehouse|farm)\b",
    re.IGNORECASE,
)

_INDUSTRY = re.compile(
    r"(?:the\s)?(?P<field>(?:marketing|finance|sales|tech|it|hr|human\sresources|advertising"
    r"|healthcare|education|logistics|construction|retail|hospitality|real\sestate|insurance"
    r"|banking|consulting|engineering|accounting|law|medicine|film|fashion|publishing|journalism"
    r"|television|tv|media|software|cybersecurity|manufacturing|agriculture"
    r"|aerospace|biotech|research|public\srelations|customer\sservice|data\sscience"
    r"|product\smanagement|the\sarts|politics|design|gaming))\b(?:\s(?:industry|sector|field))?"
    r"(?=\s*$|\s*[,.;!]|\s+(?:and|at|for|now|currently)\b)",
    re.IGNORECASE,
)


_AT_NAME = re.compile(rf"\s+(?:at|for)\s+(?=[{BIG}])")


def works(reading: Reading, head: Head) -> None:
    found = _WORK_AT.match(reading.text, head.after, head.end)
    if found is None or head.modal:
        return
    find_time(reading, head)
    past = head.used or head.past or (head.verb == "worked" and "'ve" not in head.words and "have" not in head.words)
    if past and not head.negated and past_in(reading):
        # With the time in which it was so it is history, and denies nothing.
        past = False
    negated = head.negated or past
    manner = Manner.CHANGED if past or (negated and no_more(reading, head)) else head.manner
    timed = not (past and began(reading))
    how, at = found.group("how").lower(), found.end()
    if how == "in":
        if (field := _INDUSTRY.match(reading.text, at, head.end)) is not None:
            span = Span(*field.span("field"))
            reading.add("industry", span, subject=head.subject, negated=negated, manner=manner, timed=timed)
        return
    role = _AS.search(reading.text, at, head.end) if how != "as" else None
    if how != "as" and not _NOT_EMPLOYERS.match(reading.text, at, head.end):
        stop = role.start() if role else head.end
        end = min(stop, value_end(reading, at, head))
        whom = trimmed(reading.text, at, end)
        if whom is not None:
            written = reading.text[whom.start : whom.end]
            if (
                CAPITAL.search(written)
                or _COMPANY_NOUN.search(written)
                or reading.text[head.start : head.end].islower()
            ):
                reading.add(
                    "employer",
                    whom,
                    subject=head.subject,
                    negated=negated,
                    manner=manner,
                    timed=timed,
                    entity_type="organisation",
                )
    if how == "as":
        role_at = at
        employer = _AT_NAME.search(reading.text, at, head.end)
    elif role is not None:
        role_at, employer = role.end(), None
    else:
        return
    end = min(value_end(reading, role_at, head), employer.start() if employer else head.end)
    what = trimmed(reading.text, role_at, end)
    if what is not None and trade(reading.text[what.start : what.end]):
        reading.add("job", what, subject=head.subject, negated=negated, manner=manner, timed=timed)
    if employer is not None and (whom := value(reading, employer.end(), head)) is not None:
        reading.add(
            "employer",
            whom,
            subject=head.subject,
            negated=negated,
            manner=manner,
            timed=timed,
            entity_type="organisation",
        )


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


_FROM_NAME = re.compile(rf"\s+from\s+(?:my\s+(?:job|position|role)\s+(?:at|with)\s+)?(?=[{BIG}])")


def new_job(reading: Reading, head: Head) -> None:
    """Of "started", "got", "landed", "accepted", "lost", "quit", "left", "switched"."""
    if head.modal or head.negated:
        return
    if head.verb in ("start", "starting") and "new" not in reading.text[head.after : head.end]:
        return
    leaves = head.verb in ("quit", "left", "lost", "resigned")
    find_time(reading, head)
    if head.verb == "resigned":
        found = _FROM_NAME.match(reading.text, head.after, head.end)
    elif head.verb in ("joined", "left"):
        found = _NEW_JOB.match(reading.text, head.after, head.end)
    else:
        found = _NEW_JOB.match(reading.text, head.after, head.end)
    if found is not None and (whom := value(reading, found.end(), head)) is not None:
        if CAPITAL.search(reading.text[whom.start : whom.end]) or _COMPANY_NOUN.search(
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
    rf"\s+(?:off\s+)?(?:from|by)\s+(?:my\s+(?:job|position|role)\s+(?:at|with)\s+)?(?=(?:the\s)?[{BIG}])"
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


_TO_ROLE = re.compile(r"\s+(?:promoted\s+)?(?:to|from\s+[^,]{2,40}\sto)\s+")


def promoted(reading: Reading, head: Head) -> None:
    found = _TO_ROLE.match(reading.text, head.after, head.end)
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


_AT_OR_NOT = re.compile(r"\s+(?:at|in)\s+|\s+")
_SCHOOL = re.compile(rf"(?:^|\s)(?:at|in)\s+(?=(?:the\s)?[{BIG}])")
_NOT_SUBJECT = re.compile(r"(?:for|hard|a\slot|the|my|this|that|it|how|about|with|and)\b")


def studies(reading: Reading, head: Head) -> None:
    if head.modal or head.negated:
        return
    find_time(reading, head)
    skip = _AT_OR_NOT.match(reading.text, head.after, head.end)
    if skip is None:
        return
    at = skip.end()
    school = _SCHOOL.search(reading.text, skip.start(), head.end)
    what = trimmed(reading.text, at, min(school.start() if school else head.end, value_end(reading, at, head)))
    past = head.past or head.used or head.verb == "studied"
    if (
        what is not None and skip.group().strip() not in ("at", "in") and not _NOT_SUBJECT.match(reading.text, at)
    ) and len(reading.text[what.start : what.end].split()) <= 4:
        # Without a school it may be for an evening only.
        attribute = "studies" if school is not None or past else "learning"
        manner = Manner.CHANGED if past else head.manner
        reading.add(attribute, what, subject=head.subject, negated=past, manner=manner)
    if school is not None and not past and (where := value(reading, school.end(), head)) is not None:
        reading.add("school", where, subject=head.subject, manner=head.manner, entity_type="organisation")


_IN = re.compile(r"\s+in\s+")


def majors(reading: Reading, head: Head) -> None:
    found = _IN.match(reading.text, head.after, head.end)
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
    rf"\s+(?:from|at)\s+(?=(?:the\s)?[{BIG}])|\s+with\s+(?=an?\s(?:[A-Za-z']+\s){{0,2}}(?:degree|diploma"
    r"|PhD|MBA|BA|BSc|MSc)\b)"
)
