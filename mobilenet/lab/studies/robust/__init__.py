"""Test whether the comparison of a study has the same result on other radios."""
