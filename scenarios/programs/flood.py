"""Flooding in FIFO order: one program for the hosts and stations of mobilenet, which exchanges lines of JSON.

A host repeats its message until its station has it. A station keeps the messages of each sender in order, sends new
ones to its cell and to the other stations, and sends a host the messages that the host reports as missing. A host
delivers a message only after all earlier messages of its sender. With --bug, an intentional mistake, a host delivers
each new message when it arrives, in any order.
"""

import json
import sys

TICK_NS = [200_000_000, 400_000_000]
AT_ONCE = 5  # number of missing messages that a station sends to a host at once

BUG = "--bug" in sys.argv
actions = []


def do(action, **keys):
    actions.append({"do": action, **keys})


class Host:
    def __init__(self, start):
        self.me, self.cell = start["me"], None
        memory = start["stable"] or {"member": False, "session": 0, "next": {}, "taken": 0, "own": []}
        self.memory = memory  # next: sender -> next number to deliver; own: sizes of bodies; taken: number of those
        do("timer", name="tick", between_ns=TICK_NS)

    def save_memory(self):
        memory = self.memory
        do("store", stable=memory)
        do("settled", value=not memory["member"] or memory["taken"] == len(memory["own"]))

    def cell_(self, e):
        self.cell = e["station"]

    def join(self, e):
        memory = self.memory
        if self.cell is not None and not memory["member"]:
            memory["member"], memory["session"] = True, memory["session"] + 1
            do("joined", session=memory["session"], station=self.cell)
            self.save_memory()

    def leave(self, e):
        if self.memory["member"]:
            self.memory["member"] = False
            do("left", session=self.memory["session"])
            self.save_memory()

    def broadcast(self, e):
        if not self.memory["member"]:
            return do("refuse")
        self.memory["own"].append(e["payload_bytes"])
        self.deliver(*e["id"])
        self.offer()

    def deliver(self, sender, number):
        if not BUG or sender == self.me:
            self.memory["next"][str(sender)] = number + 1
        do("deliver", id=[sender, number])
        self.save_memory()

    def offer(self):
        """Send the oldest of the host's messages that no station has."""
        memory, number = self.memory, self.memory["taken"]
        if self.cell is not None and number < len(memory["own"]):
            size = memory["own"][number]
            do("send", to=self.cell, message=["new", [self.me, number], size], bytes=16 + size, payload_bytes=size)

    def timer(self, e):
        if self.memory["member"] and self.cell is not None:
            self.offer()
            have = sorted((int(sender), number) for sender, number in self.memory["next"].items())
            # A pair would be interpreted as a message, and none is sent here.
            flat = [number for pair in have for number in pair]
            do("send", to=self.cell, message=["have", *flat], bytes=16 + 8 * len(have))
        do("timer", name="tick", between_ns=TICK_NS)

    def receive(self, e):
        kind, *rest = e["message"]
        if kind == "got" and rest[0] == self.me:
            self.memory["taken"] = max(self.memory["taken"], rest[1])
            self.save_memory()
        elif kind == "told" and self.memory["member"]:
            sender, number = rest[0]
            if BUG:
                self.deliver_in_any_order(sender, number)
            elif number == self.memory["next"].get(str(sender), 0):
                self.deliver(sender, number)

    def deliver_in_any_order(self, sender, number):
        ahead = self.memory.setdefault("ahead", {}).setdefault(str(sender), [])  # delivered before their turn
        first = self.memory["next"].setdefault(str(sender), 0)
        if number >= first and number not in ahead:
            self.deliver(sender, number)
            ahead.append(number)
        while self.memory["next"][str(sender)] in ahead:
            self.memory["next"][str(sender)] += 1


class Station:
    def __init__(self, start):
        self.logs = [[] for _ in range(start["hosts"])]  # for each sender, the sizes of its bodies in order

    def tell(self, how, sender, number, **to):
        size = self.logs[sender][number]
        do(how, message=["told", [sender, number], size], bytes=16 + size, payload_bytes=size, **to)

    def take(self, sender, number, size):
        """Accept a message if it is the next one of its sender. Return whether it was accepted."""
        if number != len(self.logs[sender]):
            return False
        self.logs[sender].append(size)
        self.tell("broadcast", sender, number)
        return True

    def receive(self, e):
        host, (kind, *rest) = e["from"], e["message"]
        if kind == "new":
            if self.take(*rest[0], rest[1]):
                self.tell("wire", *rest[0], to=None)
            do("send", to=host, message=["got", host, len(self.logs[host])], bytes=16)
            return
        have, left = dict(zip(rest[::2], rest[1::2], strict=True)), AT_ONCE
        for sender, log in enumerate(self.logs):
            missing = range(have.get(sender, 0), len(log))[:left]
            left -= len(missing)
            for number in missing:
                self.tell("send", sender, number, to=host)

    def wire(self, e):
        _, (sender, number), size = e["message"]
        self.take(sender, number, size)


node = None
for line in sys.stdin:
    event = json.loads(line)
    if event["ev"] == "stop":
        break
    if event["ev"] == "start":
        node = {"host": Host, "station": Station}[event["role"]](event)
    else:
        handler = getattr(node, {"cell": "cell_"}.get(event["ev"], event["ev"]), None)
        if handler is not None:
            handler(event)
    sys.stdout.write("".join(json.dumps(action) + "\n" for action in [*actions, {"do": "done"}]))
    sys.stdout.flush()
    actions.clear()
