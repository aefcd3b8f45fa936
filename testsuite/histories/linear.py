"""linear.py - is a history of calls and answers one that a single, uninterrupted controller could have given?

A history is a list of calls, each with the moments at which it was sent and answered. It is linearizable if there is one
order of all calls, in which a call that was answered before another one was sent comes first, and in which each answer is
right. The search is that of Wing and Gong with Lowe's memory of states: the next call in the order is one that was sent
before the earliest answer among those left. A call without an answer (its connection broke) may stand anywhere after it
was sent, or nowhere. Jobs do not depend on each other, so each job's history is judged alone.

A job is modelled by what its owner can do to it while it waits: it is there or not, cancelled or not, held or not, and has
a nice value.
"""

from dataclasses import dataclass, field

FOREVER = float("inf")


@dataclass
class Call:
    verb: str            # a method of Job: "submit", "cancel", ...
    argument: object = None
    sent: float = 0.0
    answered: float = FOREVER
    answer: object = None   # None: not known
    client: int = 0

    def __str__(self):
        until = "no answer" if self.answered == FOREVER else f"{self.answered:.6f}"
        argument = "" if self.argument is None else f" {self.argument}"
        return f"client {self.client}: {self.sent:.6f} to {until}: {self.verb}{argument} -> {self.answer}"


@dataclass(frozen=True)
class Job:
    """The model: each verb gives the next state and the right answer."""

    there: bool = False
    cancelled: bool = False
    held: bool = False
    nice: int = 0

    def changed(self, **kw):
        return Job(**{**self.__dict__, **kw})

    def submit(self, _):
        return (self if self.there else Job(there=True)), "done"

    def controlled(self, possible, **kw):
        if not self.there:
            return self, "unknown"
        return (self.changed(**kw), "done") if possible else (self, "refused")

    def cancel(self, _):
        return self.controlled(not self.cancelled, cancelled=True)

    def hold(self, _):
        return self.controlled(not self.cancelled, held=True)

    def release(self, _):
        return self.controlled(not self.cancelled, held=False)

    def update(self, nice):
        return self.controlled(not self.cancelled, nice=nice)

    def requeue(self, _):
        return self.controlled(self.cancelled, cancelled=False)

    def read(self, _):
        if not self.there:
            return self, "unknown"
        return self, ("CANCELLED" if self.cancelled else "HELD" if self.held else "PENDING", self.nice)


@dataclass
class Verdict:
    right: bool
    looked: int = 0
    stuck: list = field(default_factory=list)  # of the longest order that was found: what could not come next


def judge(calls, start=None):
    """Search for an order of the calls of one job."""
    calls = sorted(calls, key=lambda c: c.sent)
    known = sum(1 << i for i, c in enumerate(calls) if c.answered < FOREVER)
    todo, seen = [(0, start or Job())], set()
    verdict, longest = Verdict(False), -1
    while todo:
        done, job = todo.pop()
        if (done, job) in seen:
            continue
        seen.add((done, job))
        verdict.looked += 1
        if done & known == known:
            verdict.right, verdict.stuck = True, []
            return verdict
        left = [(i, c) for i, c in enumerate(calls) if not done >> i & 1]
        first_answer = min(c.answered for _, c in left)
        near = [(i, c) for i, c in left if c.sent <= first_answer]
        if done.bit_count() > longest:
            longest, verdict.stuck = done.bit_count(), [(job, str(c)) for _, c in near]
        for i, c in near:
            then, answer = getattr(job, c.verb)(c.argument)
            if c.answer is None or c.answer == answer:
                todo.append((done | 1 << i, then))
    return verdict
