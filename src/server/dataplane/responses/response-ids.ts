/**
 * Ids of responses and their items that the gateway generates. They identify the node that remembers the items and cannot be
 * guessed. Source: design decisions, section 18 (`item_reference`); Responses reference, 5.2 and 5.5.
 */
import { createHash } from "node:crypto";
import { pooledRandomBytes } from "../../../base/index.ts";

const TAG_LENGTH = 6;
const RANDOM_BYTES = 12;

/**
 * Matches a generated id: the prefix of a response or item, then the seed. Ids of items end with their position in the answer.
 */
const GENERATED_ID = /^(?:resp|msg|rs|fc|ctc)_(gw([0-9a-f]{6})[0-9a-f]{24})(?:_\d{1,6})?$/;

/** Part of every generated id that hardly occurs in other text. */
export const GENERATED_MARK = "_gw";

interface GeneratedId {
  /** Random part that a response and all of its items share. */
  readonly seed: string;
  /** Tag of the node that generated the id. */
  readonly tag: string;
}

/** Returns the tag of a node: six hex digits that do not reveal its name. */
export function tagOf(nodeId: string): string {
  return createHash("sha256").update(`responses/v1 ${nodeId}`).digest("hex").slice(0, TAG_LENGTH);
}

/** Returns a new seed of 32 characters of `[a-z0-9]`. */
export function newSeed(tag: string): string {
  return `gw${tag}${pooledRandomBytes(RANDOM_BYTES).toString("hex")}`;
}

/** Parses an id. Returns `undefined` if no gateway generated it. */
export function parseGeneratedId(id: string): GeneratedId | undefined {
  const match = GENERATED_ID.exec(id);
  return match === null ? undefined : { seed: match[1] as string, tag: match[2] as string };
}
