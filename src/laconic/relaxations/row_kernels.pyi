from laconic.core.arrays import Floats, Mask
from laconic.relaxations.l1_splitting import Memory

def project_cones(
    Z: Floats, z: Floats, weight: float, k: int, levels: bool, mu: Floats, start: Floats, Y: Floats, y: Floats
) -> None: ...
def advance(
    S: Floats,
    k: int,
    inside: Mask,
    stiffness: float,
    steps: int,
    u: Floats,
    Y: Floats,
    mu: Floats,
    ratio: Floats,
    d: Floats,
    basis: Floats,
    residual: float,
    memory: Memory,
) -> tuple[Floats, Floats, float, bool]: ...
