/** Judges the recorded requests of all nodes by a proposed configuration, in slices and within a time. */
import { type Counted, type Judged, judge, type RecordedRequest, Tally } from "../core/rehearsal/index.ts";
import { openProposal, type ProposalInput } from "./proposed-configuration.ts";
import type { NodeRecords } from "./types.ts";

export interface RehearsalInput extends Pick<ProposalInput, "inForce" | "proposed" | "keys" | "buckets" | "now"> {
  readonly nodes: readonly NodeRecords[];
  /** Requests that came earlier are replayed for budgets and not counted; milliseconds since 1970. */
  readonly since: number;
}

export interface RehearsalResult extends Counted {
  /** Number of requests since `since` that were not judged before the time limit. */
  readonly left: number;
}

const SLICE = 500;

/**
 * Rehearses in slices and yields between them, so that the caller can stop: the result then covers what was judged so far.
 * Calls `seen` with each request that counts.
 */
export function* rehearse(
  { nodes, since, ...input }: RehearsalInput,
  seen: (request: RecordedRequest, judged: Judged) => void = () => undefined,
): Generator<RehearsalResult> {
  const all = nodes
    .flatMap(({ node, requests }) => requests.map((request) => ({ node, request })))
    .sort((one, other) => one.request.at - other.request.at);
  const requests = all.map(({ request }) => request);
  const covered = Math.max(...nodes.map((it) => it.since));
  const proposal = openProposal({ ...input, requests, since: covered });
  const tally = new Tally();
  const earlier = all.filter(({ request }) => request.at < since).length;
  const result = (left: number): RehearsalResult => ({ ...tally.counted(), left });
  for (const [at, { node, request }] of all.entries()) {
    const judged = judge(request, proposal);
    if (request.at >= since) {
      tally.add(request, judged, proposal.shownCaller(request), node);
      seen(request, judged);
    }
    if ((at + 1) % SLICE === 0) yield result(all.length - Math.max(at + 1, earlier));
  }
  yield result(0);
}
