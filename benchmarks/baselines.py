"""What a user would write instead of `sgdrace`: a loop around a heap, and SimPy.

Both play the same four variants as `sgdrace.protocol`, event by event, and return the same things as the
simulator. They are meant to be good programs: the comparison is worth nothing if they are slow on purpose.
"""

from collections.abc import Callable, Generator
from heapq import heapify, heappop, heappush, heapreplace
from typing import Any, NamedTuple

import numpy as np
import simpy

from sgdrace.delays import Law

BULK = 4096  # numbers drawn at a time

Draw = Callable[[int], float]  # how long the mini-batch takes that this learner starts now


class Timeline(NamedTuple):
    """Update j happens at times[j], from the pushes j·K to (j + 1)·K - 1.

    Pushes are in one flat list: a small list for every update would keep Python's garbage collector busy.
    """

    times: list[float]
    learners: list[int]
    staleness: list[int]


def bulk_draw(law: Law, rng: np.random.Generator) -> Draw:
    """Times from a list that is drawn in bulk: a call of NumPy for each number would cost more than the loop.

    The `send` of a generator is a function of one argument without the price of a Python call.
    """

    def numbers() -> Generator[float, int, None]:
        while True:
            for number in law.sample(rng, BULK).tolist():  # noqa: UP028 (a list cannot be sent to)
                yield number

    source = numbers()
    next(source)
    return source.send


def heap_loop(variant: str, P: int, K: int, draw: Draw, updates: int) -> Timeline:
    """The four variants in plain Python, with the running mini-batches in a heap."""
    sync, batch = variant.endswith("-sync"), "batch" in variant
    times, learners, staleness = timeline = Timeline([], [], [])
    version = [0] * P  # of the model that each learner works from
    running = [(draw(i), i) for i in range(P)]  # (when it ends, learner)
    heapify(running)
    for j in range(updates):
        for left in range(K - 1, -1, -1):
            now, i = running[0]
            learners.append(i)
            staleness.append(j - version[i])
            if batch and left:  # goes on at once with the current model
                version[i] = j
                heapreplace(running, (now + draw(i), i))
            else:
                heappop(running)
        times.append(now)
        if sync:  # everybody begins again
            version = [j + 1] * P
            running = [(now + draw(i), i) for i in range(P)]
            heapify(running)
        else:
            for i in learners[-1:] if batch else learners[-K:]:
                version[i] = j + 1
                heappush(running, (now + draw(i), i))
    return timeline


class Message(NamedTuple):
    """A push in the inbox of the server, and the event by which the server lets the learner go on."""

    learner: int
    version: int
    go_on: simpy.Event


class SimPyRace:
    """The four variants in SimPy: a process for every learner, one for the server, and a store between them.

    Simultaneous events are in SimPy's order, which is that of scheduling and not that of the learners.
    """

    def __init__(self, variant: str, P: int, K: int, draw: Draw, updates: int) -> None:
        self.sync, self.batch = variant.endswith("-sync"), "batch" in variant
        self.K, self.draw, self.updates = K, draw, updates
        self.env = simpy.Environment()
        self.inbox = simpy.Store(self.env)
        self.version = 0
        self.timeline = Timeline([], [], [])
        self.learners = [self.env.process(self.learner(i)) for i in range(P)]

    def learner(self, i: int) -> Generator[Any, Any, None]:
        while True:
            version = self.version
            try:
                yield self.env.timeout(self.draw(i))
                go_on = self.env.event()
                self.inbox.put(Message(i, version, go_on))
                yield go_on
            except simpy.Interrupt:  # the update came first: pull it and begin again
                pass

    def server(self) -> Generator[Any, Any, None]:
        for j in range(self.updates):
            messages: list[Message] = []
            while len(messages) < self.K:
                message = yield self.inbox.get()
                if self.sync and message.version < j:  # of a learner that the last update interrupted
                    continue
                messages.append(message)
                if self.batch and len(messages) < self.K:
                    message.go_on.succeed()
            self.version = j + 1
            self.note(j, messages)
            if self.sync:
                for process in self.learners:
                    process.interrupt()
            else:
                for message in messages[-1:] if self.batch else messages:
                    message.go_on.succeed()

    def note(self, j: int, messages: list[Message]) -> None:
        self.timeline.times.append(self.env.now)
        self.timeline.learners.extend(message.learner for message in messages)
        self.timeline.staleness.extend(j - message.version for message in messages)

    def run(self) -> Timeline:
        self.env.run(until=self.env.process(self.server()))
        return self.timeline


def simpy_race(variant: str, P: int, K: int, draw: Draw, updates: int) -> Timeline:
    """A race in SimPy."""
    return SimPyRace(variant, P, K, draw, updates).run()
