"""Tests that the table of mutants in docs/validation/trust.md matches the lists of mutants, and that a test kills each
mutant.
"""

from __future__ import annotations

import pytest

from tests.write_mutant_table import PAGE, Mutants, rows, with_table


def test_the_mutant_table_is_up_to_date() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == with_table(text), "python -m tests.write_mutant_table"


def test_a_mutant_without_a_test_is_an_error() -> None:
    with pytest.raises(ValueError, match="no test kills b"):
        list(rows(Mutants("x", ["a", "b"], [(test_the_mutant_table_is_up_to_date, ["a"])])))
