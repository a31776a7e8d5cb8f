"""Run programs in any language as hosts, stations and processes."""
