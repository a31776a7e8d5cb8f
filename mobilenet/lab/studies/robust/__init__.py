"""Whether a study's comparison comes out the same way on other radios."""
