/**
 * Figures collected from workers: exact budgets, every decision in the trail, and metrics of the node. Clients are
 * real, and workers are killed as the system kills them.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { randomRuns } from "../../support/random-length.ts";
import { recordsIn, verify } from "../admin/support/trail.ts";
import { type Answer, mint, say, startGoverned } from "../governance/support/governed.ts";
import { idle, readMetrics, sumOf } from "../support/metrics.ts";
import { eventually } from "../support/wait.ts";
import { allServe } from "./support/workers.ts";

const LONG = "87600h";
/** A long run sets `GATEWAY_TEST_KILLS=200`. */
const KILLS = Number(process.env["GATEWAY_TEST_KILLS"] ?? randomRuns(8, 3));
const CLIENTS = 8;

/** Each chat uses a connection of its own, so that calls are spread over the workers. */
const OWN_CONNECTION = { connection: "close" };

const DEPLOYMENT = {
  budgets: [
    { name: "ten", limit: 10, window: LONG, shared: true, cost: { type: "CEL", cel: "1" } },
    { name: "calls", limit: 1_000_000, window: LONG, shared: true, cost: { type: "CEL", cel: "1" } },
  ],
  profiles: [
    { name: "ten", budget: "ten" },
    {
      name: "calls",
      budget: "calls",
      access_rules: [{ name: "any", at: ["llm"], condition: "true", action: "allow" }],
    },
  ],
};

test("four workers act as one node: budgets, lists, metrics and the trail", async (t) => {
  const { node, gateway } = await startGoverned(t, { deployment: DEPLOYMENT, env: { GATEWAY_WORKERS: "4" } });
  const { client } = node;
  const ten = await mint(node, "ten", { profile: "ten" });
  const calls = await mint(node, "calls", { profile: "calls" });

  await t.test("of 100 concurrent calls on a budget for ten, ten pass and ten are charged", async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => say(gateway, { key: ten, headers: OWN_CONNECTION })),
    );
    const passed = answers.filter(({ status }) => status === 200).length;
    assert.equal(passed, 10);
    for (const { status, code } of answers) if (status !== 200) assert.equal(code, "budget_exhausted");
    const row = await eventually("all that was used", async () => {
      const { items } = await client.call("list_budgets");
      const found = items.find(({ budget }) => budget === "ten");
      return found?.used === 10 && found;
    });
    assert.equal(row.remaining, 0);
    const { items } = await eventually("all refusals", async () => {
      const list = await client.call("list_refusals");
      return list.items[0]?.last_minute === 90 && list;
    });
    assert.deepEqual([items[0]?.code, items[0]?.caller], ["budget_exhausted", "ten"]);
  });

  await t.test("each call is counted once, whichever worker served it", async () => {
    const before = await idle(gateway);
    const all: Answer[] = [];
    // Sixty at once could wait longer for their units than a request may, if the machine is busy.
    for (let wave = 0; wave < 4; wave += 1) {
      const calling = Array.from({ length: 15 }, () => say(gateway, { key: calls, headers: OWN_CONNECTION }));
      all.push(...(await Promise.all(calling)));
    }
    const others = all.filter(({ status }) => status !== 200).map(({ status, code }) => `${status} ${code}`);
    assert.deepEqual(others, []);
    const after = await readMetrics(gateway);
    assert.equal(sumOf(after, "gateway_requests_total") - sumOf(before, "gateway_requests_total"), 60);
    assert.ok(![...after.keys()].some((series) => /gateway_requests_total.*worker/.test(series)));
    await eventually("the statistics", async () => {
      const { items } = await client.call("list_backends");
      return items[0]?.in_flight === 0 && items[0].error_ratio === 0;
    });
    await eventually("the last requests", async () => {
      const { items } = await client.call("list_requests");
      return items.filter(({ caller }) => caller === "calls").length === 60;
    });
    const { items } = await client.call("list_keys");
    assert.ok(items.every(({ last_used_at: at }) => at !== null));
    await eventually("the records", () => {
      const found = recordsIn(node.output()).filter(({ event }) => event === "access.decision");
      return found.filter(({ data }) => data["key"] === "calls").length === 60;
    });
  });
  await node.stop();
  const verdict = await verify(t, node.dir, node.output());
  assert.equal(verdict.status, 0, verdict.text);
});

test(`workers killed under load lose their own requests and nothing else (${KILLS} times)`, async (t) => {
  const { node, gateway } = await startGoverned(t, { deployment: DEPLOYMENT, env: { GATEWAY_WORKERS: "3" } });
  const key = await mint(node, "calls", { profile: "calls" });
  const ids = new Set<string>();
  let [broken, isOver] = [0, false];
  const run = async (): Promise<void> => {
    while (!isOver) {
      try {
        const { status, headers, text } = await say(gateway, { key, headers: OWN_CONNECTION });
        assert.ok(status === 200 || status === 503, `${status} ${text}`);
        if (status === 200) ids.add(headers.get("x-gateway-request-id") ?? "");
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        broken += 1;
      }
    }
  };
  const clients = Array.from({ length: CLIENTS }, run);
  t.after(() => {
    isOver = true;
  });
  let counted = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const answered = ids.size;
    await eventually("more answers", () => ids.size > answered + 20);
    const workers = await allServe(gateway, 3);
    const { pid } = workers[Math.floor(Math.random() * workers.length)] ?? { pid: 0 };
    process.kill(pid, "SIGKILL");
    const now = sumOf(await readMetrics(gateway), "gateway_requests_total");
    assert.ok(now >= counted, `the counter fell from ${counted} to ${now}`);
    counted = now;
    await allServe(gateway, 3, [pid]);
  }
  isOver = true;
  await Promise.all(clients);
  t.diagnostic(`${ids.size} answered, ${broken} broken off by ${KILLS} kills`);
  assert.ok(broken <= KILLS * CLIENTS);
  const { workers: found } = await node.client.call("get_status");
  assert.deepEqual([found?.wanted, found?.serving, found?.last_end_by], [3, 3, "SIGKILL"]);
  assert.ok((found?.restarts ?? 0) >= KILLS, `${found?.restarts} restarts reported`);
  const { items } = await node.client.call("list_budgets");
  const used = items.find(({ budget }) => budget === "calls")?.used ?? 0;
  // Never less than was used; for each killed worker, its reservations and two requests ahead.
  assert.ok(
    used >= ids.size && used <= ids.size + broken + KILLS * (CLIENTS + 40),
    `${used} charged, ${ids.size} answered`,
  );
  await node.stop();
  const recorded = new Set(
    recordsIn(node.output()).flatMap(({ event, data }) =>
      event === "access.decision" ? [String(data["request"])] : [],
    ),
  );
  const missing = [...ids].filter((id) => !recorded.has(id));
  // A killed process loses its records of the last millisecond.
  assert.ok(missing.length <= KILLS, `${missing.length} of ${ids.size} are not in the trail`);
  t.diagnostic(`${missing.length} records went with their process; ${used} charged`);
  const verdict = await verify(t, node.dir, node.output());
  assert.equal(verdict.status, 0, verdict.text);
});
