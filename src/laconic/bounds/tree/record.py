"""The record of a tree search, from which its bound can be proved without searching again."""

from dataclasses import dataclass

from laconic.bounds.tree.node import Outcome
from laconic.proof.witnesses.dual import DualWitness
from laconic.proof.witnesses.plain import ExhaustiveWitness
from laconic.proof.witnesses.tree import Decision, TreeNode, TreeWitness

# A record holds at most this many numbers (160 MB). Later nodes are left out: the weaker bounds of parents serve.
MOST_NUMBERS = 20_000_000


@dataclass
class _Entry:
    decisions: tuple[Decision, ...] = ()
    bound: DualWitness | ExhaustiveWitness | None = None
    feature: int = -1
    without: int = -1
    within: int = -1


class Record:
    """The tree as it grows. `cut_off` says whether nodes were left out because the record was full."""

    def __init__(self) -> None:
        self._entries: list[_Entry] = []
        self._size = 0
        self.cut_off = False

    def new(self) -> int:
        """Return the place of a new node."""
        self._entries.append(_Entry())
        return len(self._entries) - 1

    def branched(self, place: int, feature: int) -> tuple[int, int]:
        """Return the places of the children of a node that a feature divides: without the feature, and with it."""
        entry = self._entries[place]
        entry.feature, entry.without, entry.within = feature, self.new(), self.new()
        return entry.without, entry.within

    def put(self, outcome: Outcome) -> None:
        """Keep the decisions and the bound of a node."""
        points = [d.witness for d in outcome.decisions]
        if isinstance(outcome.bound, DualWitness):
            points.append(outcome.bound)
        self._size += sum(part.size for p in points for part in (p.levels, p.norms) if part is not None)
        self.cut_off = self.cut_off or self._size > MOST_NUMBERS
        if not self.cut_off:
            entry = self._entries[outcome.place]
            entry.decisions, entry.bound = outcome.decisions, outcome.bound

    def witness(self) -> TreeWitness | None:
        """Return the tree, or None if its root has no bound. A node has its own bound if a child of it has none."""
        known = self._known()
        if not known or not known[0]:
            return None
        order: dict[int, int] = {}
        pending = [0]
        while pending:
            place = pending.pop()
            order[place] = len(order)
            entry = self._entries[place]
            if self._divided(entry, known):
                pending += [entry.within, entry.without]
        nodes = []
        for place in order:
            entry = self._entries[place]
            if self._divided(entry, known):
                children = order[entry.without], order[entry.within]
                nodes.append(TreeNode(entry.decisions, None, entry.feature, *children))
            else:
                nodes.append(TreeNode(entry.decisions, entry.bound))
        return TreeWitness(tuple(nodes))

    def _known(self) -> list[bool]:
        """Return for each node whether it has a bound: its own, or that of both children, which come after it."""
        known = [False] * len(self._entries)
        for place in reversed(range(len(known))):
            entry = self._entries[place]
            known[place] = entry.bound is not None or self._divided(entry, known)
        return known

    def _divided(self, entry: _Entry, known: list[bool]) -> bool:
        return entry.feature >= 0 and known[entry.without] and known[entry.within]
