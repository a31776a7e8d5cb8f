"""The lines to and from programs."""
