/** DNS-01 by the hosted provider's API, with a simulator of its formats, permissions, pages and errors. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { hostedApiProvider } from "../../../../../src/server/tls/index.ts";
import { dnsServer } from "../../../../e2e/support/dns.ts";
import { atEnd, type Owner } from "../../../../e2e/support/wait.ts";
import { type Fault, type HostedSimulator, hostedSimulator } from "../support/hosted-simulator.ts";

const names = await dnsServer({ after });
const signal = AbortSignal.timeout(60_000);

const ALL = ["example.com", "gw.example.com", "slow.example"];
const RIGHTS = {
  all: { reads: ALL, writes: ALL },
  writer: { writes: [] as string[] },
  reader: { reads: ALL },
  one: { writes: ["example.com"] },
};

async function start(owner: Owner, tokens: { apiToken?: string; zoneToken?: string } = {}) {
  const simulator = await hostedSimulator(RIGHTS);
  atEnd(owner, () => simulator.close());
  simulator.zones.set("example.com", "active").set("slow.example", "pending");
  const { apiToken = "all", zoneToken } = tokens;
  const options = { base: simulator.base, apiToken, zoneToken, nameServers: [names.address], now: Date.now };
  return { simulator, dns: hostedApiProvider(options) };
}

const NAME = "_acme-challenge.gw.example.com";
const record = (value: string, name = NAME) => ({ name, value });
const contents = ({ records }: HostedSimulator) => records.map(({ content }) => content).sort();

test("values are written in quotes beside each other in the longest zone, and each is removed separately", async (t) => {
  const { simulator, dns } = await start(t);
  await dns.publish([record("one"), record("two")], signal);
  assert.deepEqual(contents(simulator), ['"one"', '"two"']);
  assert.deepEqual(
    [...new Set(simulator.records.map(({ zone, name, ttl }) => `${zone} ${name} ${ttl}`))],
    [`example.com ${NAME} 60`],
  );
  await dns.remove(record("one"), signal);
  assert.deepEqual(contents(simulator), ['"two"']);
  simulator.zones.set("gw.example.com", "active");
  await dns.publish([record("three")], signal);
  assert.equal(simulator.records.at(-1)?.zone, "gw.example.com");
});

test("writing an existing value and removing a missing one succeed", async (t) => {
  const { simulator, dns } = await start(t);
  await dns.publish([record("one")], signal);
  await dns.publish([record("one")], signal);
  assert.deepEqual(contents(simulator), ['"one"']);
  simulator.fault = (method) => (method === "DELETE" ? { status: 404, code: 81044, message: "gone" } : undefined);
  await dns.remove(record("one"), signal);
  simulator.fault = () => undefined;
  await dns.remove(record("one"), signal);
  await dns.remove(record("never"), signal);
  assert.deepEqual(contents(simulator), []);
});

test("a value is found on any page, and other values stay", async (t) => {
  const { simulator, dns } = await start(t);
  const values = Array.from({ length: 7 }, (_, at) => `value-${at}`);
  await dns.publish(
    values.map((value) => record(value)),
    signal,
  );
  simulator.pageSize = 2;
  await dns.remove(record("value-6"), signal);
  assert.deepEqual(
    contents(simulator),
    values.slice(0, 6).map((value) => `"${value}"`),
  );
  const before = simulator.requests.length;
  simulator.fault = (method, path) =>
    method === "GET" && path.endsWith("dns_records")
      ? { status: 200, body: '{"result":[],"success":true,"errors":[],"result_info":{"total_pages":1e9}}' }
      : undefined;
  await dns.remove(record("value-0"), signal);
  assert.ok(simulator.requests.length - before < 60, "pages without end are not read without end");
});

test("a token that reads zones and one that writes records are each used for their own purpose", async (t) => {
  const { simulator, dns } = await start(t, { apiToken: "one", zoneToken: "reader" });
  await dns.publish([record("one")], signal);
  await dns.remove(record("one"), signal);
  assert.deepEqual([...new Set(simulator.tokens.map((it) => it.join(" ")))].sort(), ["one records", "reader zones"]);
});

test("missing permissions are reported with the key of the node file to change", async (t) => {
  for (const [tokens, message] of [
    [{ apiToken: "nobody" }, /10000 Authentication error; check tls\.dns\.api_token/],
    [{ apiToken: "writer" }, /has no zone for _acme-challenge\.gw\.example\.com.*zone_token/],
    [{ apiToken: "reader" }, /did not write .*10000 Authentication error; check tls\.dns\.api_token/],
  ] as const) {
    const { dns } = await start(t, tokens);
    await assert.rejects(dns.publish([record("x")], signal), (error: Error & { reason?: string }) => {
      assert.equal(error.reason, "dns_auth", error.message);
      assert.match(error.message, message);
      assert.ok(!error.message.includes(`"${tokens.apiToken}"`));
      return true;
    });
  }
  const { dns } = await start(t);
  const pending = dns.publish([record("x", "_acme-challenge.slow.example")], signal);
  await assert.rejects(pending, /slow\.example is pending at the DNS provider/);
});

const page = "<html><body>upstream failed</body></html>";
const FAULTS: readonly (readonly [string, Fault, string, RegExp])[] = [
  [
    "a rate limit",
    { status: 429, headers: { "retry-after": "120" }, code: 10000, message: "Rate limited" },
    "rate_limited",
    /Rate limited/,
  ],
  ["a page of a proxy in front of it", { status: 502, body: page }, "dns_update", /status 502$/],
  ["a page that reports success", { status: 200, body: page }, "dns_update", /status 200$/],
  ["an invalid envelope", { status: 200, body: "[1,null]" }, "dns_update", /status 200$/],
  [
    "control characters in a message",
    { status: 400, code: 1004, message: "bad\u001b[2J\nline" },
    "dns_update",
    /1004 bad \[2J line/,
  ],
  [
    "a malformed header",
    { status: 400, code: 6003, message: "Invalid request headers: Authorization" },
    "dns_auth",
    /api_token/,
  ],
  [
    "an endless answer",
    { status: 200, body: "x".repeat(2 << 20) },
    "dns_update",
    /cannot be reached: its answer is too long/,
  ],
];

for (const [what, fault, reason, message] of FAULTS) {
  test(`${what} fails the attempt, and the order continues`, async (t) => {
    const { simulator, dns } = await start(t);
    simulator.fault = (method) => (method === "POST" ? fault : undefined);
    const startedAt = Date.now();
    await assert.rejects(dns.publish([record("x")], signal), (error: Error & Record<string, unknown>) => {
      assert.equal(error["reason"], reason, error.message);
      assert.match(error.message, message);
      assert.equal(error["keepsOrder"], true);
      if (fault.status === 429) assert.ok(Number(error["retryAt"]) >= startedAt + 120_000);
      return true;
    });
  });
}

test("a signal ends the wait for a silent server", async (t) => {
  const { simulator, dns } = await start(t);
  simulator.fault = () => "silence";
  const stop = new AbortController();
  const asking = dns.publish([record("x")], stop.signal);
  stop.abort(new Error("stopped"));
  await assert.rejects(asking, { message: "stopped" });
});

test("a check reads zones and records, writes nothing, and names what is missing", async (t) => {
  const { simulator, dns } = await start(t);
  assert.match(
    await dns.check([NAME, "_acme-challenge.example.com"], signal),
    /shows the records of example\.com; whether they/,
  );
  assert.ok(simulator.requests.every((line) => line.startsWith("GET ")));
  const other = await start(t, { apiToken: "reader" });
  await assert.rejects(other.dns.check([NAME], signal), /did not list the records .*check tls\.dns\.api_token/);
});
