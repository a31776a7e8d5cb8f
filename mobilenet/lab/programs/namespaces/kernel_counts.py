"""Read the counters of a node's kernel: the packets that passed through its device, and those that arrived corrupted.

Model     The record contains the packets that the emulator took from a device and put into it. The kernel counts these
          packets independently, so the counts reveal a packet that the emulator loses, duplicates or corrupts at the
          device
Units     packets, since the device was created
Source    Linux: proc_pid_net(5); RFC 1213 (SNMP counters)
"""

from __future__ import annotations

from pathlib import Path

DEVICE = "mob0"
IN, OUT = 1, 9  # columns of /proc/net/dev that contain the packets received and transmitted
CHECKED = (("snmp", "Icmp"), ("snmp", "Tcp"), ("snmp", "Udp"), ("netstat", "IpExt"))
DAMAGED = "InCsumErrors"


def kernel_counts(process: int) -> dict[str, int] | None:
    """Return the number of packets that went "out" of the device in the network namespace of a process, came "in" to
    it, and were "damaged". Return None if the process or its device no longer exists.
    """
    folder = Path(f"/proc/{process}/net")
    try:
        devices = dict(line.split(":") for line in (folder / "dev").read_text().splitlines()[2:])
        tables = {name: (folder / name).read_text().splitlines() for name in ("snmp", "netstat")}
    except (OSError, ValueError):
        return None
    own = next((counts.split() for name, counts in devices.items() if name.strip() == DEVICE), None)
    if own is None:
        return None
    damaged = sum(_count(tables[table], protocol) for table, protocol in CHECKED)
    return {"out": int(own[OUT]), "in": int(own[IN]), "damaged": damaged}


def _count(lines: list[str], protocol: str) -> int:
    """Return the number of corrupted packets of a protocol, from a line of names and a line of numbers."""
    rows = [line.split()[1:] for line in lines if line.startswith(f"{protocol}: ")]
    return int(dict(zip(*rows, strict=True)).get(DAMAGED, 0)) if len(rows) == 2 else 0
