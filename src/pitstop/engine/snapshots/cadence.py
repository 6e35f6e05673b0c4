"""When which state is saved: snapshots, ends of trainings, best epochs.  Pure: times are given."""

from collections.abc import Iterable, Mapping

from pitstop.store.best_rule import parse_best_rule

_SHORTEST_INTERVAL_NS = 200_000_000
_SHORTEST_EARLY_NS = 20_000_000
_EARLY_PART = 4
_LONGEST_START_NS = 60_000_000_000
_RETRY_NS = 20_000_000
_SMOOTHING = 0.3
# The most that the first snapshot costs beyond a later one: lazy imports and traces.
_ONCE_SECONDS = 0.05
_LEAST_FIRST_PART = 0.1
_NEVER = 1 << 62
# Of the budget; the rest is for what runs all the time (the step boundary, the
# supervisor) and for writing to disk beside the training.
_SNAPSHOTS_SHARE = 0.5
_MILESTONES_SHARE = 0.5
_FIRST_MILESTONES = 20
_MILESTONE_SECONDS = 0.05


class Cadence:
    """Turns a budget, and a fixed interval if there is one, into due times.

    A snapshot of c seconds (smoothed) is taken every c / (overhead / 2) seconds: half of the
    budget. What the time before the first step has earned, a minute's at most, is spent soon after
    it: a kill in the first second loses a fifth of it, not all. Of the first snapshot's cost only
    what every snapshot costs counts: up to 0.05 s, at most 90 %, is taken for work that comes once.
    """

    def __init__(
        self,
        overhead: float,
        every_steps: int = 0,
        every_ns: int = 0,
        last_step: int = 0,
        *,
        by_budget: bool = True,
    ) -> None:
        """Plans nothing until `start`; 0 turns an interval, or the last step, off."""
        self._by_budget = by_budget
        self._share = overhead * _SNAPSHOTS_SHARE
        self._every_steps = every_steps
        self._every_ns = every_ns
        self._cost_seconds = 0.0
        self._measured = 0
        self._earned_seconds: float | None = None
        self._origin_ns = 0
        self._taken_ns = 0
        self._last_step = last_step or _NEVER
        self._first_step = _NEVER
        self._due_step = _NEVER
        self._budget_due_ns = _NEVER
        self._fixed_due_ns = _NEVER

    def start(self, step: int, now_ns: int, age_ns: int = 0, *, marks: bool = False) -> None:
        """The first snapshot follows the first step, or with `marks` comes before it.

        In a later training it comes where it is due: some are no longer than a step.
        """
        if self._earned_seconds is None:
            self._earned_seconds = self._share * min(age_ns, _LONGEST_START_NS) / 1e9
            self._taken_ns = now_ns
        if self._by_budget and (not self._origin_ns or now_ns >= self._budget_due_ns):
            self._first_step = step + 1
        if self._by_budget and marks:
            self._first_step = step
        self._plan_fixed(step, now_ns)

    def due(self, step: int, now_ns: int) -> bool:
        by_budget = step >= self._first_step or now_ns >= self._budget_due_ns
        return by_budget or self.asked(step, now_ns)

    def fixed_due(self, step: int, now_ns: int) -> bool:
        return step >= self._due_step or now_ns >= self._fixed_due_ns

    def asked(self, step: int, now_ns: int) -> bool:
        return step >= self._last_step or self.fixed_due(step, now_ns)

    def taken(self, step: int, now_ns: int) -> None:
        self._first_step = _NEVER
        self._origin_ns = self._origin_ns or now_ns
        self._plan_fixed(step, now_ns)
        self._taken_ns = now_ns
        self._plan_budget()

    def cost_measured(self, seconds: float) -> None:
        self._measured += 1
        if self._measured == 1:
            seconds = max(seconds - _ONCE_SECONDS, _LEAST_FIRST_PART * seconds)
        if self._measured <= 2:
            # The second snapshot is the first that tells what one costs.
            self._cost_seconds = seconds
        else:
            self._cost_seconds += _SMOOTHING * (seconds - self._cost_seconds)
        self._plan_budget()
        self._earned_seconds = max(0.0, (self._earned_seconds or 0.0) - seconds)

    def postponed(self, now_ns: int, by_ns: int = _RETRY_NS) -> None:
        """The snapshot could not be taken now; it is tried again, usually shortly."""
        self._first_step = _NEVER
        self._budget_due_ns = now_ns + by_ns if self._by_budget else _NEVER

    def _plan_budget(self) -> None:
        interval_ns = int(self._cost_seconds / self._share * 1e9)
        interval_ns = max(interval_ns, _SHORTEST_INTERVAL_NS)
        if self._cost_seconds < (self._earned_seconds or 0.0):
            so_far_ns = self._taken_ns - self._origin_ns
            interval_ns = min(interval_ns, max(so_far_ns // _EARLY_PART, _SHORTEST_EARLY_NS))
        self._budget_due_ns = self._taken_ns + interval_ns if self._by_budget else _NEVER

    def _plan_fixed(self, step: int, now_ns: int) -> None:
        if self._every_steps:
            self._due_step = (step // self._every_steps + 1) * self._every_steps
        if self._every_ns and (self._fixed_due_ns <= now_ns or self._fixed_due_ns == _NEVER):
            self._fixed_due_ns = now_ns + self._every_ns


class Allowance:
    """Earns a share of the time, a minute's share at most, and knows what the next thing costs."""

    def __init__(self, share: float, now_ns: int, age_ns: int) -> None:
        self._share = share
        self._most_ns = share * _LONGEST_START_NS
        self._at_ns = now_ns - age_ns
        self._left_ns = self._cost_ns = 0.0

    def covers(self, now_ns: int) -> bool:
        self._earn(now_ns)
        return self._left_ns >= min(self._cost_ns, self._most_ns)

    def spend(self, began_ns: int, now_ns: int) -> None:
        self._earn(now_ns)
        self._cost_ns = now_ns - began_ns
        self._left_ns -= self._cost_ns

    def _earn(self, now_ns: int) -> None:
        earned_ns = self._left_ns + self._share * (now_ns - self._at_ns)
        self._left_ns = min(earned_ns, self._most_ns)
        self._at_ns = now_ns


class Milestones:
    """Ends to save: the first twenty, and those of long trainings; others are trained again."""

    def __init__(self, overhead: float) -> None:
        """Nothing was saved yet; `last_saved` tells of the training that ended last."""
        self.left_out = 0
        self._share = overhead * _MILESTONES_SHARE
        self._cost_seconds = _MILESTONE_SECONDS
        self._begun_ns = self._repeats_until_ns = 0
        self.last_saved = False

    @property
    def short_ns(self) -> int:
        return int(self._cost_seconds / self._share * 1e9)

    def begin(self, now_ns: int, *, repeats: bool) -> None:
        """A training begins; `repeats`: its end was not saved, so that it is trained again."""
        self._begun_ns = now_ns
        self._repeats_until_ns = now_ns + self.short_ns if repeats else 0

    def repeats(self, now_ns: int) -> bool:
        """Whether an earlier attempt had come further than this training: its state is newer."""
        return now_ns < self._repeats_until_ns

    def is_worth_it(self, begun: int, now_ns: int) -> bool:
        return begun <= _FIRST_MILESTONES or now_ns - self._begun_ns > self.short_ns

    def wanted(self, begun: int, now_ns: int) -> bool:
        wanted = self.is_worth_it(begun, now_ns)
        self.left_out += not wanted
        self.last_saved = False
        return wanted

    def saved(self, seconds: float) -> None:
        self._cost_seconds = seconds
        self.last_saved = True


class BestWatch:
    """Knows the metrics of what is kept, and tells whether new ones are among the best."""

    def __init__(
        self, rules: Iterable[str], known: Iterable[tuple[int, Mapping[str, float]]]
    ) -> None:
        self._rules = [parse_best_rule(rule) for rule in rules]
        self._known = {step: dict(metrics) for step, metrics in known}

    @property
    def active(self) -> bool:
        return bool(self._rules)

    def accepts(self, step: int, metrics: Mapping[str, float]) -> bool:
        """Whether the state after this step is among the best, and is not kept yet."""
        if step in self._known:
            # This epoch's validation was repeated, after the epoch's own checkpoint.
            return False
        candidates = {**self._known, step: dict(metrics)}
        for rule in self._rules:
            name = rule.metric
            values = [(at, each[name]) for at, each in candidates.items() if name in each]
            if step in rule.choose(values):
                self._known = candidates
                return True
        return False
