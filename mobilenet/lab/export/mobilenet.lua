-- The header of mobilenet in captures of its radio, for Wireshark and tshark: -X lua_script:mobilenet.lua
-- It stands behind LLC/SNAP with the EtherType 0x88b5: a fixed part, the class of the message, and what else is known
-- as type, length and value. Numbers have the most significant byte first. Written by `mobilenet export --radio-pcap`.

local mobilenet = Proto("mobilenet", "mobilenet radio")
local TYPE, FIXED_BYTES, VERSION, MAC_ACK = 0x88b5, 17, 1, 29
local NO_OUTCOME = 255
local OUTCOMES = {
  [0] = "received", "collision", "never_attempted", "half_duplex", "random", "receiver_down", "bit_errors",
  "preamble_missed", "out_of_range",
}

local fields = {
  version = ProtoField.uint8("mobilenet.version", "Version"),
  class = ProtoField.string("mobilenet.class", "Class of the message"),
  sender = ProtoField.string("mobilenet.sender", "Sender"),
  receiver = ProtoField.string("mobilenet.receiver", "Receiver"),
  outcome = ProtoField.string("mobilenet.outcome", "Outcome"),
  attempt = ProtoField.uint8("mobilenet.attempt", "Attempt"),
  airtime_ns = ProtoField.uint64("mobilenet.airtime_ns", "Airtime, ns"),
  in_reach = ProtoField.uint16("mobilenet.in_reach", "Nodes within reach"),
  psdu_bytes = ProtoField.uint32("mobilenet.psdu_bytes", "PSDU, bytes"),
  power_dbm = ProtoField.double("mobilenet.power_dbm", "Received power, dBm"),
  sinr_db = ProtoField.double("mobilenet.sinr_db", "Lowest SINR, dB"),
  host = ProtoField.string("mobilenet.host", "Host"),
  session = ProtoField.int64("mobilenet.session", "Session"),
  message = ProtoField.string("mobilenet.message", "Application message"),
  held_back_by = ProtoField.string("mobilenet.held_back_by", "Held back by"),
  seq = ProtoField.int64("mobilenet.seq", "seq"),
  ack = ProtoField.int64("mobilenet.ack", "ack"),
  window = ProtoField.int64("mobilenet.window", "window"),
}
local by_type = {
  [48] = fields.host, [50] = fields.message, [51] = fields.held_back_by, [49] = fields.session, [52] = fields.seq,
  [53] = fields.ack, [54] = fields.window,
}
local hundredths = { [32] = fields.power_dbm, [33] = fields.sinr_db }
local is_text = { [48] = true, [50] = true, [51] = true }
local all = {}
for code = 0, 7 do  -- how many nodes within reach had this outcome
  fields[OUTCOMES[code]] = ProtoField.uint16("mobilenet.nodes." .. OUTCOMES[code], "Nodes, " .. OUTCOMES[code])
end
for _, field in pairs(fields) do
  all[#all + 1] = field
end
mobilenet.fields = all

local transmitter, receiver, kind_of = Field.new("wlan.ta"), Field.new("wlan.ra"), Field.new("wlan.fc.type_subtype")

-- 02:00, the letter of the kind of node, and the number: 02:00:68:00:00:03 is h3
local function name_of(address)
  local bytes = address.range
  local prefix, letter = bytes(0, 2):uint(), bytes(2, 1):uint()
  if prefix == 0xffff then
    return "all"
  end
  return prefix == 0x0200 and (letter == 0x68 or letter == 0x73) and string.format("%c%d", letter, bytes(3, 3):uint())
end

function mobilenet.dissector(buffer, packet, tree)
  if buffer:len() < FIXED_BYTES or buffer(0, 1):uint() ~= VERSION then
    return 0
  end
  local class_bytes, transmitted, received = buffer(FIXED_BYTES - 1, 1):uint(), transmitter(), receiver()
  local from, to = transmitted and name_of(transmitted), received and name_of(received)
  if not from or not to or buffer:len() < FIXED_BYTES + class_bytes then
    return 0  -- not ours, or cut off
  end
  local class, outcome = buffer(FIXED_BYTES, class_bytes), buffer(1, 1)
  local branch = tree:add(mobilenet, buffer(0, buffer:len()))
  branch:add(fields.version, buffer(0, 1))
  branch:add(fields.class, class)
  branch:add(fields.sender, from):set_generated()
  branch:add(fields.receiver, to):set_generated()
  if outcome:uint() ~= NO_OUTCOME then
    branch:add(fields.outcome, outcome, OUTCOMES[outcome:uint()] or "unknown")
  end
  branch:add(fields.attempt, buffer(2, 1))
  branch:add(fields.airtime_ns, buffer(3, 5), buffer(3, 5):uint64())
  branch:add(fields.in_reach, buffer(8, 2))
  branch:add(fields.received, buffer(10, 2))
  branch:add(fields.psdu_bytes, buffer(12, 4))
  local names, place = "", FIXED_BYTES + class_bytes
  while place + 2 <= buffer:len() and place + 2 + buffer(place + 1, 1):uint() <= buffer:len() do
    local kind, bytes = buffer(place, 1):uint(), buffer(place + 1, 1):uint()
    local value = buffer(place + 2, bytes)
    if hundredths[kind] then
      branch:add(hundredths[kind], value, value:int64():tonumber() / 100)
    elseif is_text[kind] then
      branch:add(by_type[kind], value)
    elseif by_type[kind] then
      branch:add(by_type[kind], value, value:int64())
    elseif OUTCOMES[kind] then
      branch:add(fields[OUTCOMES[kind]], value, value:int64():tonumber())
    end
    if kind == 50 then
      names = names .. " " .. value:string()
    end
    place = place + 2 + bytes
  end
  local summary = string.format("%s%s from %s to %s", class:string(), names, from, to)
  branch:append_text(", " .. summary)
  packet.cols.protocol = "mobilenet"
  packet.cols.info = string.format("%s, received by %d of %d", summary, buffer(10, 2):uint(), buffer(8, 2):uint())
  return buffer:len()
end

-- An acknowledgement of the MAC is only a header of 802.11; in the record it is a class like others.
local mac_ack = Proto("mobilenet_mac_ack", "mobilenet acknowledgement of the MAC")

function mac_ack.dissector(buffer, _, tree)
  local kind, address = kind_of(), receiver()
  local to = kind and kind.value == MAC_ACK and address and name_of(address)
  if to then
    local branch = tree:add(mobilenet, buffer(0, 0), "mobilenet radio, mac_ack to " .. to)
    branch:add(fields.class, "mac_ack"):set_generated()
    branch:add(fields.receiver, to):set_generated()
  end
end

register_postdissector(mac_ack)
DissectorTable.get("ethertype"):add(TYPE, mobilenet)
