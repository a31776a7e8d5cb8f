"""The radio: the duration of frames (phy), access to the medium (mac), and reception and collisions (medium)."""
