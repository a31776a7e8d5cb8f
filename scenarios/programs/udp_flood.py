"""Flooding over plain UDP: the program knows its peers, and has no code for emulators. Numbers keep the messages of
each sender in order, unless the sender crashes: after a restart, it counts from 0 again.

udp_flood.py ADDRESS PORT PEER:PORT,PEER:PORT,... SECONDS_BETWEEN_BROADCASTS SECONDS_OF_BROADCASTS
"""

import random
import socket
import sys
import time

address, port, peers, interval_s = sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
last_s = time.monotonic() + float(sys.argv[5])
me = int(address.rpartition(".")[2])
peers = [(peer.partition(":")[0], int(peer.partition(":")[2])) for peer in peers.split(",") if peer]
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
own.bind((address, port))
sent = 0
known = {}  # (sender, number) -> when to send it again
expected = {}  # sender -> the number to deliver next
next_s = time.monotonic() + random.uniform(0, interval_s)


def take(sender, number):
    """Keep a message, and deliver all messages that are now in order."""
    if (sender, number) in known:
        return
    known[sender, number] = None
    while (sender, expected.setdefault(sender, 0)) in known:
        print(f"deliver {sender} {expected[sender]}", flush=True)
        expected[sender] += 1
    for peer in peers:
        own.sendto(f"{sender} {number}".encode(), peer)


while True:
    own.settimeout(max(0.001, next_s - time.monotonic()) if next_s < last_s else None)
    try:
        sender, number = own.recv(2000).split()
        take(int(sender), int(number))
    except TimeoutError:
        print(f"broadcast {sent}", flush=True)
        sent += 1
        take(me, sent - 1)
        next_s += random.expovariate(1 / interval_s)
