"""For how long something has been behind, in a bounded number of marks."""

from __future__ import annotations

from collections import deque

# Seconds between marks, and how many there are at most: an hour; what is behind for longer is so by the oldest.
MARK_EVERY = 1.0
MOST_MARKS = 3_600


class Behind:
    """Positions that were given out, with when; and how far somebody has come who follows."""

    def __init__(self) -> None:
        self._marks: deque[tuple[int, float]] = deque()

    def given(self, position: int, now: float) -> None:
        """A position is there; they may come a little out of order."""
        marks = self._marks
        if not marks or (now - marks[-1][1] >= MARK_EVERY and len(marks) < MOST_MARKS):
            marks.append((position, now))
        else:
            # Told with the mark before it, which is the earlier time.
            marks[-1] = (max(position, marks[-1][0]), marks[-1][1])

    def reached(self, position: int) -> None:
        """Everything up to the position has been followed."""
        while self._marks and self._marks[0][0] <= position:
            self._marks.popleft()

    def seconds(self, now: float) -> float:
        """The age of the oldest position that has not been reached; 0 when there is none. May be asked in any
        thread."""
        try:
            return max(0.0, now - self._marks[0][1])
        except IndexError:
            return 0.0
