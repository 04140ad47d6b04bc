/** Text about the rehearsal of a dialog: what the change would have done to the requests of the last hour. */

import { type RehearsalResult, rehearsalCoverage, rehearsalSummary } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";
import { hasRows, type Rehearsal } from "../model/rehearsal.ts";
import { type Line, line } from "../model/text.ts";

export const REHEARSAL_LABEL = "Last hour";

export function rehearsalLines({ outcome }: Rehearsal): readonly Line[] {
  if (outcome === undefined) return [line("Rehearsing the last hour…", "dim")];
  if (outcome.kind === "none") return [line(`not rehearsed: ${outcome.reason}`, "dim")];
  const { result } = outcome;
  return [...effectLines(result), ...(hasRows(result) ? [line("Enter  shows the requests", "dim")] : [])];
}

/** Returns the effect, and what the records do not cover. */
function effectLines(result: RehearsalResult): readonly Line[] {
  const coverage = rehearsalCoverage(result);
  return [
    line(escapeControls(rehearsalSummary(result)), result.refused > 0 ? "warn" : "plain"),
    ...(coverage === "" ? [] : [line(`not covered: ${escapeControls(coverage)}`, "dim")]),
  ];
}
