"""Small hostile scenarios drawn from seeds, by the thousand."""
