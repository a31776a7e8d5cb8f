"""Run the programs of a node in namespaces, with a network device whose packets the emulator reads and writes."""
