"""Words of time, without accents and in lower case."""

from __future__ import annotations

from collections.abc import Iterable

from memsidecar.domain.calendar_spans import AUTUMN, SPRING, SUMMER, WINTER


def _numbered(*groups: str) -> dict[str, int]:
    """Each group has the words of one thing in several languages, the first group is number 1."""
    return {word: number for number, group in enumerate(groups, 1) for word in group.split()}


MONTHS = _numbered("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
                   "november", "december")  # fmt: skip
SHORT_MONTHS = {**{name[:3]: number for name, number in MONTHS.items() if name != "may"}, "sept": 9}
# Spanish, French, Italian, German, Portuguese, Dutch.
FOREIGN_MONTHS = _numbered(
    "enero janvier gennaio januar janner janeiro januari",
    "febrero fevrier febbraio februar fevereiro februari",
    "marzo mars marz marco maart",
    "abril avril aprile",
    "mayo mai maggio maio mei",
    "junio juin giugno juni junho",
    "julio juillet luglio juli julho",
    "agosto aout augustus",
    "septiembre setiembre septembre settembre setembro",
    "octubre octobre ottobre oktober outubro",
    "noviembre novembre novembro",
    "diciembre decembre dicembre dezember dezembro",
)
ALL_MONTHS = {**FOREIGN_MONTHS, **SHORT_MONTHS, **MONTHS}
# Names and verbs too: alone they are a month only after a word such as "in".
TWOFOLD_MONTHS = frozenset(("april", "may", "june", "august", "march"))

WEEKDAYS = {day: number for number, day in enumerate(
    ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"))}  # fmt: skip
FOREIGN_WEEKDAYS = {word: number - 1 for word, number in _numbered(
    "lunes lundi lunedi montag maandag",
    "martes mardi martedi dienstag dinsdag",
    "miercoles mercredi mercoledi mittwoch woensdag",
    "jueves jeudi giovedi donnerstag donderdag",
    "viernes vendredi venerdi freitag vrijdag",
    "sabado samedi sabato samstag sonnabend zaterdag",
    "domingo dimanche domenica sonntag zondag",
).items()}  # fmt: skip

SEASONS = {"spring": SPRING, "springtime": SPRING, "summer": SUMMER, "summertime": SUMMER, "autumn": AUTUMN,
           "fall": AUTUMN, "winter": WINTER, "wintertime": WINTER}  # fmt: skip

UNITS = {unit: unit for unit in ("day", "week", "month", "quarter", "year", "decade", "century", "hour", "minute",
                                 "second", "fortnight")} | {
    "night": "day", "sec": "second", "min": "minute", "hr": "hour", "wk": "week", "mo": "month",
    "yr": "year"}  # fmt: skip

NUMBERS = {**_numbered("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
                       "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
                       "twenty"),
           "a": 1, "an": 1, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90, "a hundred": 100,
           "hundred": 100, "a thousand": 1000}  # fmt: skip
# The twenties could be those of either century.
DECADES = {word: 1900 + 10 * tens for tens, word in enumerate(
    ("thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties"), 3)}  # fmt: skip
ORDINALS = {**_numbered("first 1st", "second 2nd", "third 3rd", "fourth 4th"), "last": 4}

# Spanish, French, Italian, German, Portuguese, Dutch.
FOREIGN_UNITS = {word: unit for unit, words in {
    "day": "dia dias jour jours giorno giorni tag tage tagen dag dagen",
    "week": "semana semanas semaine semaines settimana settimane woche wochen weken",
    "month": "mes meses mois mese mesi monat monate monaten mês maand maanden",
    "year": "ano anos an ans annee annees anno anni jahr jahre jahren jaar jaren",
    "weekend": "week-end wochenende",
    "hour": "hora horas heure heures ora ore stunde stunden uur",
}.items() for word in words.split()} | {"week": "week", "weekend": "weekend"}  # fmt: skip
FOREIGN_NUMBERS = _numbered(
    "un una uno une ein eine einem einer einen um uma een",
    "dos deux due zwei dois duas twee",
    "tres trois tre drei drie",
    "cuatro quatre quattro vier quatro",
    "cinco cinq cinque funf vijf",
    "seis six sei sechs zes",
    "siete sept sette sieben sete zeven",
    "ocho huit otto acht oito",
    "nueve neuf nove neun negen",
    "diez dix dieci zehn dez tien",
)
FOREIGN_FEW = "unos unas algunos algunas quelques alcuni alcune qualche einigen einige alguns algumas enkele".split()
FOREIGN_DAYS = {word: shift for shift, words in {
    -2: "anteayer avant-hier antier vorgestern anteontem eergisteren",
    -1: "ayer hier ieri gestern ontem gisteren",
    0: "hoy aujourd'hui oggi heute hoje vandaag",
    1: "demain domani amanha manana morgen",
    2: "apres-demain dopodomani ubermorgen overmorgen",
}.items() for word in words.split()}  # fmt: skip
FOREIGN_DIRECTIONS = {word: shift for shift, words in {
    -1: "pasado pasada dernier derniere scorso scorsa letzte letzten letzter letztes letztem vorige vorigen voriges "
        "vergangene vergangenen vergangenes passado passada passato passata afgelopen",
    0: "este esta cette ce cet questo questa quest' diese diesen dieser dieses deze dit neste nesta",
    1: "proximo proxima prochain prochaine prossimo prossima nachste nachsten nachster nachstes kommende kommenden "
       "volgende",
}.items() for word in words.split()}  # fmt: skip


def either(*words: str | Iterable[str]) -> str:
    """A pattern for any of the words, longer ones first so that "sept" does not end "september"."""
    flat = {word for group in words for word in ([group] if isinstance(group, str) else group)}
    return "(?:" + "|".join(sorted(flat, key=lambda word: (-len(word), word))) + ")"
