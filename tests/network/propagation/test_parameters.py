"""Tests of the keys that a scenario may set for propagation, and of the errors for all other keys."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from mobilenet.network.propagation.parameters import ONLY, PathLossParameters, ShadowingParameters


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ({"model": "umi", "exponent": 2.0}, "exponent: has no effect with model: umi, only with log_distance; leave"),
        ({"frequency_ghz": 5.0}, "frequency_ghz: has no effect with model: log_distance, only with free_space or umi"),
        (
            {"model": "three_slope", "breaks_m": (1.0, 500.0, 200.0)},
            "breaks_m: expected three increasing distances, got",
        ),
        ({"model": "umi", "host_height_m": 1.0}, "greater than or equal to 1.5"),
        ({"exponents": (1.0, 2.0, 3.0)}, "exponents: has no effect with model: log_distance, only with three_slope"),
        ({"slope": 3.0}, "Extra inputs are not permitted"),
    ],
)
def test_malformed_path_loss_parameters_are_rejected(keys: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError) as caught:
        PathLossParameters(**keys)
    assert complaint in str(caught.value)


def test_only_the_keys_of_the_path_loss_model_are_saved() -> None:
    for model, names in ONLY.items():
        assert set(PathLossParameters(model=model).model_dump()) == {"model", *names}  # type: ignore[arg-type]


def test_shadowing_requires_a_correlation_length() -> None:
    with pytest.raises(ValidationError):
        ShadowingParameters(decorrelation_m=0.1)
