/** Outcome of a proposal that the consensus core did not append. */

import type { ProposeOutcome } from "../../core/raft/index.ts";
import type { WriteOutcome } from "./driver-types.ts";

export function refusalOf(outcome: Exclude<ProposeOutcome, { kind: "appended" }>): WriteOutcome {
  if (outcome.kind === "not-leader") return { kind: "not-leader", lead: outcome.lead as string | undefined };
  switch (outcome.reason) {
    case "busy":
    case "transferring":
      return { kind: "refused", code: "busy" };
    case "change-pending":
      return { kind: "refused", code: "change_pending" };
    case "not-established":
      return { kind: "refused", code: "no_leader" };
    case "not-joint":
    case "invalid":
      return { kind: "refused", code: "invalid" };
    default:
      return outcome satisfies never;
  }
}
