"""What a row of the table may say."""

import collections

PASS, FAIL = "pass", "FAIL"
NOT_ENFORCED = "not enforced here"  # the machine has not what would hold it
NOT_HERE = "not here"               # what it needs is not there: a second GPU, MIG, root
SEEN = "seen"                       # a figure that nobody is promised
UNSEEN = "unseen"

Row = collections.namedtuple("Row", "what verdict evidence")


def judged(what, good, evidence):
    return Row(what, PASS if good else FAIL, evidence)


def words(value):
    """For people."""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(words, value)) or "none"
    return ("off", "on")[value] if isinstance(value, bool) else str(value)


def same(what, ours, theirs, whose="nvidia-smi"):
    """Equal, and the table has both where they are not."""
    return judged(what, ours == theirs, words(ours) if ours == theirs else f"{words(ours)}, but of {whose} it is {words(theirs)}")
