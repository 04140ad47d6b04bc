/**
 * One sample of each format on the wire between nodes, in a data directory or in a trail, as bytes; and how it is
 * parsed. Recorded samples never change, since nodes, directories and trails of other builds have them.
 */
import { createPrivateKey, sign } from "node:crypto";
import { canonical, canonicalParts, hashOf, NO_HASH, signedLine } from "../../../../src/server/audit/audit-record.ts";
import { acknowledgedLine, chainLine, journalLine, readJournal } from "../../../../src/server/audit/journal-format.ts";
import { readLine } from "../../../../src/server/audit/verify/read-record.ts";
import { decodePayload, encodePayload } from "../../../../src/server/cluster/forward/forward-frame.ts";
import * as records from "../../../../src/server/cluster/storage/log-records.ts";
import * as snapshots from "../../../../src/server/cluster/transport/snapshot-frames.ts";
import {
  decodeBatch,
  decodeMessage,
  encodeBatch,
  encodeMessage,
} from "../../../../src/server/cluster/wire/consensus-message.ts";
import { createFrameDecoder, encodeFrame, encodeJson, KIND } from "../../../../src/server/cluster/wire/frame.ts";
import { describeHello, describeHelloOk, parseHello, parseHelloOk } from "../../../../src/server/cluster/wire/hello.ts";
import type { Message, MessageType } from "../../../../src/server/core/raft/index.ts";
import {
  createStateDecoder,
  createStateEncoder,
  decodeProposal,
  encodeCommand,
  encodeProposal,
} from "../../../../src/server/core/state/index.ts";

interface Sample {
  /** Omitted for a format that is read and no longer written. */
  write?(): Uint8Array;
  read(bytes: Buffer): unknown;
}

const CONFIGURATION = {
  voters: ["n1", "n2"],
  votersOutgoing: ["n1"],
  learners: ["n3"],
  learnersNext: [],
  autoLeave: true,
};
const SNAPSHOT = { index: 7, term: 2, configuration: CONFIGURATION };
const RECORD = {
  ...SNAPSHOT,
  now: 1_700_000_000_000,
  rows: 3,
  digest: "0f".repeat(16),
  size: 99,
  sha256: "ab".repeat(32),
};
const CHAIN = Buffer.alloc(records.CHAIN_BYTES, 5);
const ENTRY = { kind: "normal", term: 2, index: 9, data: Buffer.from("entry") } as const;

const TYPES: readonly MessageType[] = [
  "MsgApp",
  "MsgAppResp",
  "MsgVote",
  "MsgVoteResp",
  "MsgPreVote",
  "MsgPreVoteResp",
  "MsgHeartbeat",
  "MsgHeartbeatResp",
  "MsgSnap",
  "MsgTimeoutNow",
  "MsgReadIndex",
  "MsgReadIndexResp",
];

const messageOf = (type: MessageType): Message => ({
  type,
  from: "n1",
  to: "n2",
  term: 2,
  logTerm: 1,
  index: 8,
  commit: 6,
  reject: type.endsWith("Resp"),
  transfer: type === "MsgVote",
  hintIndex: 4,
  hintTerm: 1,
  context: type.startsWith("MsgHeartbeat") ? Buffer.from("round") : undefined,
  entries: type === "MsgApp" ? [ENTRY, { ...ENTRY, kind: "conf-change", index: 10 }] : [],
  snapshot: type === "MsgSnap" ? SNAPSHOT : undefined,
});

const SELF = {
  nodeId: "n1",
  storageId: "12".repeat(16),
  epoch: 1,
  clusterId: "fda64e3a063d37a6",
  proto: [1, 1],
  feat: 0,
  raftAddr: "n1:7000",
  incarnation: "run",
  joined: true,
  log: { lastIndex: 9, term: 2 },
} as const;

const PLACE = { node: "n1", kid: "chain-0000000000001", seq: 0, prev: NO_HASH, ts: "2026-01-02T03:04:05.678Z" };
/** RFC 8410, of 32 bytes of 7. */
const KEY = createPrivateKey({
  key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), Buffer.alloc(32, 7)]),
  format: "der",
  type: "pkcs8",
});

function auditLine(): string {
  const event = canonical({ event: "admin.write", controls: ["c-1"], data: { operation: "put_suspension", ok: true } });
  const parts = canonicalParts(event, PLACE);
  const digest = hashOf(parts);
  return signedLine(parts, digest.toString("base64url"), sign(null, digest, KEY).toString("base64url"));
}

const payloadOf = (frame: Buffer): Buffer => {
  const [first] = createFrameDecoder().push(frame);
  if (first === undefined) throw new Error("no frame");
  return first.payload;
};

const BY = { iss: "local", sub: "unix:0" };

export const SAMPLES: Readonly<Record<string, Sample>> = {
  frame: {
    write: () => encodeFrame({ kind: KIND.propose, id: 7, isLast: true }, Buffer.from("payload")),
    read: (bytes) => [...createFrameDecoder().push(bytes)],
  },
  hello: {
    write: () => encodeJson(describeHello(SELF, "raft", "n2", SELF.clusterId)),
    read: parseHello,
  },
  "hello of a build that says less": { read: parseHello },
  "answer to hello": { write: () => encodeJson(describeHelloOk(SELF, SELF.clusterId)), read: parseHelloOk },
  ...Object.fromEntries(
    TYPES.map((type) => [type, { write: () => encodeMessage(messageOf(type)), read: decodeMessage }] as const),
  ),
  "batch of messages": {
    write: () => encodeBatch([encodeMessage(messageOf("MsgVote")), encodeMessage(messageOf("MsgHeartbeat"))]),
    read: decodeBatch,
  },
  "forwarded request": {
    write: () => Buffer.concat(encodePayload({ timeout_ms: 5, keep: ["n1"] }, Buffer.from("body"))),
    read: decodePayload,
  },
  "announced snapshot": {
    write: () => snapshots.encodeAnnounce(messageOf("MsgSnap"), RECORD),
    read: (bytes) => snapshots.decodeSnapshotFrame(payloadOf(bytes)),
  },
  "chunk of a snapshot": {
    write: () => snapshots.encodeChunk(512, Buffer.from("chunk")),
    read: (bytes) => snapshots.decodeSnapshotFrame(payloadOf(bytes)),
  },
  "answer to a snapshot": {
    write: () => snapshots.encodeAck({ kind: "continue", offset: 3 }),
    read: (bytes) => snapshots.decodeAck(payloadOf(bytes)),
  },
  "entry on disk": { write: () => records.encodeEntry(ENTRY, CHAIN), read: (bytes) => records.decodeEntry(bytes, 9) },
  "hard state on disk": {
    write: () => records.encodeHardState({ term: 2, vote: "n1", commit: 6 }),
    read: records.decodeHardState,
  },
  "tail on disk": {
    write: () =>
      records.encodeTail({
        sequence: 4,
        base: { index: 1, term: 1, chain: CHAIN },
        last: { index: 9, term: 2, chain: CHAIN },
      }),
    read: records.decodeTail,
  },
  "generation on disk": { write: () => records.encodeGeneration(3), read: records.decodeGeneration },
  "snapshot's record on disk": {
    write: () => records.encodeSnapshotRecord(RECORD),
    read: records.decodeSnapshotRecord,
  },
  "entry's command": {
    write: () =>
      encodeProposal(
        1_700_000_000_000,
        encodeCommand({ v: 1, t: "key.delete", id: "i", c: "c", s: 1, by: BY, p: { name: "a" } }),
      ),
    read: decodeProposal,
  },
  "state file": {
    write() {
      const encoder = createStateEncoder();
      const rows = [encoder.row("feat/level", '1{"level":2}'), encoder.row("keyid/kAAA1", '1"ключ"')];
      return Buffer.concat([encoder.header(), ...rows, encoder.end()]);
    },
    read(bytes) {
      const decoder = createStateDecoder();
      return { rows: decoder.push(bytes), summary: decoder.end() };
    },
  },
  "audit record": { write: () => Buffer.from(auditLine()), read: readLine },
  "audit journal": {
    write: () =>
      Buffer.from(
        chainLine({ node: "n1", kid: PLACE.kid, succeeds: null }) + journalLine(auditLine()) + acknowledgedLine(0),
      ),
    read: readJournal,
  },
};
