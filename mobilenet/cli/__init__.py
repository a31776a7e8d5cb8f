"""The commands, by what people do with them. No logic: they read options, call the package, and print."""
