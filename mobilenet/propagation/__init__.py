"""What a link loses between two places: distance, walls, the shadows of what nobody drew, and fading.

Knows       the engine and tracks; nothing of frames, nodes or scenarios
"""
