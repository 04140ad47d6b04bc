/** Summarizes a rehearsal in one sentence, for verbs and the console. */
import type { RehearsalResult } from "./operations/rehearsal.ts";

type Change = RehearsalResult["changes"][number];

/** Maximum number of named causes; the others are counted together. */
const MAX_NAMED = 3;

const count = (requests: number): string => requests.toLocaleString("en-US");

/**
 * Returns a summary such as "1,843 requests: 132 would be refused by rule no-previews (130 of ci), 40 are unknown: rule
 * tools reads arguments".
 */
export function rehearsalSummary(result: RehearsalResult): string {
  const { requests, changes, unknown, reasons, same } = result;
  if (requests === 0) return "no recent requests";
  const total = `${count(requests)} request${requests === 1 ? "" : "s"}`;
  if (same === requests) return `${total}, all with the same outcome`;
  const named = changes.slice(0, MAX_NAMED).map(changeText);
  const others = changes.slice(MAX_NAMED).reduce((sum, change) => sum + change.requests, 0);
  const [reason] = reasons;
  const parts = [
    ...named,
    ...(others > 0 ? [`${count(others)} would have another outcome for other reasons`] : []),
    ...(unknown > 0 ? [`${count(unknown)} cannot be judged${reason === undefined ? "" : `: ${reason.reason}`}`] : []),
  ];
  return `${total}: ${parts.join(", ")}`;
}

function changeText({ outcome, cause, requests, callers }: Change): string {
  const [largest] = callers;
  const isAll = largest?.requests === requests;
  const callerText = largest === undefined ? "" : ` (${isAll ? "all" : count(largest.requests)} of ${largest.caller})`;
  switch (outcome) {
    case "refused":
      return `${count(requests)} would be refused by ${cause}${callerText}`;
    case "served":
      return `${count(requests)} that ${cause} refused would be served${callerText}`;
    case "other_provider":
      return `${count(requests)} would go to ${cause}${callerText}`;
    case "other_guardrail":
      return `${count(requests)} would trigger other guardrails (${cause})${callerText}`;
    default:
      return outcome satisfies never;
  }
}

/** Returns how much of the time the records cover, in a sentence; empty if they cover it all on all nodes. */
export function rehearsalCoverage({
  since,
  covered_since: covered,
  unanswered,
  disabled,
  left: unaccounted,
}: RehearsalResult): string {
  const gaps = [
    ...(Date.parse(covered) > Date.parse(since) ? [`records begin at ${covered}`] : []),
    ...(unanswered.length > 0 ? [`no records from ${unanswered.join(", ")}`] : []),
    ...(disabled.length > 0 ? [`no records are kept on ${disabled.join(", ")}`] : []),
    ...(unaccounted > 0 ? [`${count(unaccounted)} requests were not judged in time`] : []),
  ];
  return gaps.join("; ");
}
