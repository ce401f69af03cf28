"""Random choices that can be replayed and made smaller.

A statement is made by choices alone. Their record makes the same statement again, and since the first option of each
choice is the simplest one, a record with fewer and smaller numbers makes a simpler statement.
"""

import random


class Choices:
    """Takes what `given` says; after its end what `source` draws, or without a source the simplest option."""

    def __init__(self, source=None, given=(), constants=None):
        self.source = source
        self.given = given
        self.constants = constants
        self.record = []

    def below(self, count):
        place = len(self.record)
        if place < len(self.given):
            chosen = min(self.given[place], count - 1)
        else:
            chosen = self.source.randrange(count) if self.source else 0
        self.record.append(chosen)
        return chosen

    def constant_below(self, count):
        """A choice that changes no more than a constant: the same record with other `constants` is a statement of the
        same shape."""
        chosen = self.below(count)
        if self.constants:
            chosen = self.constants.randrange(count)
            self.record[-1] = chosen
        return chosen

    def one_of(self, options):
        return options[self.below(len(options))]

    def chance(self, percent):
        return self.below(100) >= 100 - percent

    def several(self, options, most):
        """From one to `most` different options, in any order."""
        left = list(options)
        count = 1 + self.below(max(1, min(most, len(left))))
        return [left.pop(self.below(len(left))) for _ in range(min(count, len(left)))]


def smaller(record):
    """Records that are smaller in some respect, the boldest first."""
    size = len(record)
    while size > 0:
        for start in range(0, len(record), size):
            yield record[:start] + record[start + size :]
        size //= 2
    for place, chosen in enumerate(record):
        for less in sorted({0, chosen // 2, chosen - 1}):
            if 0 <= less < chosen:
                yield record[:place] + [less] + record[place + 1 :]


def shrink(record, fails, attempts):
    """A small record that still `fails`, found with at most `attempts` questions."""
    best, improved = record, True
    while improved:
        improved = False
        for candidate in smaller(best):
            if attempts == 0:
                return best
            attempts -= 1
            if fails(candidate):
                best, improved = candidate, True
                break
    return best


def of_seed(*parts):
    return random.Random(":".join(str(part) for part in parts))
