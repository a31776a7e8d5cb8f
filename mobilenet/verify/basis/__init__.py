"""What every verdict needs: the evidence, its form, and the words of a verdict."""
