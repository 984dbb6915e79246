"""Callers in model/ until they call `make`."""

from dataclasses import dataclass
from typing import Any

from laconic.core.monitor import Monitor
from laconic.covariance.make import Made, Recipe, make
from laconic.covariance.rows import SMALL_NUMBERS as SMALL_NUMBERS


@dataclass(frozen=True, eq=False)
class CovarianceOfData:
    covariance: Any
    standardization: Any
    digest: str
    missing: Any = None
    made: Made | None = None


def covariance_from(
    data: Any,
    *,
    center: bool,
    scale: bool,
    missing: str = "error",
    weights: Any = None,
    feature_names: Any = None,
    features: int | None = None,
    needed: Any = (),
    monitor: Monitor | None = None,
    checkpoint: Any = None,
    with_digest: bool = True,
    quiet: bool = True,
) -> CovarianceOfData:
    recipe = Recipe("rows", center, scale, None if missing == "error" else missing)  # type: ignore[arg-type]
    needed = () if needed is None else needed
    made = make(data, recipe, monitor, weights=weights, names=feature_names, features=features, needed=needed)
    return CovarianceOfData(made.covariance, made, made.digest() if with_digest else "", made.missing, made)
