// Flooding in FIFO order: one program in Node.js for the hosts and stations of mobilenet, which exchanges lines of
// JSON. It needs no packages. To use it in a scenario in the same folder:
//
//     protocol: {command: [node, flood.js], promises: fifo}
//
// The program sends the same messages as flood.py, but shares no code with it. A host repeats its message until its
// station has it. A station keeps the messages of each sender in order, sends new ones to its cell and to the other
// stations, and sends a host the messages that the host reports as missing. A host delivers a message only after all
// earlier messages of its sender. With --bug, an intentional mistake, a host stores only deliveries of its own
// messages: after a crash, it delivers the other hosts' messages a second time.
"use strict";

const AT_ONCE = 5; // number of missing messages that a station sends to a host at once

const BUG = process.argv.includes("--bug");
let actions = [];
const act = (name, keys) => actions.push({ do: name, ...keys });
const startTimer = () => act("timer", { name: "tick", between_ns: [200_000_000, 400_000_000] });

function host({ me, stable }) {
  // next: sender -> next number to deliver; own: sizes of bodies; taken: number of those that a station has
  const memory = stable ?? { member: false, session: 0, next: {}, taken: 0, own: [] };
  let cell = null;
  startTimer();

  const saveMemory = () => {
    act("store", { stable: memory });
    act("settled", { value: !memory.member || memory.taken === memory.own.length });
  };
  const deliver = (sender, number) => {
    memory.next[sender] = number + 1;
    act("deliver", { id: [sender, number] });
    if (!BUG || sender === me) saveMemory();
  };
  // Sends the oldest of the host's messages that no station has.
  const offer = () => {
    const size = memory.own[memory.taken];
    if (cell === null || size === undefined) return;
    act("send", { to: cell, message: ["new", [me, memory.taken], size], bytes: 16 + size, payload_bytes: size });
  };

  return {
    cell: (e) => {
      cell = e.station;
    },
    join: () => {
      if (cell === null || memory.member) return;
      memory.member = true;
      act("joined", { session: ++memory.session, station: cell });
      saveMemory();
    },
    leave: () => {
      if (!memory.member) return;
      memory.member = false;
      act("left", { session: memory.session });
      saveMemory();
    },
    broadcast: (e) => {
      if (!memory.member) return act("refuse");
      memory.own.push(e.payload_bytes);
      deliver(...e.id);
      offer();
    },
    timer: () => {
      if (memory.member && cell !== null) {
        offer();
        // JavaScript objects list integer keys in ascending order.
        const have = Object.entries(memory.next).flatMap(([sender, number]) => [Number(sender), number]);
        act("send", { to: cell, message: ["have", ...have], bytes: 16 + 4 * have.length });
      }
      startTimer();
    },
    receive: ({ message: [kind, ...rest] }) => {
      if (kind === "got" && rest[0] === me) {
        memory.taken = Math.max(memory.taken, rest[1]);
        saveMemory();
      } else if (kind === "told" && memory.member) {
        const [whose, number] = rest[0];
        if (number === (memory.next[whose] ?? 0)) deliver(whose, number);
      }
    },
  };
}

function station({ hosts }) {
  const logs = Array.from({ length: hosts }, () => []); // for each sender, the sizes of its bodies in order

  const tell = (how, sender, number, to) => {
    const size = logs[sender][number];
    act(how, { ...to, message: ["told", [sender, number], size], bytes: 16 + size, payload_bytes: size });
  };
  // Returns whether it is the next one of its sender.
  const take = (sender, number, size) => {
    if (number !== logs[sender].length) return false;
    logs[sender].push(size);
    tell("broadcast", sender, number);
    return true;
  };
  const tellMissing = (to, have, left) => {
    for (const [sender, log] of logs.entries())
      for (let number = have.get(sender) ?? 0; number < log.length && left > 0; number++, left--)
        tell("send", sender, number, { to });
  };

  return {
    receive: ({ from, message: [kind, ...rest] }) => {
      if (kind === "have") {
        const have = new Map();
        for (let i = 0; i < rest.length; i += 2) have.set(rest[i], rest[i + 1]);
        return tellMissing(from, have, AT_ONCE);
      }
      const [id, size] = rest;
      if (take(...id, size)) tell("wire", ...id, { to: null });
      act("send", { to: from, message: ["got", from, logs[from].length], bytes: 16 });
    },
    wire: ({ message: [, id, size] }) => take(...id, size),
  };
}

let node;
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const event = JSON.parse(line);
  if (event.ev === "stop") process.exit();
  if (event.ev === "start") node = { host, station }[event.role](event);
  else node[event.ev]?.(event);
  act("done");
  process.stdout.write(actions.map((action) => `${JSON.stringify(action)}\n`).join(""));
  actions = [];
});
