/**
 * An archive restores usage and verdicts, and later ones are added; the ledger as CSV. Source: design decisions,
 * section 14; specification document 1, "gateway snapshot restore".
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { TABLES } from "../../../src/admin-api/index.ts";
import { faultsOf } from "../../../src/server/admin/validate-input.ts";
import { runProgram } from "../support/gateway.ts";
import { eventually, within } from "../support/wait.ts";
import { chat, mint, say, simProvider, startGoverned } from "./support/governed.ts";

const file = { after };
/** The cluster records usage once every member supports it, which is checked every ten seconds. */
const LIMIT_MS = 60_000;

const { node, gateway } = await startGoverned(file, {
  env: { GATEWAY_USAGE_REPORT: "200ms" },
  deployment: (simulator) => ({
    providers: [simProvider("sim", simulator)],
    reconcile: {
      interval: "1s",
      providers: [{ provider: "sim", type: "compat", admin_key: "sk-admin-canary", base_url: simulator.url }],
    },
  }),
});
const key = await mint(node, "team");
const { client } = node;
const speak = async (times: number): Promise<void> => {
  for (let each = 0; each < times; each += 1) {
    assert.equal((await say(gateway, { key, body: chat({ model: "sim-1" }) })).status, 200);
  }
};
const counted = async (): Promise<number> =>
  (await client.call("list_usage", { query: { model: "sim-1" } })).items.reduce((sum, it) => sum + it.requests, 0);
const until = (requests: number) =>
  eventually(`${requests} requests`, async () => (await counted()) === requests || undefined, LIMIT_MS);
const verdicts = async () => (await client.call("list_reconcile_verdicts", {})).items;

async function verb(name: string, ...rest: readonly string[]): Promise<string> {
  const args = [...name.split(" "), "-socket", join(node.dir, "admin.sock"), ...rest];
  const program = runProgram(file, { args });
  const { status } = await within(name, program.ended, LIMIT_MS);
  assert.equal(status, 0, program.stderr());
  return program.stdout();
}

test("ledger and verdicts are those of the archive, and later ones are added", async () => {
  await eventually(
    "a key that is known",
    async () => (await say(gateway, { key, body: chat({ model: "warm-up" }) })).status === 200 || undefined,
  );
  await speak(3);
  await until(3);
  const judged = await eventually(
    "days that are judged",
    async () => {
      const items = await verdicts();
      return items.length > 0 ? items : undefined;
    },
    LIMIT_MS,
  );
  const usage = (await client.call("list_usage", { query: { model: "sim-1" } })).items;
  const archive = join(node.dir, "archive");
  await verb("snapshot save", archive);
  assert.ok(!(await readFile(archive)).includes("canary"));
  await speak(2);
  await until(5);

  await verb("snapshot restore", archive);
  await until(3);
  assert.deepEqual((await client.call("list_usage", { query: { model: "sim-1" } })).items, usage);
  assert.deepEqual(await verdicts(), judged);
  const rounds = (await client.call("list_reconcile", {})).items;
  assert.deepEqual(
    rounds.map(({ provider, error }) => [provider, error]),
    [["sim", null]],
  );
  await speak(1);
  await until(4);
});

test("a statement about usage is answered as CSV with quoted names", async () => {
  const model = 'sim-1,"b"';
  assert.equal((await say(gateway, { key, body: chat({ model }) })).status, 200);
  const row = await eventually("its row", async () => (await client.call("list_usage", { query: { model } })).items[0]);
  const sql =
    "select caller, model, sum(requests), sum(output_tokens) as told from usage where model like '%b%' group by 1, 2";
  const text = await verb("query", "-o", "csv", sql);
  assert.deepEqual(text.trimEnd().split(/\r?\n/), [
    "caller,model,sum(requests),told",
    `team,"sim-1,""b""",1,${row.output_tokens}`,
  ]);
});

test("rows of usage, verdicts, requests and findings have the documented columns", async () => {
  const lists = {
    usage: () => client.call("list_usage", {}),
    reconcile: () => client.call("list_reconcile", {}),
    reconcile_verdicts: () => client.call("list_reconcile_verdicts", {}),
    requests: () => client.call("list_requests", {}),
    history: () => client.call("list_history", {}),
  } as const;
  for (const table of Object.keys(lists) as (keyof typeof lists)[]) {
    const items: readonly object[] = await eventually(
      `rows of ${table}`,
      async () => {
        const answer = await lists[table]();
        return answer.items.length > 0 ? answer.items : undefined;
      },
      LIMIT_MS,
    );
    for (const row of items) assert.deepEqual(faultsOf(TABLES[table], row), [], table);
  }
});
