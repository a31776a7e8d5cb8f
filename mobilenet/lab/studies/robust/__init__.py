"""Tests the robustness of a study: whether its comparison has the same result on other radios."""
