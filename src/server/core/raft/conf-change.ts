/**
 * Encodes a configuration change as the bytes of an entry: JSON, with the context in base64.
 *
 * An entry has at most `MAX_CHANGES` changes. Decoding is strict, since nodes that understood a change differently would have
 * different quorums.
 */

import { Buffer } from "node:buffer";
import type { ConfChange, NodeId } from "./types.ts";

/** Maximum number of changes in an entry, far above any practical cluster size. */
export const MAX_CHANGES = 256;

type SingleChange = ConfChange["changes"][number];

/** Change by which the leader leaves a joint configuration. */
export const LEAVE_JOINT: ConfChange = { transition: "auto", changes: [], context: new Uint8Array(0) };

export function encodeConfChange({ transition, changes, context }: ConfChange): Uint8Array {
  const text = JSON.stringify({
    transition,
    changes: changes.map(({ type, nodeId }) => ({ type, nodeId })),
    context: Buffer.from(context).toString("base64"),
  });
  return new TextEncoder().encode(text);
}

/** Decodes a change. Throws a `TypeError` or `SyntaxError` on anything that `encodeConfChange` does not write. */
export function decodeConfChange(data: Uint8Array): ConfChange {
  const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(data));
  const { transition, changes, context } = fieldsOf(value, ["changes", "context", "transition"]);
  if (transition !== "auto" && transition !== "joint-implicit" && transition !== "joint-explicit") {
    throw new TypeError("configuration change: unknown transition");
  }
  if (!Array.isArray(changes) || changes.length > MAX_CHANGES) {
    throw new TypeError("configuration change: changes is not a list, or too long");
  }
  if (typeof context !== "string") throw new TypeError("configuration change: context is not text");
  const bytes = Buffer.from(context, "base64");
  if (bytes.toString("base64") !== context) throw new TypeError("configuration change: context is not base64");
  return { transition, changes: changes.map(decodeChange), context: new Uint8Array(bytes) };
}

function decodeChange(value: unknown): SingleChange {
  const { type, nodeId } = fieldsOf(value, ["nodeId", "type"]);
  if (type !== "add-node" && type !== "add-learner" && type !== "remove-node") {
    throw new TypeError("configuration change: unknown type of change");
  }
  if (!isNodeId(nodeId)) throw new TypeError("configuration change: not a node id");
  return { type, nodeId };
}

export function isNodeId(value: unknown): value is NodeId {
  return typeof value === "string" ? value !== "" : Number.isSafeInteger(value);
}

function fieldsOf(value: unknown, names: readonly string[]): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new TypeError("configuration change: not an object");
  }
  if (Object.keys(value).sort().join() !== names.join()) {
    throw new TypeError("configuration change: other fields than those known");
  }
  return { ...value };
}
