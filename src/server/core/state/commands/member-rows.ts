/** Rows `member/<id>`: what the cluster knows about a node. */

import { integer, label, listOf, Malformed, object, type Parser, shaped, shapeOf, text } from "../fields.ts";
import { keyPart, rowFormat } from "../row-format.ts";
import type { Member } from "../types.ts";

const bounds = listOf(integer(0, 1_000_000), 2, 2);
/** `[min, max]`, both inclusive. */
export const range: Parser<readonly [min: number, max: number]> = shaped(
  (value) => {
    const [min = 0, max = 0] = bounds(value);
    if (min > max) throw new Malformed("a range that ends before it begins");
    return [min, max];
  },
  () => ["in order", shapeOf(bounds)],
);
export const nodeId = label();
export const storageId = text(/^[0-9a-f]{32}$/, 32);
export const address = text(/^[\x21-\x7e]*$/, 300);
export const buildVersion = text(/^[\x20-\x7e]*$/, 64);

export const member: Parser<Member> = object({
  id: nodeId,
  storage: text(/^(?:[0-9a-f]{32})?$/, 32),
  raft_addr: address,
  forward_addr: address,
  version: buildVersion,
  proto: range,
  feature: range,
  incarnation: integer(),
});

export const memberRows = rowFormat(member);
export const memberRowKey = (id: string): string => `member/${keyPart(id)}`;

/** Returns a member of which only the id is known until its process reports. */
export const unknownMember = (id: string): Member => ({
  id,
  storage: "",
  raft_addr: "",
  forward_addr: "",
  version: "",
  proto: [1, 1],
  feature: [1, 1],
  incarnation: 0,
});
