/**
 * Requirements for a trail after any number of kills: complete up to every witnessed head, with every acknowledged
 * record.
 */

import { createReadStream, existsSync, readFileSync } from "node:fs";
import { type TrailReport, verifyTrail, type WitnessedHead } from "../../../../src/server/audit/index.ts";
import type { ChildJob } from "./append-child.ts";

export interface Judgement {
  readonly report: TrailReport;
  /** Ids acknowledged as being in the journal but missing in the trail. */
  readonly lost: readonly string[];
  readonly heads: number;
}

export async function judge(job: ChildJob): Promise<Judgement> {
  const heads = headsOf(job.heads);
  const report = await verifyTrail([{ name: "output", chunks: createReadStream(job.output) }], { heads });
  const text = readFileSync(job.output, "utf8");
  const recorded = new Set([...text.matchAll(/"id":"([^"]+)"/g)].map(([, id]) => id));
  const lost = linesOf(job.journaled).filter((id) => !recorded.has(id));
  return { report, lost, heads: heads.length };
}

/** Returns the newest head of each chain. */
function headsOf(file: string): readonly WitnessedHead[] {
  const newest = new Map<string, WitnessedHead>();
  for (const line of linesOf(file)) {
    const head = JSON.parse(line) as WitnessedHead;
    newest.set(head.kid, head);
  }
  return [...newest.values()];
}

/** Returns the lines without one truncated by a kill. */
function linesOf(file: string): readonly string[] {
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
}
