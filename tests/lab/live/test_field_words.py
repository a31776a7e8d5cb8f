"""Tests that every row on the cards of built-in protocols has a description, and that every description is used."""

from __future__ import annotations

import dataclasses

import pytest

from mobilenet.lab.live.cards import card
from mobilenet.lab.live.field_words import WORDS
from mobilenet.lab.live.session import LiveSession
from mobilenet.scenario import load_scenario
from tests.conftest import SCENARIOS


@pytest.mark.parametrize(
    ("name", "changes"), [("first", []), ("first", ["protocol.repair=selective"]), ("tcp_dynamic", [])], ids=str
)
def test_every_row_of_a_live_card_has_a_description(name: str, changes: list[str]) -> None:
    session = LiveSession(load_scenario(SCENARIOS / f"{name}.yaml").with_changes(changes))
    session.play(4)
    count = 0
    for node in session.simulation.nodes:
        node_card = card(session.simulation, node.name)
        assert node_card is not None
        for own in (node_card, *node_card.get("contexts", [])):
            assert [field for field, _ in own["keeps"] if field not in own["words"]] == []
            count += len(own["keeps"])
    assert count > 50


def test_descriptions_refer_only_to_existing_fields() -> None:
    for kind, words in WORDS.items():
        if dataclasses.is_dataclass(kind):
            there = {field.name.removesuffix("_ns").replace("_", " ") for field in dataclasses.fields(kind)}
            assert set(words) <= there
