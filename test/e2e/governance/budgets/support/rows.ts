/** The admin list's rows of buckets, and when they are complete. */
import assert from "node:assert/strict";
import { until } from "../../../cluster/support/until.ts";
import { SLOW_MS } from "../../../config/support/nodes.ts";
import { idle } from "../../../support/metrics.ts";
import type { Member } from "./members.ts";

type Row = Awaited<ReturnType<typeof rowsOn>>[number];

/** Longer than two report intervals: what one node knows reaches all after one. */
const STEADY_MS = 1_300;

const rowsOn = async ({ node }: Member, budget: string) =>
  (await node.client.call("list_budgets")).items.filter((row) => row.budget === budget);

/** Row of a shared budget if `key`, a name, is omitted. Returns `undefined` if nobody has spent from it. */
export async function rowOn(member: Member, budget: string, key: string | null = null): Promise<Row | undefined> {
  return (await rowsOn(member, budget)).find((row) => row.key === key);
}

export async function mustHaveRow(member: Member, budget: string, key: string | null = null): Promise<Row> {
  const row = await rowOn(member, budget, key);
  assert.ok(row, `${member.id} has no row of ${budget} for ${key}`);
  return row;
}

/**
 * Rows of a budget by key name, once all charges are known everywhere: no request is in flight, nothing is reserved,
 * and all these members have reported the same for longer than a report takes (a single one knows at once).
 */
export async function settledRows(
  members: readonly Member[],
  budget: string,
): Promise<ReadonlyMap<string | null, Row>> {
  await Promise.all(members.map(({ gateway }) => idle(gateway)));
  let output = "";
  let since = performance.now();
  return until(
    `all of ${budget} reported to all`,
    async () => {
      const tables = await Promise.all(members.map((member) => rowsOn(member, budget)));
      const texts = tables.map((rows) => JSON.stringify(rows.map(({ key, used }) => [key, used]).sort()));
      const isHeld = tables.some((rows) => rows.some(({ reserved }) => reserved > 0));
      const [text = ""] = texts;
      const isNews = members.length > 1 && text !== output;
      if (isNews || isHeld || texts.some((each) => each !== text)) {
        output = text;
        since = performance.now();
        return undefined;
      }
      if (members.length > 1 && performance.now() - since < STEADY_MS) return undefined;
      return new Map((tables[0] ?? []).map((row) => [row.key, row]));
    },
    SLOW_MS,
  );
}

/** Usage of a budget over all its buckets, once everything is reported. */
export async function settledUse(members: readonly Member[], budget: string): Promise<number> {
  const rows = await settledRows(members, budget);
  return [...rows.values()].reduce((sum, { used }) => sum + used, 0);
}
