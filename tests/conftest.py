"""For all tests: hypothesis does not measure time, since other things may run on the machine."""

from hypothesis import settings

settings.register_profile("mobilenet", deadline=None, print_blob=True)
settings.load_profile("mobilenet")
