/**
 * Ids of responses and of their items, where the gateway makes them: they name the node that remembers the items, and
 * nobody can guess one. Source: design decisions, section 18 (`item_reference`); Responses reference, 5.2 and 5.5.
 */
import { createHash } from "node:crypto";
import { pooledRandomBytes } from "../../../base/index.ts";

const TAG_LENGTH = 6;
const RANDOM_BYTES = 12;

/** `resp_` or that of an item, then a seed; an item's position in its answer stands behind it. */
const OWN_ID = /^(?:resp|msg|rs|fc|ctc)_(gw([0-9a-f]{6})[0-9a-f]{24})(?:_\d{1,6})?$/;

/** Stands in every id of ours, and hardly in another text. */
export const OWN_MARK = "_gw";

export interface OwnId {
  /** The same for a response and all of its items. */
  readonly seed: string;
  /** Of the node that made it. */
  readonly tag: string;
}

/** Six hex digits, which tell nothing of the node's name. */
export function tagOf(nodeId: string): string {
  return createHash("sha256").update(`responses/v1 ${nodeId}`).digest("hex").slice(0, TAG_LENGTH);
}

/** 32 characters of `[a-z0-9]`. */
export function newSeed(tag: string): string {
  return `gw${tag}${pooledRandomBytes(RANDOM_BYTES).toString("hex")}`;
}

/** Undefined: it is not of ours. */
export function readOwnId(id: string): OwnId | undefined {
  const match = OWN_ID.exec(id);
  return match === null ? undefined : { seed: match[1] as string, tag: match[2] as string };
}
