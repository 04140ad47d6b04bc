/**
 * The scheduler of a pool, called for each request: where it goes, what the scheduler may not do, what happens without
 * it. Source: Endpoint Picker protocol 1.0.0; specification document 3, `picker`.
 */
import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { createOne, led } from "./config/support/nodes.ts";
import { mint, say } from "./governance/support/governed.ts";
import { dnsServer } from "./support/dns.ts";
import { runProgram } from "./support/gateway.ts";
import { poolServers } from "./support/members.ts";
import { readMetrics, sumOf } from "./support/metrics.ts";
import { picks, refuses, testPicker } from "./support/picker.ts";
import { freePort } from "./support/ports.ts";
import { scriptedUpstream } from "./support/upstream.ts";
import { eventually, within } from "./support/wait.ts";

const file = { after };
const dns = await dnsServer(file);
const models: string[] = [];
const held: (() => void)[] = [];
let isHeld = false;
const { port, servers } = await poolServers(file, 4, {
  answers(text, response, { address }) {
    const answer = (): void => {
      models.push(text);
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ by: address, choices: [] }));
    };
    if (isHeld) held.push(answer);
    else answer();
  },
});
const elsewhere = await scriptedUpstream(file);
const picker = await testPicker(file, picks(`127.0.0.2:${port}`));
const gone = await freePort();
dns.names.set("gpu.test", { addresses: ["127.0.0.2", "127.0.0.3", "127.0.0.4"], ttl: 60 });
dns.names.set("lora.test", { addresses: ["127.0.0.3", "127.0.0.4"], ttl: 60 });

const pool = (model: string, facts: object = {}, at = picker.port): object => ({
  name: model,
  dialect: "compat",
  pool: {
    service: `http://gpu.test:${port}/v1`,
    subsets: [{ name: "lora", service: "lora.test" }],
    picker: { service: `http://127.0.0.1:${at}`, timeout: "400ms", ...facts },
  },
  models: [model],
  api_key: "the-key-of-the-pool",
  retry: { attempts: 2, backoff: "1ms" },
  failover: { to: ["other"] },
});
const node = await createOne(file, {
  deployment: {
    auth: { virtual_keys: true },
    profiles: [{ name: "tuned", pool_subset: "lora" }],
    providers: [
      pool("gpu"),
      pool("strict", { on_error: "refuse" }),
      pool("unpicked", {}, gone),
      { ...pool("refused", { on_error: "refuse" }, gone), failover: undefined, retry: undefined },
      { name: "other", dialect: "compat", base_url: `${elsewhere.url}/v1`, api_key: "k", models: ["other"] },
    ],
  },
});
const gateway = await node.start({ GATEWAY_DNS_SERVERS: dns.address });
await led(node);
const key = await mint(node, "all");
const tuned = await mint(node, "tuned", { profile: "tuned" });

const ask = (model: string, by = key, more: object = {}) =>
  say(gateway, { key: by, body: { model, messages: [{ role: "user", content: "hello" }], ...more } });
const byOf = (text: string): unknown => (JSON.parse(text) as { readonly by?: unknown }).by;
const at = (...last: readonly number[]): string => last.map((number) => `127.0.0.${number}:${port}`).join(",");
const decided = async (outcome: string): Promise<number> =>
  sumOf(await readMetrics(gateway), "gateway_picker_decisions_total", { outcome });
const last = () => {
  const request = picker.requests.at(-1);
  assert.ok(request);
  return request;
};

beforeEach(() => {
  picker.requests.length = 0;
  models.length = 0;
  picker.isLiberal = false;
  picker.script = picks(at(2));
});

test("a request goes where the picker says; the picker hears the outcome and sees no credential", async () => {
  for (const member of [4, 2, 3]) {
    picker.script = picks(at(member));
    const { status, text } = await ask("gpu");
    assert.deepEqual([status, byOf(text)], [200, `127.0.0.${member}`]);
    await eventually("the end of the stream", () => last().isOver);
    const { headers, hints, response, body } = last();
    assert.deepEqual(response, { status: "200", served: at(member) });
    assert.deepEqual(hints, [undefined, undefined]);
    assert.deepEqual(JSON.parse(body.toString()), { model: "gpu", messages: [{ role: "user", content: "hello" }] });
    assert.deepEqual(
      [headers.get(":method"), headers.get(":path"), headers.get(":authority"), headers.get(":scheme")],
      ["POST", "/v1/chat/completions", `gpu.test:${port}`, "http"],
    );
    const names = [...headers.keys()].filter((name) => !name.startsWith(":")).sort();
    assert.deepEqual(names, ["content-type", "x-request-id"]);
  }
});

test("a body in many chunks is sent to a picker, and its answers may come in any permitted order", async () => {
  picker.isLiberal = true;
  picker.script = picks(at(3));
  const padding = "x".repeat(300_000);
  const { status, text } = await ask("gpu", key, { padding });
  assert.deepEqual([status, byOf(text)], [200, "127.0.0.3"]);
  assert.ok(last().body.length > 300_000);
  assert.equal(last().hints.length, 6);
});

test("every message names the members of the subset, and other addresses are ignored", async () => {
  picker.script = picks(at(4));
  const { text } = await ask("gpu", tuned, { padding: "x".repeat(70_000) });
  assert.equal(byOf(text), "127.0.0.4");
  const hint = [at(3), at(4)];
  assert.deepEqual(last().hints, [hint, hint, hint]);
  // A member of the pool, but not of the subset.
  const before = await decided("outside");
  picker.script = picks(at(2));
  assert.match(String(byOf((await ask("gpu", tuned)).text)), /^127\.0\.0\.[34]$/);
  assert.equal(await decided("outside"), before + 1);
});

test("a pick outside the pool is refused and counted, and the pool serves without it", async () => {
  const before = await decided("outside");
  const outside = ["127.0.0.5", "127.0.0.1", "169.254.169.254", "[::1]", "gpu.test"].map((host) => `${host}:${port}`);
  for (const endpoint of [...outside, "127.0.0.2:1", `127.0.0.2`, "127.0.0.2:1,127.0.0.9:80"]) {
    picker.script = picks(endpoint);
    for (const model of ["gpu", "strict"]) {
      const { status, text } = await ask(model);
      assert.equal(status, 200, endpoint);
      assert.match(String(byOf(text)), /^127\.0\.0\.[234]$/);
    }
  }
  assert.equal(await decided("outside"), before + 16);
  assert.equal(servers[3]?.requests, 0);
  // A valid member counts, whatever is listed beside it.
  picker.script = picks(`127.0.0.5:${port},${at(3)}`);
  assert.equal(byOf((await ask("gpu")).text), "127.0.0.3");
});

test("a list of picks is the order of fallbacks", async (t) => {
  await servers[2]?.kill();
  t.after(() => servers[2]?.revive());
  picker.script = picks(at(4, 3));
  for (const model of ["gpu", "strict"]) assert.equal(byOf((await ask(model)).text), "127.0.0.3");
  const answer = await eventually("the response", () => last().response);
  assert.deepEqual(answer, { status: "200", served: at(3) });
  // Then the rest of the pool is tried, since this picker is advisory.
  picker.script = picks(at(4));
  assert.equal((await ask("gpu")).headers.get("x-gateway-provider"), "gpu");
  assert.equal((await ask("strict")).headers.get("x-gateway-provider"), "other");
});

test("its 503 and 429 reach the caller and are neither retried nor failed over", async () => {
  const busy = '{"error":{"message":"busy"}}';
  for (const model of ["gpu", "strict"]) {
    for (const status of [503, 429]) {
      picker.requests.length = 0;
      picker.script = refuses(status, busy, [
        ["content-type", "application/json"],
        ["retry-after", "7"],
        ["set-cookie", "a=b"],
      ]);
      const answer = await ask(model);
      assert.deepEqual([answer.status, answer.text], [status, busy]);
      assert.equal(answer.headers.get("retry-after"), "7");
      assert.equal(answer.headers.get("set-cookie"), null);
      assert.equal(picker.requests.length, 1);
    }
  }
  picker.script = refuses(503);
  assert.match((await ask("gpu")).text, /No server of this pool is ready/);
});

test("without a decision, `fallback` serves and `refuse` does not", async () => {
  const contradiction = picks(at(2), { header: at(3) });
  const cases = {
    late: () => undefined,
    refused: refuses(404, "no such model"),
    violation: contradiction,
    unreachable: (call) => void call.emit("error", { code: 13, details: "no pods" }),
  } satisfies Record<string, typeof picker.script>;
  for (const [outcome, script] of Object.entries(cases)) {
    picker.script = script;
    const before = await decided(outcome);
    assert.equal((await ask("gpu")).headers.get("x-gateway-provider"), "gpu", outcome);
    // The provider's own policy applies: an attempt that cannot be made fails over.
    assert.equal((await ask("strict")).headers.get("x-gateway-provider"), "other", outcome);
    assert.ok((await decided(outcome)) >= before + 2, outcome);
  }
  assert.equal((await ask("unpicked")).status, 200);
  const refused = await ask("refused");
  assert.deepEqual([refused.status, refused.code], [502, "upstream_unreachable"]);
  assert.match(refused.text, /its picker (cannot be reached|did not decide in time)/);
  assert.ok(gateway.log().some(({ message }) => message === "the picker of a pool failed"));
});

test("from a body echoed by the picker only the model is taken, once the body is complete", async () => {
  const echo = Buffer.from(JSON.stringify({ model: "gpu-lora-7", messages: [{ role: "user", content: "EVIL" }] }));
  picker.script = picks(at(2), { echo });
  assert.equal((await ask("gpu")).status, 200);
  assert.deepEqual(JSON.parse(models.at(-1) ?? ""), {
    model: "gpu-lora-7",
    messages: [{ role: "user", content: "hello" }],
  });
  // The echo is truncated: the pick is valid, the model is not.
  picker.script = (call, request) => {
    picks(at(3), { echo: Buffer.alloc(1) })(call, request);
  };
  assert.equal(byOf((await ask("gpu")).text), "127.0.0.3");
  assert.equal((JSON.parse(models.at(-1) ?? "") as { model?: string }).model, "gpu");
});

test("a pick withdrawn before the answer is a 429 and ends the upstream request; a client disconnect ends the stream", async (t) => {
  isHeld = true;
  t.after(() => {
    isHeld = false;
    for (const answer of held.splice(0)) answer();
  });
  picker.script = (call, request) => {
    picks(at(2))(call, request);
    const taken = setInterval(() => {
      if (held.length === 0) return;
      clearInterval(taken);
      refuses(429, "evicted")(call, request);
    }, 5);
  };
  const answer = await ask("gpu");
  assert.deepEqual([answer.status, answer.text], [429, "evicted"]);
  assert.equal(await decided("evicted"), 1);
  held.length = 0;
  picker.script = picks(at(2));
  const leaving = new AbortController();
  const asked = fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "gpu", messages: [] }),
    signal: leaving.signal,
  });
  await eventually("the request at the server", () => held.length > 0);
  assert.ok(!last().isOver);
  leaving.abort();
  await assert.rejects(asked);
  await eventually("the end of its stream", () => last().isOver);
});

test("`gateway check` describes a pool and says whether its picker answers", async (t) => {
  const program = runProgram(t, {
    args: ["check", "-config", node.nodePath, "-timeout", "1s"],
    env: { GATEWAY_DNS_SERVERS: dns.address },
  });
  await within("the end of check", program.ended, 60_000);
  const text = program.stdout();
  assert.match(text, /^ok {4}provider gpu: http:\/\/gpu\.test:\d+\/v1\/models answered 200/m);
  assert.match(text, /^ok {4}pool gpu: gpu\.test resolves to 3 servers \(TTL 1m\)/m);
  assert.match(text, /^ok {4}pool gpu \(lora\): lora\.test resolves to 2 servers/m);
  assert.match(text, /^ok {4}picker of pool gpu: 127\.0\.0\.1:\d+ answered in \d+ ms/m);
  assert.match(text, /^fail {2}picker of pool unpicked: 127\.0\.0\.1:\d+: no connection within 1s/m);
});
