"""Find the settings that matter most, by Morris screening in the form of a study."""
