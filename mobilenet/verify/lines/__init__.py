"""What programs were told, and what they said."""
