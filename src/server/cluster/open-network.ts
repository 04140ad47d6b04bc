/**
 * Combines the raft transport and the forward listener into the network of a replica. A node without a cluster secret or
 * without addresses is a cluster of one that nobody can reach, so it opens no listener.
 */

import { randomBytes } from "node:crypto";
import { type Log, machineMonotonic } from "../../base/index.ts";
import type { Message } from "../core/raft/index.ts";
import { ClusterError } from "./cluster-error.ts";
import { createForwardClient, type ForwardAnswer, type ForwardReply, startForward } from "./forward/index.ts";
import { type ClusterKeys, createIdentity, type Peer, startCertificateRenewal } from "./identity/index.ts";
import type { Peers } from "./members/peers.ts";
import { type Network, type NetworkReply, type NetworkRequest, type NetworkRequestKind, NO_BODY } from "./network.ts";
import type { Header } from "./requests/cluster-requests.ts";
import type { SnapshotRecord, Storage } from "./storage/index.ts";
import { startTransport } from "./transport/index.ts";
import type { ClusterOptions } from "./types.ts";
import type { Hello } from "./wire/index.ts";

interface NetworkOptions {
  readonly options: ClusterOptions;
  readonly keys: ClusterKeys | undefined;
  readonly previousKeys: ClusterKeys | undefined;
  readonly storage: Storage;
  readonly log: Log;
  /** Returns the replica's peers; `undefined` until the node is a member. */
  peers(): Peers | undefined;
  onMessage(message: Message): void;
  onSnapshot(message: Message, record: SnapshotRecord): void;
  onUnreachable(id: string): void;
  onRemoved(index: number): void;
  onRequest(asked: NetworkRequest, timeoutMs: number): Promise<Header>;
  /** Answers a member's query about this node's measurements; `undefined` for no answer. */
  onRead(question: unknown, timeoutMs: number): Promise<Uint8Array | undefined>;
}

const PROTOCOL = [1, 1] as const;

/** Timeout of requests that set none, in milliseconds. */
const REQUEST_TIMEOUT_MS = 10_000;

/** Free space needed for a received snapshot and the state that is built from it, as a multiple of its size. */
const RECEIVE_FACTOR = 3;

const NO_NETWORK: Network = {
  send() {},
  sendSnapshot: () => Promise.reject(new ClusterError("conflict", "this node has no peers")),
  setPeers() {},
  sendRemoved() {},
  connected: () => new Set(),
  request: () => Promise.resolve({ kind: "unreachable", reason: "this node has no cluster.secret", isSilent: false }),
  close: () => Promise.resolve(),
};

/** Opens the network. Rejects with the error of a listener, which names its address. */
export async function openNetwork(network: NetworkOptions): Promise<Network> {
  const { options, keys, previousKeys, storage, log } = network;
  const canListen = options.raftAddr !== "" && options.forwardAddr !== "";
  if (keys === undefined || (!canListen && options.start.kind !== "join" && options.rejoin === undefined))
    return NO_NETWORK;

  const { nodeId } = options;
  const { storageId } = storage.log.identity;
  const self = {
    nodeId,
    storageId,
    clusterId: keys.clusterId,
    proto: PROTOCOL,
    feat: 0,
    raftAddr: options.advertise,
    incarnation: randomBytes(8).toString("hex"),
    /** Recovery epoch; `undefined` for a directory that was never part of a cluster. */
    get epoch() {
      return storage.log.isBlank ? undefined : storage.log.identity.recoveryEpoch;
    },
    get joined() {
      return storage.log.identity.hasJoined;
    },
    get log() {
      return network.peers()?.position();
    },
  };
  const identity = await createIdentity({
    keys,
    ...(previousKeys !== undefined && { previousKeys }),
    subject: { kind: "node", id: nodeId },
  });
  const stopRenewal = startCertificateRenewal(identity, {
    now: Date.now,
    onFailure: (error) => log.error("the node certificate was not renewed", { error }),
  });
  const refusalCodeFor = ({
    nodeId: id,
    storageId: storage,
    raftAddr = "",
    joined = false,
  }: Hello): string | undefined => {
    const peers = network.peers();
    // A peer that connects before the member directory exists would be missing from it while the connection lasts.
    return peers === undefined
      ? "busy"
      : peers.refusalCodeFor({ nodeId: id, storageId: storage, raftAddr, hasJoined: joined });
  };

  const transport = await startTransport({
    listen: options.raftAddr,
    identity,
    self,
    refusalCodeFor,
    rollbackCodeFor: ({ nodeId: id, storageId: storage, log: words }) =>
      network.peers()?.rollbackCodeFor({ nodeId: id, storageId: storage, log: words }),
    decidesRivalry: (id) => network.peers()?.decidesRivalry(id) === true,
    onRefused: (code, id) => network.peers()?.onRefused(code, id),
    onRefusing: (code, id) => network.peers()?.onRefusing(code, id),
    pulse: {
      now: Date.now,
      monotonic: machineMonotonic,
      safeIndex: () => network.peers()?.safeIndex() ?? 0,
      onSafeIndex: (peer, index) => network.peers()?.onSafeIndex(peer, index),
      onClock: (id, reading) => network.peers()?.onClock(id, reading),
    },
    onMessage: network.onMessage,
    onUnreachable: network.onUnreachable,
    onRemoved: network.onRemoved,
    snapshotPath: (meta) => storage.snapshotPath(meta),
    mayReceive: async (size) => (await storage.freeBytes()) >= RECEIVE_FACTOR * size,
    onSnapshotReceived: network.onSnapshot,
    log,
  });
  const client = createForwardClient({ identity, self });
  let forward: Awaited<ReturnType<typeof startForward>>;
  try {
    forward = await startForward({
      listen: options.forwardAddr,
      identity,
      self,
      refusalCodeFor: () => undefined,
      onRequest: async ({ kind, header, body, peer }) =>
        isNodeRead(header, peer) ? read(header, network) : answer(kind, header, body, network),
      log,
    });
  } catch (error) {
    client.close();
    await transport.close();
    stopRenewal();
    throw error;
  }

  return {
    send: (message) => transport.send(message),
    sendSnapshot: (message, record, path, signal) =>
      transport.sendSnapshot(String(message.to), message, record, path, signal),
    setPeers: (peers) => transport.setPeers(new Map([...peers].map(([id, raftAddr]) => [id, { raftAddr }]))),
    sendRemoved: (to, index) => transport.sendRemoved(to, index),
    connected: () => new Set(transport.connections().flatMap(({ id, state }) => (state === "up" ? [id] : []))),
    async request(address, { kind, header, body }, timeoutMs) {
      const outgoing = { kind: frameKind(kind), header: { ...header, op: kind, timeout_ms: timeoutMs }, body };
      try {
        return readReply(await client.request(address, outgoing, { timeoutMs }));
      } catch (error) {
        return { kind: "unreachable", reason: error instanceof Error ? error.message : String(error), isSilent: false };
      }
    },
    async close() {
      client.close();
      await forward.close();
      await transport.close();
      stopRenewal();
    },
  };
}

const OPERATIONS: ReadonlySet<string> = new Set<NetworkRequestKind>([
  "propose",
  "join",
  "rejoin",
  "prune",
  "remove",
  "transfer",
  "status",
]);

/**
 * Returns the frame kind of a request. A node of an earlier version answers an unknown header with an error, but treats an
 * unknown frame kind as a fault.
 */
function frameKind(kind: NetworkRequestKind): Exclude<NetworkRequestKind, "remove" | "transfer" | "read"> {
  if (kind === "read") return "status";
  return kind === "remove" || kind === "transfer" ? "prune" : kind;
}

/** Returns whether this is a read by a node, which has authorized its caller. A command line has no such authorization. */
function isNodeRead(header: unknown, { kind }: Peer): header is Header {
  return kind === "node" && typeof header === "object" && header !== null && (header as Header)["op"] === "read";
}

async function read(header: Header, { onRead }: NetworkOptions): Promise<ForwardAnswer> {
  const body = await onRead(header["question"], timeoutOf(header));
  return body === undefined
    ? { kind: "error", code: "busy", message: "this node cannot answer now" }
    : { kind: "result", header: {}, body };
}

async function answer(
  frame: string,
  header: unknown,
  body: Uint8Array,
  network: NetworkOptions,
): Promise<ForwardAnswer> {
  const fields = typeof header === "object" && header !== null ? (header as Header) : {};
  const op = fields["op"] ?? frame;
  const isAllowed = typeof op === "string" && OPERATIONS.has(op) && frameKind(op as NetworkRequestKind) === frame;
  if (!isAllowed) {
    return {
      kind: "error",
      code: "invalid",
      message: "this node does not know the request, because it runs another version",
    };
  }
  const reply = await network.onRequest({ kind: op as NetworkRequestKind, header: fields, body }, timeoutOf(fields));
  const { code, message, details, outcome } = reply;
  if (outcome === undefined && typeof code === "string" && typeof message === "string") {
    return { kind: "error", code, message, details };
  }
  return { kind: "result", header: reply };
}

function timeoutOf({ timeout_ms: stated }: Header): number {
  return typeof stated === "number" && stated > 0 ? Math.min(stated, 60_000) : REQUEST_TIMEOUT_MS;
}

function readReply(reply: ForwardReply): NetworkReply {
  switch (reply.kind) {
    case "result":
      return { kind: "reply", header: (reply.header ?? {}) as Header, body: reply.body };
    case "error":
      return {
        kind: "reply",
        header: { code: reply.code, message: reply.message, details: reply.details },
        body: NO_BODY,
      };
    case "unreachable":
      return {
        kind: "unreachable",
        reason: withRemedy(reply.code, reply.message),
        isSilent: reply.failure === "unreachable",
      };
    case "busy":
      return { kind: "unreachable", reason: "too many operations are in progress", isSilent: false };
    case "unknown":
      return { kind: "unknown", reason: reply.message };
    default:
      return reply satisfies never;
  }
}

/** Adds the operator's remedy for a refusal at the handshake. */
function withRemedy(code: string, message: string): string {
  const remedy = REMEDIES.get(code);
  return remedy === undefined ? message : `${message}: ${remedy}`;
}

const REMEDIES: ReadonlyMap<string, string> = new Map([
  ["stale_recovery_epoch", "the cluster was recovered without this node; move its data directory away and let it join"],
  ["storage_changed", "the member of this id has another data directory; move this one away and let it join"],
  ["wrong_cluster", "its cluster.secret differs"],
  ["protocol", "it runs an incompatible version"],
]);
