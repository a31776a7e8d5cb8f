"""What every verdict needs: the evidence, its form, and how a verdict is said."""
