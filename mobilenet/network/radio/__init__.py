"""The radio: how long a frame lasts (phy), which node may send and when (mac), which nodes hear a frame, and which
frames collide (medium).
"""
