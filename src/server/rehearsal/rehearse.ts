/** Judges the recorded requests of all nodes by a proposed configuration, in slices that the caller can stop. */
import { type Counted, type Judged, judge, type RecordedRequest, Tally } from "../core/rehearsal/index.ts";
import { openProposal, type ProposalInput } from "./proposed-configuration.ts";
import type { NodeRecords } from "./types.ts";

interface RehearsalInput extends Pick<ProposalInput, "inForce" | "proposed" | "keys" | "buckets" | "now"> {
  readonly nodes: readonly NodeRecords[];
  /** Requests before this time are replayed for budgets but not counted; in milliseconds since 1970. */
  readonly since: number;
}

export interface RehearsalResult extends Counted {
  /** Number of requests since `since` that were not judged before the time limit. */
  readonly left: number;
}

const SLICE_REQUESTS = 500;

/**
 * Rehearses in slices and yields between them. If the caller stops, the result covers what was judged so far. Calls `onJudged` with
 * each counted request.
 */
export function* rehearse(
  { nodes, since, ...input }: RehearsalInput,
  onJudged: (request: RecordedRequest, judged: Judged) => void = () => undefined,
): Generator<RehearsalResult> {
  const all = nodes
    .flatMap(({ node, requests }) => requests.map((request) => ({ node, request })))
    .sort((one, other) => one.request.at - other.request.at);
  const requests = all.map(({ request }) => request);
  const coveredSince = Math.max(...nodes.map((it) => it.since));
  const proposal = openProposal({ ...input, requests, since: coveredSince });
  const tally = new Tally();
  const earlier = all.filter(({ request }) => request.at < since).length;
  const result = (left: number): RehearsalResult => ({ ...tally.counted(), left });
  for (const [at, { node, request }] of all.entries()) {
    const judged = judge(request, proposal);
    if (request.at >= since) {
      tally.add(request, judged, proposal.callerName(request), node);
      onJudged(request, judged);
    }
    if ((at + 1) % SLICE_REQUESTS === 0) yield result(all.length - Math.max(at + 1, earlier));
  }
  yield result(0);
}
