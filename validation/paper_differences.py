"""What of the VCube papers does not come out: the names of their claims, as docs/validation/vcube.md sums them up."""

BUNDLING_DIFFERS: frozenset[str] = frozenset()
CAUSAL_DIFFERS: frozenset[str] = frozenset()
RELIABLE_FAILS: frozenset[str] = frozenset()
