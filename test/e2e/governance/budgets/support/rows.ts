/** What the admin list says of buckets, and when it says all there is to say. */
import assert from "node:assert/strict";
import { until } from "../../../cluster/support/until.ts";
import { SLOW_MS } from "../../../config/support/nodes.ts";
import { idle } from "../../../support/metrics.ts";
import type { Member } from "./members.ts";

type Row = Awaited<ReturnType<typeof rowsOn>>[number];

/** Longer than two intervals of reports: what a node knows alone is known to all after one. */
const STEADY_MS = 1_300;

const rowsOn = async ({ node }: Member, budget: string) =>
  (await node.client.call("list_budgets")).items.filter((row) => row.budget === budget);

/** Of a shared budget when `key`, a name, is left out. Undefined: nobody has spent of it yet. */
export async function rowOn(member: Member, budget: string, key: string | null = null): Promise<Row | undefined> {
  return (await rowsOn(member, budget)).find((row) => row.key === key);
}

export async function mustHaveRow(member: Member, budget: string, key: string | null = null): Promise<Row> {
  const row = await rowOn(member, budget, key);
  assert.ok(row, `${member.id} has no row of ${budget} for ${key}`);
  return row;
}

/**
 * The rows of a budget, by name of the key, once all that was charged is known to all: no request is under way, nothing is
 * reserved, and all these members have said the same for longer than their reports take (one alone knows at once).
 */
export async function settledRows(
  members: readonly Member[],
  budget: string,
): Promise<ReadonlyMap<string | null, Row>> {
  await Promise.all(members.map(({ gateway }) => idle(gateway)));
  let said = "";
  let since = performance.now();
  return until(
    `all of ${budget} told to all`,
    async () => {
      const tables = await Promise.all(members.map((member) => rowsOn(member, budget)));
      const texts = tables.map((rows) => JSON.stringify(rows.map(({ key, used }) => [key, used]).sort()));
      const isHeld = tables.some((rows) => rows.some(({ reserved }) => reserved > 0));
      const [text = ""] = texts;
      const isNews = members.length > 1 && text !== said;
      if (isNews || isHeld || texts.some((each) => each !== text)) {
        said = text;
        since = performance.now();
        return undefined;
      }
      if (members.length > 1 && performance.now() - since < STEADY_MS) return undefined;
      return new Map((tables[0] ?? []).map((row) => [row.key, row]));
    },
    SLOW_MS,
  );
}

/** Used of a budget in all its buckets, once all is told. */
export async function settledUse(members: readonly Member[], budget: string): Promise<number> {
  const rows = await settledRows(members, budget);
  return [...rows.values()].reduce((sum, { used }) => sum + used, 0);
}
