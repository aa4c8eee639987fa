"""The constants of BM25."""

from __future__ import annotations

K1 = 1.2
B = 0.75
# The length, in terms, at which a text is neither favoured nor disfavoured. BM25 takes the mean of all texts; here a
# few pasted pages would make every turn of a chat "short" and its length count for nothing. Of 20, 30, 40, 60 and the
# mean, 40 is the best compromise of the developer samples (BEAM nDCG@10 44 -> 48, LoCoMo 58.0 -> 58.9).
LENGTH = 40.0
# A text that is longer counts as this long: a document is not to blame for all that else is in it.
LONGEST = 800
