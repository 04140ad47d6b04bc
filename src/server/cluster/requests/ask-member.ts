/** Queries one member over its forward address. Both functions resolve with a value even if the query fails. */

import type { Member } from "../../core/state/index.ts";
import { type Network, NO_BODY } from "../network.ts";

const PROBE_TIMEOUT_MS = 2_000;

/** Returns what the member has measured, or `undefined` if it gave no answer. `question`: JSON. */
export async function askMember(
  { request }: Pick<Network, "request">,
  member: Member | undefined,
  question: unknown,
  timeoutMs: number,
): Promise<Uint8Array | undefined> {
  const address = member?.forward_addr ?? "";
  if (address === "") return undefined;
  const reply = await request(address, { kind: "read", header: { question }, body: NO_BODY }, timeoutMs);
  return reply.kind === "reply" && reply.header["code"] === undefined ? reply.body : undefined;
}

/** Returns whether the member answers there, within two seconds. */
export async function probeMember({ request }: Pick<Network, "request">, member: Member | undefined): Promise<boolean> {
  const address = member?.forward_addr ?? "";
  if (member === undefined || address === "") return false;
  const reply = await request(address, { kind: "status", header: {}, body: NO_BODY }, PROBE_TIMEOUT_MS);
  return reply.kind === "reply" && reply.header["node"] === member.id;
}
