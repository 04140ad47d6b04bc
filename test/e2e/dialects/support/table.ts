/** The table of the documentation: the outcome of each feature between each client and each provider. */
import type { Outcome, Place } from "./cell.ts";
import { UPSTREAMS } from "./rig.ts";
import { CLIENTS } from "./sdk-answer.ts";

/** Places in the order of the table's columns. */
export const PLACES: readonly Place[] = CLIENTS.flatMap((client) =>
  UPSTREAMS.map((upstream) => ({ client, upstream })),
);

/** `rows` has outcomes by feature name, in the order of `PLACES`. */
export function renderTable(rows: ReadonlyMap<string, readonly Outcome[]>): string {
  const titles = PLACES.map(({ client, upstream }) => `\`${client}\` → ${upstream}`);
  const lines = [...rows].map(([name, outcomes]) => [name, ...outcomes.map(cellText)]);
  return [["Feature", ...titles], ["Feature", ...titles].map(() => "---"), ...lines]
    .map((cells) => `| ${cells.join(" | ")} |\n`)
    .join("");
}

function cellText(outcome: Outcome): string {
  switch (outcome.kind) {
    case "pass":
      return "yes";
    case "lost":
      return `\`${outcome.capability}\``;
    case "none":
      return "";
    default:
      return outcome satisfies never;
  }
}
