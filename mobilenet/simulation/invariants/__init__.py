"""What must hold in every run if mobilenet itself is right, checked on the live objects."""
