/**
 * Checks the requirements on a deployment of a node that opens the inspector. Source: specification document 2, `extproc`;
 * design decisions, section 19.
 */
import type { Deployment, Path, Severity } from "../core/config/index.ts";
import type { InspectorTerms } from "./governance.ts";

type Report = (path: Path, message: string, severity?: Severity) => void;

/** Keys of upstreams that requests are routed to. */
const ROUTED = ["providers", "mcp", "a2a"] as const;

export function checkInspected(document: Deployment, terms: InspectorTerms | undefined, report: Report): void {
  if (terms === undefined) return;
  const { guardrails } = document;
  if (guardrails === undefined) {
    report([], "needs `guardrails`, since `extproc.inspect_listen` of this node's file opens the inspector");
  } else if (terms.inspectsResponses && !guardrails.detectors.some(readsAnswers)) {
    const message =
      "no detector has `output` in its `apply_to`, and `extproc.inspect_responses` of this node's file asks for one";
    report(["guardrails", "detectors"], message);
  }
  if (!terms.isInspectionOnly) return;
  for (const key of ROUTED) {
    if ((document[key] ?? []).length === 0) continue;
    report([key], "this node only inspects: its file names no `cluster.data_dir`, which a node that routes needs");
  }
}

const readsAnswers = ({ apply_to: kinds }: NonNullable<Deployment["guardrails"]>["detectors"][number]): boolean =>
  kinds?.includes("output") === true;
