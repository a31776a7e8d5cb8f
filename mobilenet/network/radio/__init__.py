"""The radio: how long a frame lasts (phy), who may send when (mac), who hears it and what collides (medium)."""
