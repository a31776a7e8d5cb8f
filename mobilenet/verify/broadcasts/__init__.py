"""What a broadcast promises, among hosts."""
