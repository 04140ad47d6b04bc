/**
 * Findings in ordinary texts at a score of one half. The folder in GATEWAY_GUARDRAIL_TEXTS has a folder for each kind
 * of text: manuals, source code, logs. Not every finding is wrong: a log has addresses and dates.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { detectorOf, findingsIn } from "../../server/detectors/pii/development-data.ts";
import type { Figure } from "../parts/figures.ts";
import type { Scenario } from "../parts/scenario.ts";
import type { BenchSpeed } from "./cpu-micros.ts";

/** UTF-16 units read as one text, like one turn of a conversation. */
const PIECE = 1_500;

export const ALARMS: Scenario<BenchSpeed> = {
  name: "alarms",
  async run() {
    const folder = process.env["GATEWAY_GUARDRAIL_TEXTS"];
    if (folder === undefined) {
      const detail = "left out: GATEWAY_GUARDRAIL_TEXTS names no folder";
      return [{ name: "alarms", value: Number.NaN, unit: "", aim: undefined, detail }];
    }
    return readdirSync(folder).map((kind) => alarmsIn(kind, join(folder, kind)));
  },
};

function alarmsIn(kind: string, folder: string): Figure {
  const detector = detectorOf({});
  const counts = new Map<string, number>();
  let bytes = 0;
  for (const file of readdirSync(folder)) {
    const text = readFileSync(join(folder, file), "utf8");
    bytes += Buffer.byteLength(text);
    for (let at = 0; at < text.length; at += PIECE) {
      for (const { type, score } of findingsIn(detector, text.slice(at, at + PIECE))) {
        if (score >= 0.5) counts.set(type, (counts.get(type) ?? 0) + 1);
      }
    }
  }
  const per100 = (count: number): number => (count * 1e5) / bytes;
  const sorted = [...counts].sort((one, other) => other[1] - one[1]);
  const detail = sorted.map(([type, count]) => `${type} ${per100(count).toFixed(2)}`).join(", ");
  const all = sorted.reduce((sum, [, count]) => sum + count, 0);
  return {
    name: `${kind} (${(bytes / 1e3).toFixed(0)} KB)`,
    value: per100(all),
    unit: "per 100 KB",
    aim: undefined,
    detail,
  };
}
