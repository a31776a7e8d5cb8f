"""A node for the broadcast workload of Maelstrom: it sends each value that is new to it to its neighbours.

It contains no code for mobilenet.
"""

import json
import sys

values, neighbours, me = [], [], None
for line in sys.stdin:
    request = json.loads(line)
    body = request["body"]
    answer = {"type": body["type"] + "_ok"}
    if body["type"] == "init":
        me = body["node_id"]
    elif body["type"] == "topology":
        neighbours = body["topology"][me]
    elif body["type"] == "read":
        answer["messages"] = values
    elif body["type"] in ("broadcast", "gossip") and body["message"] not in values:
        values.append(body["message"])
        for neighbour in neighbours:
            if neighbour != request["src"]:
                gossip = {"type": "gossip", "message": body["message"]}
                print(json.dumps({"src": me, "dest": neighbour, "body": gossip}), flush=True)
    if "msg_id" in body:
        answer["in_reply_to"] = body["msg_id"]
        print(json.dumps({"src": me, "dest": request["src"], "body": answer}), flush=True)
