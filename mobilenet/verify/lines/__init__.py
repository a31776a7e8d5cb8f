"""Judge the lines to and from programs."""
