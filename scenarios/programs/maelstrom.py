"""A broadcast node written for Maelstrom as a process of mobilenet: python3 maelstrom.py COMMAND...

The node runs unmodified. The adapter translates each event to a message of Maelstrom and then asks the node to `read`.
After the answer, it sends the node's messages to other nodes and delivers values that `read` shows for the first time.
Emulated time stands still meanwhile, so anything that a node does on its own clock, such as repeating a message, takes
effect only with the next event. If a delivery is missing at the end of the run, the adapter listens to the node: if the
node writes without being asked, it acts on its own clock, and the adapter reports that.
settings: {topology: all | line, workload: broadcast | g-set | pn-counter}.

In a pn-counter, each message adds or subtracts a power of BASE; the messages of a process alternate between the two.
The digits of the value that `read` shows thus state which messages the node has counted, and how often.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import threading

MANY = 1_000_000  # values that one process broadcasts
WORKLOADS = {
    "broadcast": ("broadcast", "message", "messages"),
    "g-set": ("add", "element", "value"),
    "pn-counter": ("add", "delta", "value"),
}
BASE, MOST_ADDS = 5, 22  # below 2**53, beyond which many languages cannot represent integers exactly
CLIENT = re.compile(r"c\d+")
command = shlex.join(sys.argv[1:])
if not command:
    sys.exit(
        "the command of the node is missing; expected it after maelstrom.py, as in [python3, maelstrom.py, ./node]"
    )
try:
    node = subprocess.Popen(
        sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", errors="surrogateescape"
    )
except (OSError, ValueError) as error:
    sys.exit(f"{command}: the node cannot be started: {getattr(error, 'strerror', None) or error}")
delivered_values = set()
asked = 0


def give_up(words):
    """Exit with these words as the last line of standard error, regardless of what the node writes there."""
    node.kill()
    node.wait()
    print(f"{command}: {words}", file=sys.stderr, flush=True)
    os._exit(1)  # otherwise Python would complain about input that the node has not read


def has_ended():
    """Give up on a node that has stopped reading or writing."""
    try:
        code = node.wait(timeout=1)
    except subprocess.TimeoutExpired:
        give_up("the node has closed its standard input or output, expected it to answer until its input ends")
    give_up(f"the node has ended with exit code {code}")


def do(action, **keys):
    print(json.dumps({"do": action, **keys}, ensure_ascii=False))


def tell(body, source="c1"):
    try:
        node.stdin.write(json.dumps({"src": source, "dest": f"n{me}", "body": body}) + "\n")
        node.stdin.flush()
    except OSError:
        has_ended()


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def message_of(line):
    """Return the destination and the body of a message that the node wrote."""
    written = repr(line.strip()[:200].encode("utf-8", "surrogateescape"))[1:]
    try:
        line.encode()
        message = json.loads(line, parse_constant=refuse_constant)
        json.dumps(message, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError as error:
        what = "half a character (a lone surrogate)" if error.object != line else "bytes that are not UTF-8"
        give_up(f"the node wrote {what} in {written}, expected UTF-8")
    except (ValueError, RecursionError) as error:
        why = str(error) if "JSON" in str(error) else "not JSON"
        give_up(f"the node wrote {written}, expected a message of Maelstrom in one line of JSON ({why})")
    try:
        to, body = message["dest"], message["body"]
        if not isinstance(body["type"], str) or not isinstance(to, str):
            raise TypeError
    except (KeyError, TypeError):
        give_up(f"the node wrote {written}, expected a message of Maelstrom with dest, body and the body's type")
    if to not in names and not CLIENT.fullmatch(to):
        give_up(f"the node wrote {written}, expected a message to a node (n0 to {names[-1]}) or a client (c1)")
    return to, body


def ask(body):
    """Send a client's request to the node. Forward its messages to other nodes until its answer arrives, and return the
    answer.
    """
    global asked
    asked += 1
    tell(body | {"msg_id": asked})
    for line in node.stdout:
        to, message = message_of(line)
        if to.startswith("n"):
            do("send", to=names.index(to), message=message)
        elif message.get("in_reply_to") == asked:
            if message["type"] == "error":
                give_up(f"the node answers {body['type']} with an error: {message}")
            return message
    has_ended()


def value_to_add(source, number):
    """Return the number that stands for a message."""
    if workload != "pn-counter":
        return source * MANY + number
    place = number * len(names) + source
    if place >= MOST_ADDS:
        give_up(f"a pn-counter shows at most {MOST_ADDS} messages apart, expected fewer processes or messages")
    return (-1) ** number * BASE**place


def deliver_counted(value):
    """Deliver the messages in a counter, each as often as it was counted."""
    if type(value) is not int:
        give_up(f"the node answers read with {str(value)[:200]}, expected a whole number as value")
    place = 0
    while value:
        digit = (value + BASE // 2) % BASE - BASE // 2
        number, source = divmod(place, len(names))
        times = digit * (-1) ** number
        if times < 0:  # wrong sign: no such message was ever broadcast
            number, times = MANY - 1, 1
        for again in range(times):
            if (source, number, again) not in delivered_values:
                delivered_values.add((source, number, again))
                do("deliver", id=[source, number])
        value, place = (value - digit) // BASE, place + 1


def deliver():
    """Deliver the values that the node shows for the first time."""
    answer = ask({"type": "read"})
    values = answer.get(listed)
    if workload == "pn-counter":
        deliver_counted(values)
        return
    if not isinstance(values, list) or not all(type(value) is int and value >= 0 for value in values):
        give_up(f"the node answers read with {str(answer)[:200]}, expected a list of whole numbers as {listed}")
    for value in values:
        if value not in delivered_values:
            delivered_values.add(value)
            do("deliver", id=list(divmod(value, MANY)))


def report_clock(listens_s):
    """Wait for a line that the node writes without being asked."""
    silence = threading.Timer(listens_s, node.kill)  # this ends the output of the node
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
