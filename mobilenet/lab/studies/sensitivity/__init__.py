"""Which settings matter: Morris screening, as a study."""
