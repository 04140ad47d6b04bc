/**
 * Answers without a record while the node process hangs, is killed or is busy: a worker refuses after one second, and one
 * without its node process serves nothing.
 */
import assert from "node:assert/strict";
import { Agent, request } from "node:http";
import { test } from "node:test";
import { recordsIn } from "../admin/support/trail.ts";
import { mint, startGoverned } from "../governance/support/governed.ts";
import { eventually } from "../support/wait.ts";
import { allServe, isAlive } from "./support/workers.ts";

const CLIENTS = 6;
/** Age at which a worker refuses, two check intervals, and an allowance for a loaded machine. */
const BOUND_MS = 1_000 + 100 + 250;

interface Answered {
  readonly id: string;
  readonly at: number;
}

interface Load {
  readonly answered: Answered[];
  readonly refused: number[];
  stop(): Promise<void>;
}

/** Clients with a connection each, so that a worker serves them although the node process accepts nothing. */
function load(port: number, key: string): Load {
  const answered: Answered[] = [];
  const refused: number[] = [];
  let isOver = false;
  let other: string | undefined;
  const body = JSON.stringify({ model: "acme-chat", messages: [{ role: "user", content: "hello" }] });
  const ask = (agent: Agent): Promise<void> =>
    new Promise((resolve) => {
      const headers = {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
      };
      const asked = request(
        { port, host: "127.0.0.1", path: "/v1/chat/completions", method: "POST", headers, agent },
        (answer) => {
          let text = "";
          answer.setEncoding("utf8").on("data", (part: string) => {
            text += part;
          });
          answer.once("close", resolve);
          answer.once("end", () => {
            const id = String(answer.headers["x-gateway-request-id"]);
            if (answer.statusCode === 200) answered.push({ id, at: Date.now() });
            else if (text.includes("audit_unavailable")) refused.push(Date.now());
            else other ??= text;
          });
        },
      );
      asked.once("error", () => resolve());
      asked.end(body);
    });
  const clients = Array.from({ length: CLIENTS }, async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (!isOver) {
      await ask(agent);
      await new Promise((done) => setTimeout(done, 2));
    }
    agent.destroy();
  });
  return {
    answered,
    refused,
    async stop() {
      isOver = true;
      await Promise.all(clients);
      assert.equal(other, undefined);
    },
  };
}

const DEPLOYMENT = {
  access_rules: [{ name: "any", at: ["llm"], condition: "true", action: "allow" }],
};

for (const [what, hang] of [
  ["hangs for seconds and is then killed", true],
  ["is killed", false],
] as const) {
  test(`workers lose no audit record of a node process that ${what}`, async (t) => {
    const { node, gateway } = await startGoverned(t, { deployment: DEPLOYMENT, env: { GATEWAY_WORKERS: "2" } });
    const key = await mint(node, "one");
    const workers = await allServe(gateway, 2);
    const under = load(gateway.port, key);
    t.after(() => under.stop());
    await eventually("answers", () => under.answered.length > 200);
    if (hang) {
      process.kill(gateway.pid, "SIGSTOP");
      const stoppedAt = Date.now();
      await eventually("refusals", () => under.refused.length > 20);
      await eventually("four seconds", () => Date.now() - stoppedAt > 4_000);
      const late = under.answered.filter(({ at }) => at - stoppedAt > BOUND_MS);
      assert.deepEqual(late, []);
    } else assert.deepEqual(under.refused, []);
    const killedAt = Date.now();
    process.kill(gateway.pid, "SIGKILL");
    await eventually("the end of the workers", () => workers.every(({ pid }) => !isAlive(pid)));
    const endedAt = Date.now();
    await under.stop();
    await gateway.ended;
    const before = node.output();
    // Records in the journal that were not yet emitted appear at the next start.
    await node.start();
    await node.stop();
    const recorded = new Set(
      recordsIn(`${before}\n${node.output()}`).flatMap(({ event, data }) =>
        event === "access.decision" ? [String(data["request"])] : [],
      ),
    );
    const missing = under.answered.filter(({ id }) => !recorded.has(id));
    t.diagnostic(`${missing.length} of ${under.answered.length} without a record; ended in ${endedAt - killedAt} ms`);
    const span = missing.length === 0 ? 0 : (missing.at(-1)?.at ?? 0) - (missing[0]?.at ?? 0);
    assert.ok(span <= BOUND_MS, `answers of ${span} ms have no record`);
  });
}
