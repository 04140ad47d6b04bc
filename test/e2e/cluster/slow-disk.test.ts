/**
 * A follower whose disk is slow: its requests get their budgets all the same, since the leader and another member have stored
 * what the leader grants. strace delays each durable write of the running process.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { createAdminClient } from "../../../src/admin-api/index.ts";
import { peer } from "../../peers/index.ts";
import { freePort, listenLocally } from "../support/ports.ts";
import { createCluster, type TestNode } from "./support/cluster.ts";
import { mustWrite, THREE } from "./support/members.ts";
import { until } from "./support/until.ts";

const WRITE_SECONDS = 3;
const CALLERS = 6;
const LIMIT = 1_000;

const strace = await peer("strace");

test("a follower with a slow disk serves callers that it has no allowance for yet", {
  skip: strace.missing,
}, async (t) => {
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
    budgets: [{ name: "each", limit: LIMIT, window: "week", cost: { type: "CEL", cel: "1" } }],
    profiles: [{ name: "each", budget: "each" }],
  };
  const cluster = await createCluster(t, { ids: THREE, settings: { deployment } });
  for (const node of cluster.nodes) node.settings = { ...node.settings, listen: `127.0.0.1:${await freePort()}` };
  await cluster.startAll();
  await cluster.serving();
  const leader = cluster.node(await cluster.leader());
  const follower = cluster.nodes.find(({ id }) => id !== leader.id) as TestNode;
  const client = createAdminClient({ address: { kind: "socket", path: leader.socketPath } });
  t.after(() => client.close());
  const keys: string[] = [];
  for (let at = 0; at < CALLERS; at += 1)
    keys.push((await client.call("create_key", { body: { name: `c${at}`, profile: "each" } })).key ?? "");
  const ask = async (key: string): Promise<string> => {
    const answer = await fetch(`http://${follower.settings.listen}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "m", max_tokens: 1, messages: [{ role: "user", content: "hello" }] }),
    });
    const { error } = (await answer.json()) as { readonly error?: { readonly code: string } };
    return error === undefined ? String(answer.status) : `${answer.status} ${error.code}`;
  };
  const [first = "", ...others] = keys;
  await cluster.caughtUp();
  await until("the follower serves", async () => (await ask(first)) === "200");
  await cluster.caughtUp();

  const delay = `delay_enter=${WRITE_SECONDS}s`;
  const calls = "fsync,fdatasync";
  const tracer = spawn(
    strace.path,
    ["-f", "-e", `trace=${calls}`, "-e", `inject=${calls}:${delay}`, "-p", String(follower.pid)],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  t.after(() => void tracer.kill("SIGKILL"));
  const output = String((await once(tracer.stderr, "data"))[0]);
  if (!output.includes("attached")) return t.skip(`strace cannot attach to a process here: ${output.trim()}`);
  tracer.stderr.resume();

  await mustWrite(leader, "during", 1);
  const answers = await Promise.all(others.map(ask));
  assert.deepEqual(new Set(answers), new Set(["200"]), answers.join(", "));
  assert.equal(
    (await follower.nodeClient.localRegisters()).get("during"),
    undefined,
    "the disk of the follower is slow",
  );

  tracer.kill("SIGINT");
  await once(tracer, "exit");
  await until("all spending is reported", async () => {
    const { items } = await client.call("list_budgets", {});
    return items.reduce((sum, { used }) => sum + used, 0) >= CALLERS;
  });
});
