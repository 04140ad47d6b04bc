/**
 * First message on a connection: the dialing side states its identity and purpose, and the other side accepts or refuses it.
 * Source: cluster reference, section 4.2. It is JSON, so that a later version can add members; unknown ones are ignored.
 */

import type { Peer } from "../identity/index.ts";
import { isRecord, readBytes } from "./bytes.ts";
import { WireError } from "./wire-error.ts";

export type Purpose = "raft" | "snapshot" | "forward";

/** Identity and state that a process sends about itself. They are read again at each hello, so getters may return new values. */
export interface SelfDescription {
  readonly nodeId: string;
  /** Identity of the data directory; empty for a command line. */
  readonly storageId: string;
  /** Recovery epoch, which each offline recovery raises; `undefined` for a blank directory and for a command line. */
  readonly epoch: number | undefined;
  readonly clusterId: string;
  /** Lowest and highest version of the protocol. */
  readonly proto: readonly [min: number, max: number];
  /** Bit set of features. */
  readonly feat: number;
  /** Address for consensus, so that a member that was away can reach a node that it does not know yet. */
  readonly raftAddr?: string;
  /** Random number of the process, which distinguishes two under one node id. Earlier versions omit it. */
  readonly incarnation?: string;
  /** Whether its directory was blank when the cluster admitted it. Earlier versions omit it. */
  readonly joined?: boolean;
  /** Last index and term of the log on its disk. Earlier versions omit it. */
  readonly log?: { readonly lastIndex: number; readonly term: number } | undefined;
}

export interface Hello extends SelfDescription {
  readonly purpose: Purpose;
  /** Node id that the dialing side wants to reach; `undefined` if any node will do. */
  readonly to: string | undefined;
}

/** Refusal codes of this side; a peer of another version may send others. */
export type HelloRefusalCode =
  | "identity_mismatch"
  | "wrong_cluster"
  | "stale_recovery_epoch"
  /** The listener itself is from before a recovery. With its old log, it must not follow a leader from after it. */
  | "newer_recovery_epoch"
  | "protocol"
  /** The listener does not serve this purpose, or not to a command line. */
  | "wrong_purpose"
  | "not_a_member"
  | "storage_changed"
  | "wrong_node"
  /** Another process of this node id is connected, and answers. */
  | "duplicate_node"
  /** The log ends before entries that its owner acknowledged. */
  | "forgot"
  /** The peer has the maximum number of connections already. */
  | "busy";

/** Maximum size of a frame before and with the answer to hello. `HELLO_MS`: maximum time until it arrives. */
export const HELLO_BYTES = 4 * 1024;
export const HELLO_MS = 5_000;

const CODE = /^[a-z][a-z_]{0,63}$/;

export function describeHello(
  self: SelfDescription,
  purpose: Purpose,
  to: string | undefined,
  clusterId: string,
): unknown {
  return { v: 1, ...describe(self, clusterId), purpose, to };
}

export function describeHelloOk(self: SelfDescription, clusterId: string): unknown {
  return { v: 1, ...describe(self, clusterId) };
}

function describe(self: SelfDescription, clusterId: string) {
  const { nodeId, storageId, epoch, proto, feat, raftAddr, incarnation, joined, log } = self;
  const required = { cluster: clusterId, epoch, node: nodeId, storage: storageId, proto, feat };
  return { ...required, raft: raftAddr, inc: incarnation, joined, last: log?.lastIndex, term: log?.term };
}

/** Parses a hello. Throws `WireError`. */
export function parseHello(payload: Uint8Array): Hello {
  const value = parseObject(payload);
  const { purpose, to } = value;
  if (purpose !== "raft" && purpose !== "snapshot" && purpose !== "forward") {
    throw new WireError("a hello without its purpose");
  }
  return { ...parseSelf(value), purpose, to: to === undefined ? undefined : text(to, 128) };
}

/** Parses the positive answer to a hello. Throws `WireError`. */
export function parseHelloOk(payload: Uint8Array): SelfDescription {
  return parseSelf(parseObject(payload));
}

/** Parses a refusal and returns its code. Throws `WireError`. */
export function parseRefusal(payload: Uint8Array): string {
  const { code } = parseObject(payload);
  if (typeof code !== "string" || !CODE.test(code)) throw new WireError("a refusal without its code");
  return code;
}

/**
 * Checks a hello without knowledge of the members, in the order of the reference. Returns a refusal code, or `undefined` if all
 * checks pass. `peer`: named by the certificate. `self`: this side, which has the secrets of `clusterIds`.
 */
export function helloRefusalCode(
  hello: SelfDescription,
  peer: Peer,
  self: SelfDescription,
  clusterIds: readonly string[],
): HelloRefusalCode | undefined {
  if (peer.id !== hello.nodeId) return "identity_mismatch";
  if (hello.clusterId !== peer.clusterId || !clusterIds.includes(hello.clusterId)) return "wrong_cluster";
  if (hello.epoch !== undefined && self.epoch !== undefined && hello.epoch !== self.epoch) {
    return hello.epoch < self.epoch ? "stale_recovery_epoch" : "newer_recovery_epoch";
  }
  if (hello.proto[0] > self.proto[1] || hello.proto[1] < self.proto[0]) return "protocol";
  return undefined;
}

function parseSelf(value: Readonly<Record<string, unknown>>): SelfDescription {
  const { v, cluster, epoch, node, storage, proto, feat, raft, inc, joined, last, term } = value;
  if (v !== 1) throw new WireError("a hello of another version");
  if (!Array.isArray(proto) || proto.length !== 2) throw new WireError("a hello without its range of protocols");
  return {
    nodeId: text(node, 128),
    storageId: text(storage, 64),
    epoch: epoch === undefined ? undefined : natural(epoch),
    clusterId: text(cluster, 64),
    proto: [natural(proto[0]), natural(proto[1])],
    feat: natural(feat),
    ...(raft !== undefined && { raftAddr: text(raft, 300) }),
    ...(inc !== undefined && { incarnation: text(inc, 64) }),
    ...(joined !== undefined && { joined: joined === true }),
    ...(last !== undefined && term !== undefined && { log: { lastIndex: natural(last), term: natural(term) } }),
  };
}

function parseObject(payload: Uint8Array): Readonly<Record<string, unknown>> {
  const value = readBytes(payload).json(payload.length);
  if (!isRecord(value)) throw new WireError("a hello that is not an object");
  return value;
}

function text(value: unknown, maxLength: number): string {
  if (typeof value !== "string" || value.length > maxLength) throw new WireError("a text of a hello is not a string");
  return value;
}

function natural(value: unknown): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) {
    throw new WireError("a number of a hello is not a natural number");
  }
  return value;
}
