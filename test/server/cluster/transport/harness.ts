/** Test transports: received messages are kept, files are in a directory of their own, and all is closed at the end. */

import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SnapshotRecord } from "../../../../src/server/cluster/storage/types.ts";
import {
  type ClockReading,
  startTransport,
  type Transport,
  type TransportOptions,
} from "../../../../src/server/cluster/transport/index.ts";
import type { Message } from "../../../../src/server/core/raft/index.ts";
import { atEnd, type Owner } from "../../../e2e/support/wait.ts";
import { identityOf, type MadeOptions } from "../identity/made.ts";
import { type MemoryLog, memoryLog } from "../wire/memory-log.ts";
import { selfOf } from "../wire/selves.ts";

export interface TestNode {
  readonly id: string;
  readonly transport: Transport;
  readonly dir: string;
  readonly messages: Message[];
  readonly unreachable: string[];
  readonly removals: (readonly [index: number, from: string])[];
  /** Peers that refused this node, with the code. */
  readonly refusals: (readonly [code: string, peer: string])[];
  readonly safe: (readonly [peer: string, index: number])[];
  readonly clocks: (readonly [peer: string, reading: ClockReading])[];
  readonly snapshots: { readonly message: Message; readonly record: SnapshotRecord }[];
  readonly log: MemoryLog;
}

export async function testNode(
  owner: Owner,
  id: string,
  over: Partial<TransportOptions> = {},
  made: MadeOptions = {},
): Promise<TestNode> {
  const identity = await identityOf(id, made);
  const dir = await mkdtemp(join(tmpdir(), "transport-"));
  atEnd(owner, () => rm(dir, { recursive: true, force: true }));
  const node = {
    id,
    dir,
    messages: [],
    unreachable: [],
    removals: [],
    refusals: [],
    safe: [],
    clocks: [],
    snapshots: [],
    log: memoryLog(),
  };
  const kept: Omit<TestNode, "transport"> = node;
  const transport = await startTransport({
    listen: "127.0.0.1:0",
    identity,
    self: selfOf(identity),
    refusalCodeFor: () => undefined,
    rollbackCodeFor: () => undefined,
    decidesRivalry: () => true,
    onRefused: (code, peer) => kept.refusals.push([code, peer]),
    onRefusing: () => undefined,
    pulse: {
      now: Date.now,
      monotonic: () => performance.now(),
      safeIndex: () => 0,
      onSafeIndex: ({ nodeId }, index) => kept.safe.push([nodeId, index]),
      onClock: (peer, reading) => kept.clocks.push([peer, reading]),
    },
    onMessage: (message) => kept.messages.push(message),
    onUnreachable: (peer) => kept.unreachable.push(peer),
    onRemoved: (index, from) => kept.removals.push([index, from]),
    snapshotPath: ({ term, index }) => join(dir, `snap-${term}-${index}.bin`),
    mayReceive: () => true,
    onSnapshotReceived: (message, record) => kept.snapshots.push({ message, record }),
    log: kept.log,
    ...over,
  });
  atEnd(owner, () => transport.close());
  return { ...kept, transport };
}

export function know(node: TestNode, ...peers: readonly { readonly id: string; readonly address: string }[]): void {
  node.transport.setPeers(new Map(peers.map(({ id, address }) => [id, { raftAddr: address }])));
}

export function addressOf({ id, transport }: TestNode): { readonly id: string; readonly address: string } {
  return { id, address: transport.address };
}

export function messageOf(from: string, to: string, over: Partial<Message> = {}): Message {
  return {
    type: "MsgHeartbeat",
    from,
    to,
    term: 1,
    logTerm: 0,
    index: 0,
    commit: 0,
    reject: false,
    transfer: false,
    hintIndex: 0,
    hintTerm: 0,
    context: undefined,
    entries: [],
    snapshot: undefined,
    ...over,
  };
}

interface TestSnapshot {
  readonly path: string;
  readonly bytes: Buffer;
  readonly record: SnapshotRecord;
}

export async function testSnapshot(owner: Owner, size: number, index = 100, term = 3): Promise<TestSnapshot> {
  const dir = await mkdtemp(join(tmpdir(), "snapshot-"));
  atEnd(owner, () => rm(dir, { recursive: true, force: true }));
  const bytes = randomBytes(size);
  const path = join(dir, "source.bin");
  await writeFile(path, bytes);
  const record = {
    index,
    term,
    configuration: { voters: ["n1", "n2"], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false },
    now: 1_700_000_000_000,
    rows: 42,
    digest: "abcd",
    size,
    sha256: createHash("sha256").update(bytes).digest("hex"),
  };
  return { path, bytes, record };
}

export function snapshotMessage(from: string, to: string, record: SnapshotRecord, term = 5): Message {
  const { index, term: snapshotTerm, configuration } = record;
  return messageOf(from, to, { type: "MsgSnap", term, snapshot: { index, term: snapshotTerm, configuration } });
}
