"""The namespaces for the programs of a node, with a network device whose packets the emulator reads and writes."""
