"""Parameters of a scenario that describe the path between two antennas.

Model     Some keys belong to only one model of path loss (ONLY). Other models reject these keys.
Units     dB, metres, GHz
Errors    pydantic.ValidationError for a key that belongs to another model, or for breaks that do not increase.
Source    ns-3's defaults (LogDistancePropagationLossModel, ThreeLogDistancePropagationLossModel,
          NakagamiPropagationLossModel); 3GPP TR 38.901 (2017); Gudmundson: Correlation Model for Shadow Fading in
          Mobile Radio Systems (1991); Sommer, Eckhoff, German, Dressler: A Computationally Inexpensive Empirical Model
          of IEEE 802.11p Radio Shadowing in Urban Environments (2011)
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from mobilenet.parameters import Parameters

ONLY = {
    "log_distance": ("exponent", "reference_loss_db"),
    "three_slope": ("exponents", "breaks_m", "reference_loss_db"),
    "free_space": ("frequency_ghz",),
    "umi": ("frequency_ghz", "station_height_m", "host_height_m"),
}

Exponent = Annotated[float, Field(ge=0, le=10)]
Break = Annotated[float, Field(gt=0, le=100_000)]


class PathLossParameters(Parameters):
    """Path loss: how the power of a signal decreases with the length of the link."""

    model: Literal["log_distance", "three_slope", "free_space", "umi"] = Field(
        default="log_distance",
        description="one exponent, three exponents, Friis, or 3GPP's street canyon (with and without line of sight)",
    )
    exponent: Exponent = Field(default=3.0, description="log_distance: path-loss exponent, which is 2 in free space")
    exponents: tuple[Exponent, Exponent, Exponent] = Field(
        default=(1.9, 3.8, 3.8), description="three_slope: exponents beyond the first, the second and the third break"
    )
    breaks_m: tuple[Break, Break, Break] = Field(
        default=(1.0, 200.0, 500.0), description="three_slope: distances from which the exponents apply"
    )
    reference_loss_db: float = Field(
        default=40.05, ge=0, le=200,
        description="loss up to 1 m (log_distance) or up to the first break (three_slope); default in mode a: 46.68",
    )  # fmt: skip
    frequency_ghz: float = Field(
        default=2.4, ge=0.1, le=100, description="free_space, umi: carrier frequency; default in mode a: 5.15"
    )
    station_height_m: float = Field(
        default=10.0, ge=1.5, le=100, description="umi: height of stations above the street"
    )
    host_height_m: float = Field(default=1.5, ge=1.5, le=100, description="umi: height of hosts above the street")

    @model_validator(mode="after")
    def _of_this_model(self) -> PathLossParameters:
        strangers = [name for name in self._foreign() if name in self.model_fields_set]
        if strangers:
            means = " or ".join(model for model, names in ONLY.items() if strangers[0] in names)
            raise ValueError(f"{strangers[0]}: has no effect with model: {self.model}, only with {means}; leave it out")
        return self

    @model_validator(mode="after")
    def _require_order(self) -> PathLossParameters:
        first, second, third = self.breaks_m
        if not first < second < third:
            raise ValueError(f"breaks_m: expected three increasing distances, got {first:g}, {second:g}, {third:g}")
        return self

    def _foreign(self) -> list[str]:
        """Return the keys that belong to other models of path loss."""
        return [name for name in type(self).model_fields if name != "model" and name not in ONLY[self.model]]

    @model_serializer(mode="wrap")
    def _meaningful(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        foreign = self._foreign()
        return {name: value for name, value in handler(self).items() if name not in foreign}


class ShadowingParameters(Parameters):
    """Shadowing by obstacles that the scenario does not contain. It is the same for every frame between the same two
    points.
    """

    sigma_db: float = Field(default=7.0, ge=0, le=30, description="standard deviation over positions")
    decorrelation_m: float = Field(
        default=13.0, ge=0.5, le=1000, description="distance at which the correlation falls to 1/e"
    )


class FadingParameters(Parameters):
    """Fading by many paths of different lengths. Each frame has a random gain at each receiver, whose mean is one."""

    model: Literal["nakagami"] = Field(
        default="nakagami", description="distribution of fading; nakagami: the power is gamma distributed"
    )
    m_near: float = Field(
        default=1.5, ge=0.5, le=100, description="Nakagami's m at distances below near_m; 1: Rayleigh"
    )
    m_far: float = Field(default=0.75, ge=0.5, le=100, description="Nakagami's m at distances of near_m and more")
    near_m: float = Field(default=80.0, ge=0, le=100_000, description="distance from which m_far applies")


class ObstaclesParameters(Parameters):
    """Buildings that weaken the signals that pass through them."""

    file: str = Field(min_length=1, max_length=1000, description="file of buildings, GeoJSON or SUMO's poly.xml")
    per_wall_db: float = Field(default=9.0, ge=0, le=100, description="loss for each wall that a link crosses")
    per_metre_db: float = Field(default=0.4, ge=0, le=100, description="loss for each metre inside a building")
