"""The promises of a broadcast among hosts."""
