/**
 * Probe of an admin endpoint: calls `get_status` within a short time limit, to learn whether it answers and which process does.
 */

import type { Failure } from "../model/data.ts";
import type { ReadIntervals } from "./intervals.ts";
import { type Peer, sendRead } from "./read-endpoint.ts";
import { pathOf } from "./read-rules.ts";

export type Probe =
  /** A refusal counts as an answer. `identity` is `undefined` if the answer does not contain it. */
  | { readonly kind: "answered"; readonly identity: string | undefined }
  | { readonly kind: "signed_out"; readonly failure: Failure }
  | { readonly kind: "unanswered"; readonly failure: Failure }
  | { readonly kind: "ended" };

interface ProbeOptions {
  readonly signal: AbortSignal;
  readonly intervals: ReadIntervals;
  now(): number;
}

export async function probe(peer: Peer, { signal, intervals, now }: ProbeOptions): Promise<Probe> {
  const limits = { headMs: intervals.probeMs, bodyMs: intervals.probeMs };
  const outcome = await sendRead(peer, pathOf({ id: "get_status" }), { signal, now, ...limits });
  switch (outcome.kind) {
    case "answered":
      return { kind: "answered", identity: identityIn(outcome.text) };
    case "refused":
      return { kind: "answered", identity: undefined };
    default:
      return outcome;
  }
}

/** Returns the node and the start time of its process. */
function identityIn(text: string): string | undefined {
  try {
    const { node, started_at: startedAt } = JSON.parse(text) as {
      readonly node?: unknown;
      readonly started_at?: unknown;
    };
    return `${node} ${startedAt}`;
  } catch {
    return undefined;
  }
}
