/** The bench's figures as text: tables with a verdict per row. Pure. */

import type { Measured } from "./rounds.ts";
import type { LoadScenario } from "./scenarios.ts";
import type { Summary } from "./statistics.ts";

type Verdict = "pass" | "MISS" | "";

export interface Judged {
  readonly name: string;
  readonly value: string;
  readonly target: string;
  readonly verdict: Verdict;
  readonly detail: string;
}

const LOAD_HEADINGS = [
  "",
  "CPU us/req",
  "ratio",
  "(least-most)",
  "target",
  "",
  "req/s",
  "+p50 us",
  "+p99 us",
  "RSS MiB",
];

export function judge(value: number, most: number | undefined): Verdict {
  if (most === undefined) return "";
  return value <= most ? "pass" : "MISS";
}

export function renderLoad(scenario: LoadScenario, measured: readonly Measured[]): string {
  const rows = measured.map((row) => {
    const target = row.name === "gateway" ? scenario.maxRatio : undefined;
    return [
      row.name,
      row.cpuUs.median.toFixed(1),
      row.ratio.median.toFixed(2),
      `${row.ratio.least.toFixed(2)}-${row.ratio.most.toFixed(2)}`,
      target === undefined ? "" : target.toFixed(2),
      judge(row.ratio.median, target),
      row.perSecond.median.toFixed(0),
      row.addedP50Us.median.toFixed(0),
      spread(row.addedP99Us),
      row.rssMib.toFixed(0),
    ];
  });
  const fewer = measured.filter(({ requests }) => requests !== measured[0]?.requests);
  const exception = fewer.map(({ name, requests }) => `, ${requests} for ${name}`).join("");
  const load = `${measured[0]?.requests ?? 0} requests a round${exception} on ${scenario.connections} connections`;
  return `${scenario.name}: ${scenario.about} (${load})\n${align([LOAD_HEADINGS, ...rows])}`;
}

export function renderJudged(rows: readonly Judged[]): string {
  const cells = rows.map((row) => [row.name, row.value, row.target, row.verdict, row.detail]);
  return align([["", "value", "target", "", ""], ...cells]);
}

/** Pads columns to their widest cell; the first and the last left-aligned, figures right-aligned. */
export function align(rows: readonly (readonly string[])[]): string {
  const columns = Math.max(...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows
    .map((row) => {
      const cells = row.map((cell, at) => {
        const width = widths[at] ?? 0;
        const isText = at === 0 || (at === columns - 1 && !/^[\d. -]*$/.test(cell));
        return isText ? cell.padEnd(width) : cell.padStart(width);
      });
      return `  ${cells.join("  ")}`.trimEnd();
    })
    .join("\n");
}

function spread(of: Summary): string {
  return `${of.median.toFixed(0)} (${of.least.toFixed(0)}-${of.most.toFixed(0)})`;
}
