"""Whether a record of hosts agrees with itself and with its scenario."""
