"""A broadcast node written for Maelstrom as a process of mobilenet: python3 maelstrom.py COMMAND...

The node runs unmodified. Each event becomes one of Maelstrom's messages; then the node is asked to `read`. When it has
answered, its messages to other nodes are sent, and values that `read` shows for the first time are delivered. Emulated
time stands still meanwhile, so anything that a node does on its own clock, such as repeating a message, happens only
with the next event. If a delivery is missing when the run is over, the adapter listens to the node: if the node writes
without being asked, it acts on its own clock, and the adapter reports that. settings: {topology: all | line, workload:
broadcast | g-set | pn-counter}.

In a pn-counter each message adds a power of BASE, or subtracts it: every other message of a process. The digits of the
value that `read` shows are thus the messages that the node has counted, and how often.
"""

import json
import subprocess
import sys
import threading

MANY = 1_000_000  # values that one process broadcasts
WORKLOADS = {
    "broadcast": ("broadcast", "message", "messages"),
    "g-set": ("add", "element", "value"),
    "pn-counter": ("add", "delta", "value"),
}
BASE, MOST_ADDS = 5, 22  # below 2**53, beyond which many languages have no exact whole numbers
node = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
shown = set()
asked = 0


def give_up(words):
    """End with this as the last line of standard error, whatever the node would write there."""
    node.kill()
    node.wait()
    sys.exit(words)


def do(action, **keys):
    print(json.dumps({"do": action, **keys}, ensure_ascii=False))


def tell(body, source="c1"):
    node.stdin.write(json.dumps({"src": source, "dest": f"n{me}", "body": body}) + "\n")
    node.stdin.flush()


def message_of(line):
    """Destination and body of what the node wrote."""
    try:
        said = json.loads(line)
        to, body = said["dest"], said["body"]
        if not isinstance(body["type"], str) or (to.startswith("n") and to not in names):
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        give_up(f"the node wrote {line.strip()[:200]!r}, expected a message of Maelstrom to a node or a client")
    return to, body


def ask(body):
    """A client's request; what the node sends until its answer is there."""
    global asked
    asked += 1
    tell(body | {"msg_id": asked})
    for line in node.stdout:
        to, said = message_of(line)
        if to.startswith("n"):
            do("send", to=names.index(to), message=said)
        elif said.get("in_reply_to") == asked:
            if said["type"] == "error":
                give_up(f"the node answers {body['type']} with an error: {said}")
            return said
    sys.exit(f"the node has ended with exit code {node.wait()}")


def value_to_add(source, number):
    """What stands for a message."""
    if workload != "pn-counter":
        return source * MANY + number
    place = number * len(names) + source
    if place >= MOST_ADDS:
        give_up(f"a pn-counter shows at most {MOST_ADDS} messages apart, expected fewer processes or messages")
    return (-1) ** number * BASE**place


def counted(value):
    """The messages in a counter, each as often as it was counted."""
    if type(value) is not int:
        give_up(f"the node answers read with {str(value)[:200]}, expected a whole number as value")
    place = 0
    while value:
        digit = (value + BASE // 2) % BASE - BASE // 2
        number, source = divmod(place, len(names))
        times = digit * (-1) ** number
        if times < 0:  # the other sign: such a message was never broadcast
            number, times = MANY - 1, 1
        for again in range(times):
            if (source, number, again) not in shown:
                shown.add((source, number, again))
                do("deliver", id=[source, number])
        value, place = (value - digit) // BASE, place + 1


def deliver():
    """What the node shows now, and has not shown before."""
    answer = ask({"type": "read"})
    values = answer.get(listed)
    if workload == "pn-counter":
        counted(values)
        return
    if not isinstance(values, list) or not all(type(value) is int and value >= 0 for value in values):
        give_up(f"the node answers read with {str(answer)[:200]}, expected a list of whole numbers as {listed}")
    for value in values:
        if value not in shown:
            shown.add(value)
            do("deliver", id=list(divmod(value, MANY)))


def report_clock(listens_s):
    """Wait for a line that the node writes unasked."""
    silence = threading.Timer(listens_s, node.kill)  # its output ends
    silence.daemon = True
    silence.start()
    if node.stdout.readline():
        do("own_clock")


for line in sys.stdin:
    event = json.loads(line)
    if event["ev"] == "stop":
        if "listens_s" in event:
            report_clock(event["listens_s"])
        break
    if event["ev"] == "start":
        me, names = event["me"], [f"n{process}" for process in range(event["n"])]
        workload = event["settings"].get("workload", "broadcast")
        if workload not in WORKLOADS:
            give_up(f"settings.workload is {workload!r}, expected one of {', '.join(WORKLOADS)}")
        adds, value_of, listed = WORKLOADS[workload]
        line_up = event["settings"].get("topology") == "line"
        beside = {n: names[max(0, i - 1) : i] + names[i + 1 : i + 2] if line_up else [] for i, n in enumerate(names)}
        topology = beside if line_up else {name: [other for other in names if other != name] for name in names}
        ask({"type": "init", "node_id": f"n{me}", "node_ids": names})
        if workload == "broadcast":
            ask({"type": "topology", "topology": topology})
    elif event["ev"] == "broadcast":
        ask({"type": adds, value_of: value_to_add(*event["id"])})
    elif event["ev"] == "receive":
        tell(event["message"], f"n{event['from']}")
    deliver()
    print('{"do":"done"}', flush=True)
