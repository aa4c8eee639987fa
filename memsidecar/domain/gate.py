"""Which of the claims that were found in a text are stored (P2). What a caller states by himself is never asked."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memsidecar.domain.claims import Claim
from memsidecar.domain.memory import Kind

DEFAULT_MIN_IMPORTANCE = 0.6
"""Least importance of what is stored unasked (requirement P2); 0.3 keeps passing remarks, too."""

# A statement says what it is about early on.
_SEARCHED = 400
# Special categories of personal data (GDPR, article 9), and numbers that open something. Allergies and diets are not
# among them: an agent that forgets those does harm.
_SENSITIVE = {
    "health": re.compile(
        r"\b(?:diagnosed|(?<!error )(?<!fault )(?<!bug )diagnosis|hiv|aids|cancer|tumou?r|leuka?emia|diabet(?:es|ic)"
        r"|epilep(?:sy|tic)|bipolar|schizophreni[ac]"
        r"|depression|anorexi[ac]|bulimi[ac]|alcoholic|autis(?:m|tic)|adhd|ptsd|miscarriage|abortion|pregnant"
        r"|antidepressants?|chemotherapy)\b"
        r"|确诊|艾滋|癌|肿瘤|糖尿病|癫痫|抑郁症|躁郁|精神分裂|自闭症|怀孕|流产|化疗",
        re.IGNORECASE,
    ),
    "religion": re.compile(
        r"\b(?:christian|catholic|protestant|orthodox|muslim|jewish|hindu|buddhist|sikh|mormon|atheist|agnostic)s?\b"
        r"|\bconverted to (?:christianity|catholicism|islam|judaism|hinduism|buddhism)\b"
        r"|基督徒|天主教|穆斯林|佛教徒|信佛|信教|无神论",
        re.IGNORECASE,
    ),
    "politics": re.compile(
        r"\b(?:vot(?:e|ed|ing) for|republican|democrat|(?:conservative|labour) party|socialist|communist"
        r"|trade union member)\b"
        r"|党员|入党|投票给",
        re.IGNORECASE,
    ),
    "sexuality": re.compile(
        r"\b(?:gay|lesbian|bisexual|homosexual|asexual|transgender|queer)\b|同性恋|双性恋|跨性别", re.IGNORECASE
    ),
    "secrets": re.compile(
        r"\b(?:password(?!s?[- ](?:hash|manage|polic|validat|field|strength|storage|encrypt))"
        r"|passcode|pin (?:code|number)|cvv|social security|passport (?:number|no)|account number|iban)\b"
        r"|(?<![\d.])(?:\d[ -]?){13,19}(?![\d.])|(?<!\d)\d{3}-\d{2}-\d{4}(?!\d)|密码|身份证号|银行卡号|护照号",
        re.IGNORECASE,
    ),
}
_ATTRIBUTES = {"health": "health"}


@dataclass(frozen=True, slots=True)
class Gate:
    """`min_importance` is 0 to 1. `sensitive` says that the users have agreed to what is sensitive being stored."""

    min_importance: float = DEFAULT_MIN_IMPORTANCE
    sensitive: bool = False

    def refusal(self, claim: Claim, importance: float) -> str:
        """Why a claim is not stored, in one sentence; empty when it is."""
        if claim.kind not in (Kind.FACT, Kind.PREFERENCE):
            return "it is neither a fact nor a preference"
        if importance < self.min_importance:
            return f"its importance {importance:.2f} is below {self.min_importance:.2f}"
        if not self.sensitive and (about := sensitivity(claim)):
            return f"it is about {about}, which is not stored without consent (extraction.sensitive)"
        return ""


def sensitivity(claim: Claim) -> str:
    """The class of sensitive content that a claim belongs to: health, religion, politics, sexuality or secrets; empty
    for none."""
    if claim.attribute in _ATTRIBUTES:
        return _ATTRIBUTES[claim.attribute]
    if claim.entity_type or claim.attribute in ("name", "preferred_name"):
        return ""  # a name: Christian, Gay Street
    text = f"{claim.value[:_SEARCHED]} {claim.statement[:_SEARCHED]}"
    return next((name for name, pattern in _SENSITIVE.items() if pattern.search(text)), "")
