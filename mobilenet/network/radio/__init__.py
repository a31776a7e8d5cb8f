"""The radio: how long a frame lasts (phy), who may send when (mac), which nodes hear it and what collides (medium)."""
