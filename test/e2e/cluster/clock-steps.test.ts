// tier: long
/**
 * Clock steps in a serving cluster, by libfaketime: shared budgets continue on every node, suspensions have the right
 * time, and each window has its own budget. The log's time is read from its stamps.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { createAdminClient } from "../../../src/admin-api/index.ts";
import { peer } from "../../peers/index.ts";
import { freePort, listenLocally } from "../support/ports.ts";
import { createCluster, type TestNode } from "./support/cluster.ts";
import { mustWrite, THREE } from "./support/members.ts";
import { until } from "./support/until.ts";

/** A clock is read within a round trip, which takes longer on a loaded machine. */
const NEAR_MS = 5_000;
const STEP_MS = 4_000;
const ONE = { type: "CEL", cel: "1" };
/** One of the nodes has two data plane processes. */
const WORKERS: Readonly<Record<string, string>> = { n1: "1", n2: "2", n3: "1" };

const libfaketime = await peer("libfaketime");

test("a clock step of seconds neither stops a budget nor misdates anything", {
  skip: libfaketime.missing,
}, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "gateway-clocks-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const provider = createServer((request, response) => {
    request.resume().on("end", () => {
      const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
      const message = { role: "assistant", content: "hello" };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }], usage }));
    });
  });
  t.after(() => provider.close());
  const upstream = `http://127.0.0.1:${await listenLocally(provider)}/v1`;
  const deployment = {
    auth: { virtual_keys: true },
    providers: [{ name: "main", dialect: "compat", base_url: upstream, api_key: "none" }],
    budgets: [
      { name: "small", limit: 3, window: "minute", shared: true, cost: ONE },
      { name: "large", limit: 100_000, window: "minute", shared: true, cost: ONE },
    ],
    profiles: [
      { name: "small", budget: "small" },
      { name: "large", budget: "large" },
    ],
  };
  const cluster = await createCluster(t, { ids: THREE, settings: { deployment } });
  const clockOf = (node: TestNode) => join(folder, node.id);
  const set = (node: TestNode, seconds: number) => writeFile(clockOf(node), `${seconds < 0 ? "" : "+"}${seconds}\n`);
  for (const node of cluster.nodes) {
    await set(node, 0);
    const env = {
      LD_PRELOAD: libfaketime.path,
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      DONT_FAKE_MONOTONIC: "1",
      FAKETIME_CACHE_DURATION: "1",
      FAKETIME_TIMESTAMP_FILE: clockOf(node),
      GATEWAY_WORKERS: WORKERS[node.id] ?? "1",
    };
    node.settings = { ...node.settings, env, listen: `127.0.0.1:${await freePort()}` };
  }
  await cluster.startAll();
  await cluster.leader();
  const [first] = cluster.nodes as readonly [TestNode, TestNode, TestNode];
  const client = createAdminClient({ address: { kind: "socket", path: first.socketPath } });
  t.after(() => client.close());
  await cluster.serving();
  const keyOf = async (profile: string) => (await client.call("create_key", { body: { name: profile, profile } })).key;
  const [large = "", small = ""] = [await keyOf("large"), await keyOf("small")];
  await cluster.caughtUp();

  const ask = async (node: TestNode, key: string) => {
    const answer = await fetch(`http://${node.settings.listen}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "m", max_tokens: 1, messages: [{ role: "user", content: "hello" }] }),
    });
    const { error } = (await answer.json()) as { readonly error?: { readonly code: string } };
    const code = error === undefined ? String(answer.status) : `${answer.status} ${error.code}`;
    return { code, retryAfter: Number(answer.headers.get("retry-after")) };
  };
  /** Returns by how much the log's time is ahead of this machine's. */
  const logAhead = async (through: TestNode, register: string): Promise<number> => {
    await mustWrite(through, register, 1);
    let createdAt = "";
    // The write may have gone through another node, and this one applies it a moment later.
    await until(`${register} is applied`, async () => {
      const { items } = await client.call("list_suspensions", {});
      createdAt = items.find(({ name }) => name === register)?.created_at ?? "";
      return createdAt !== "";
    });
    return Date.parse(createdAt) - Date.now();
  };
  /** Asks each node repeatedly while `during` runs. */
  const refusedWhile = async (during: () => Promise<void>): Promise<readonly string[]> => {
    const refused: string[] = [];
    let isOver = false;
    const asking = cluster.nodes.map(async (node) => {
      while (!isOver) {
        const { code } = await ask(node, large);
        if (code !== "200") refused.push(`${node.id} ${code}`);
        await pause(50);
      }
    });
    await during();
    isOver = true;
    await Promise.all(asking);
    return refused;
  };
  const lead = (id: string) =>
    until(`${id} leads`, async () => {
      await first.nodeClient.transfer(id);
      return (await cluster.leader()) === id;
    });
  for (const node of cluster.nodes)
    await until(`${node.id} serves`, async () => (await ask(node, large)).code === "200");

  let registers = 0;
  for (const seconds of [600, -600, 3_600]) {
    for (const who of ["leader", "follower"] as const) {
      await t.test(`the clock of the ${who} is stepped by ${seconds} s for 4 s`, async () => {
        const leader = await cluster.leader();
        const stepped = cluster.nodes.find(({ id }) => (id === leader) === (who === "leader")) as TestNode;
        const aheads: number[] = [];
        const refused = await refusedWhile(async () => {
          await set(stepped, seconds);
          const until = performance.now() + STEP_MS;
          // A step that lasts 10 s is believed, so the duration is fixed; a loaded machine writes less often meanwhile.
          while (performance.now() < until) {
            registers += 1;
            aheads.push(await logAhead(stepped, `r${registers}`));
            await pause(200);
          }
          await set(stepped, 0);
          await pause(2_000);
        });
        assert.deepEqual(refused, []);
        assert.ok(aheads.length > 0 && aheads.every((ms) => Math.abs(ms) < NEAR_MS), JSON.stringify(aheads));
        assert.match(stepped.output(), /the clock of this machine was changed/);
      });
    }
  }

  await t.test("the clock of the next leader is fast while leadership changes", async () => {
    await lead("n1");
    await set(cluster.node("n2"), 3_600);
    await first.nodeClient.transfer("n2");
    registers += 1;
    const ahead = await logAhead(cluster.node("n3"), `r${registers}`);
    assert.ok(Math.abs(ahead) < NEAR_MS, `${ahead}`);
    await set(cluster.node("n2"), 0);
    await cluster.leader();
  });

  await t.test("a node whose clock stays an hour fast reports the same spend as the others", async () => {
    await lead("n1");
    const off = cluster.node("n3");
    await set(off, 3_600);
    // The step has lasted, and the others have read it.
    await pause(12_000);
    const sinceMinute = Date.now() % 60_000;
    if (sinceMinute > 40_000) await pause(60_100 - sinceMinute);
    await until("the budget is spent", async () => (await ask(first, small)).code === "429 budget_exhausted");
    for (const node of cluster.nodes) {
      for (let count = 0; count < 6; count += 1) {
        const { code, retryAfter } = await ask(node, small);
        assert.equal(code, "429 budget_exhausted", node.id);
        assert.ok(retryAfter >= 1 && retryAfter <= 60, `${node.id} ${retryAfter}`);
      }
    }
    await set(off, 0);
  });
});
