"""The parameter sets at which the peers are measured: those of `bench/data/peers.json`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """One CKKS parameter set, with the sizes of its primes in bits."""

    name: str
    log_n: int
    first: int
    scale: int
    depth: int
    specials: tuple[int, ...]
    dnum: int

    @property
    def degree(self) -> int:
        return 1 << self.log_n

    @property
    def slots(self) -> int:
        return self.degree // 2


SHAPES = (
    Shape("she14", 14, first=40, scale=38, depth=7, specials=(60, 60), dnum=4),
    Shape("she15", 15, first=43, scale=41, depth=9, specials=(60, 60, 60), dnum=4),
)
