/**
 * Servers behind one name, through a gateway process and a DNS server of the test: which members are called, what
 * happens when members come, go and fail, which addresses are rejected, and how callers are restricted to a subset.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { WebSocket, WebSocketServer } from "ws";
import { createOne, led } from "./config/support/nodes.ts";
import { mint, say } from "./governance/support/governed.ts";
import { dnsServer } from "./support/dns.ts";
import { poolServers } from "./support/members.ts";
import { readMetrics, sumOf } from "./support/metrics.ts";
import { freePort } from "./support/ports.ts";
import { scriptedUpstream } from "./support/upstream.ts";
import { eventually, within } from "./support/wait.ts";

const file = { after };
const dns = await dnsServer(file);
const { port, servers } = await poolServers(file, 6);
const elsewhere = await scriptedUpstream(file);
const dataPort = await freePort();
const at = (...last: readonly number[]): readonly string[] => last.map((number) => `127.0.0.${number}`);

dns.names.set("gpu.test", { addresses: at(2, 3, 4) });
dns.names.set("lora.test", { addresses: at(3) });
dns.names.set("churn.test", { addresses: at(2, 3, 4, 5) });
dns.names.set("large.test", {
  addresses: [...Array.from({ length: 999 }, (_, n) => `127.1.${n >> 8}.${n & 255}`), ...at(2)],
});
dns.names.set("meta.test", { addresses: ["169.254.169.254", "0.0.0.0", "::ffff:a9fe:a9fe"] });
dns.names.set("moving.test", { addresses: ["192.0.2.7"] });
dns.names.set("self.test", { addresses: at(1) });

const pool = (model: string, name: string, more: object = {}, own = port): object => ({
  name: model,
  dialect: "compat",
  pool: { service: `http://${name}:${own}/v1`, ...more },
  models: [model],
  api_key: "the-key-of-the-pool",
});
const node = await createOne(file, {
  changes: { listen: `127.0.0.1:${dataPort}` },
  deployment: {
    auth: { virtual_keys: true },
    profiles: [{ name: "tuned", pool_subset: "lora" }],
    providers: [
      {
        ...pool("gpu", "gpu.test", { subsets: [{ name: "lora", service: "lora.test" }] }),
        failover: { to: ["other"] },
      },
      pool("churn", "churn.test"),
      pool("large", "large.test"),
      pool("meta", "meta.test"),
      pool("moving", "moving.test"),
      pool("nothing", "nothing.test"),
      { ...pool("poor", "gpu.test"), failover: { to: ["gpu"] } },
      pool("self", "self.test", {}, dataPort),
      pool("hosts", "localhost"),
      { name: "other", dialect: "compat", base_url: `${elsewhere.url}/v1`, api_key: "k", models: ["other"] },
    ],
  },
});
const gateway = await node.start({ GATEWAY_DNS_SERVERS: dns.address });
await led(node);
const key = await mint(node, "all");
const tuned = await mint(node, "tuned", { profile: "tuned" });

const body = (model: string) => ({ model, messages: [{ role: "user", content: "hello" }] });
const ask = (model: string, by = key) => say(gateway, { key: by, body: body(model) });
const requestCounts = (): readonly number[] => servers.map(({ requests }) => requests);
const added = (before: readonly number[]): readonly number[] =>
  requestCounts().map((count, n) => count - (before[n] ?? 0));
const members = async (name: string): Promise<number> =>
  (await node.client.call("list_backends")).items.find((it) => it.name === name)?.members ?? -1;

test("requests go to the members by round robin, under the pool's name", async () => {
  const before = requestCounts();
  for (let n = 0; n < 9; n += 1) assert.equal((await ask("gpu")).status, 200);
  const [first = 0, second = 0, third = 0, ...none] = added(before);
  assert.deepEqual([first + second + third, none], [9, [0, 0, 0]]);
  // Each data plane process has its own round robin.
  for (const turns of [first, second, third]) assert.ok(turns >= 2 && turns <= 4, `${[first, second, third]}`);
  assert.equal(await members("gpu"), 3);
});

test("the members of a pool are listed one by one, and a provider that is not a pool has none", async (t) => {
  const membersOf = async (name: string) =>
    (await node.client.call("list_backend_members", { params: { name } })).items;
  assert.deepEqual(await membersOf("other"), []);
  await assert.rejects(membersOf("nobody"), { code: "not_found" });
  assert.deepEqual(
    (await membersOf("gpu")).map(({ address, subsets, state, node: met }) => [address, subsets, state, met]),
    [
      [`127.0.0.2:${port}`, [], "ok", "n1"],
      [`127.0.0.3:${port}`, ["lora"], "ok", "n1"],
      [`127.0.0.4:${port}`, [], "ok", "n1"],
    ],
  );
  const last = servers[2];
  assert.ok(last);
  await last.kill();
  let isBack = false;
  t.after(() => (isBack ? undefined : last.revive()));
  const before = Date.now();
  for (let n = 0; n < 3; n += 1) assert.equal((await ask("gpu")).status, 200);
  const [failing, ...others] = await membersOf("gpu");
  assert.ok(failing);
  const { last_error_at: at, failing_since: since, attempts, ...facts } = failing;
  assert.deepEqual(facts, {
    address: `127.0.0.4:${port}`,
    subsets: [],
    state: "failing",
    in_flight: 0,
    failures: 1,
    last_error: "ECONNREFUSED",
    node: "n1",
  });
  assert.ok(attempts > 0 && since === at && Date.parse(at ?? "") >= before - 1 && Date.parse(at ?? "") <= Date.now());
  assert.deepEqual(
    others.map(({ state, last_error, failing_since }) => [state, last_error, failing_since]),
    [
      ["ok", null, null],
      ["ok", null, null],
    ],
  );
  await last.revive();
  isBack = true;
  await eventually("it serves again", async () => {
    await ask("gpu");
    const [first] = (await membersOf("gpu")).filter(({ address }) => address === failing.address);
    return first?.state === "ok" && first.failing_since === null && first.last_error === "ECONNREFUSED";
  });
});

test("a profile's subset applies wherever its request goes", async () => {
  const before = requestCounts();
  for (let n = 0; n < 4; n += 1) assert.equal((await ask("gpu", tuned)).status, 200);
  // The requested pool has no such subset, so the next one that has it serves.
  for (let n = 0; n < 4; n += 1) {
    const { status, headers } = await ask("poor", tuned);
    assert.deepEqual([status, headers.get("x-gateway-provider")], [200, "gpu"]);
  }
  assert.deepEqual(added(before), [0, 8, 0, 0, 0, 0]);
  const refused = await ask("churn", tuned);
  assert.deepEqual([refused.status, refused.code], [403, "no_pool_subset"]);
  assert.match(refused.text, /subset lora, which provider churn does not have/);
  // The subset does not concern providers that are not pools.
  assert.equal((await ask("other", tuned)).status, 200);
});

test("a session goes to a member of the caller's subset and skips a member that is down", async (t) => {
  const sessions: string[] = [];
  const listeners = servers.slice(0, 3).map(({ server, address }) => {
    const webSockets = new WebSocketServer({ server });
    webSockets.on("connection", (socket) => {
      sessions.push(address);
      socket.on("message", (text) => socket.send(String(text)));
    });
    return webSockets;
  });
  t.after(() => {
    for (const listener of listeners) for (const client of listener.clients) client.terminate();
  });
  const open = async (by: string): Promise<WebSocket> => {
    const socket = new WebSocket(`${gateway.url.replace("http", "ws")}/v1/realtime?model=gpu`, {
      headers: { authorization: `Bearer ${by}` },
    });
    t.after(() => socket.terminate());
    await within("a session", new Promise((opened, failed) => socket.once("open", opened).once("error", failed)));
    return socket;
  };
  for (let n = 0; n < 3; n += 1) await open(tuned);
  assert.deepEqual(sessions.splice(0), at(3, 3, 3));
  await servers[0]?.kill();
  t.after(() => servers[0]?.revive());
  for (let n = 0; n < 4; n += 1) await open(key);
  assert.deepEqual([...new Set(sessions)].sort(), at(3, 4));
  for (const endpoint of listeners) endpoint.close();
});

test("members come and go under load, and only requests on a killed one fail", async () => {
  const outcomes = new Map<number, number>();
  let isOver = false;
  const client = async (): Promise<void> => {
    while (!isOver) {
      const { status } = await ask("churn");
      outcomes.set(status, (outcomes.get(status) ?? 0) + 1);
    }
  };
  const clients = Array.from({ length: 8 }, client);
  const to = async (...last: readonly number[]): Promise<void> => {
    dns.names.set("churn.test", { addresses: at(...last) });
    const before = requestCounts();
    await eventually(`${last.length} members`, async () => (await members("churn")) === last.length);
    await eventually("requests at each of them", () => last.every((n) => (added(before)[n - 2] ?? 0) > 0));
  };
  await to(2, 3);
  await to(2, 3, 4, 5, 6, 7);
  await to(6, 7);
  await to(2, 3, 4, 5);
  assert.deepEqual([...outcomes.keys()], [200]);
  const gone = servers[1];
  assert.ok(gone);
  const before = requestCounts();
  await gone.kill();
  await eventually("requests at the others", () => (added(before)[0] ?? 0) > 50);
  const broken = [...outcomes].filter(([status]) => status !== 200);
  // At most one request per client was in flight there.
  assert.ok(
    broken.every(([status, count]) => status === 502 && count <= 8),
    JSON.stringify(broken),
  );
  const failures = await readMetrics(gateway);
  assert.ok(sumOf(failures, "gateway_pool_connect_failures_total", { provider: "churn" }) > 0);
  await gone.revive();
  const later = requestCounts();
  await eventually("requests at the one that is back", () => (added(later)[1] ?? 0) > 5);
  isOver = true;
  await Promise.all(clients);
});

test("a pool resolves a thousand members in an answer that needs TCP", async () => {
  await eventually("a thousand members", async () => (await members("large")) === 1_000);
  assert.ok(dns.overTcp() > 0);
  // All but one refuse: some sixteen are tried and then pause, so that the one is found.
  const served = await eventually("the one that serves", async () => {
    const { status } = await ask("large");
    assert.ok(status === 200 || status === 502);
    return status === 200;
  });
  assert.ok(served);
});

test("a name that resolves to nothing, to blocked addresses or to the gateway itself is not called", async () => {
  for (const [model, why] of [
    ["nothing", "the name has no address"],
    ["meta", "it resolves to an address that the gateway never connects to"],
    ["self", "it resolves to the gateway itself"],
  ] as const) {
    const { status, code, text } = await ask(model);
    assert.deepEqual([status, code], [502, "upstream_unreachable"], model);
    assert.ok(text.includes(`Provider ${model} could not be reached: ${why}.`), text);
    assert.doesNotMatch(text, /169\.254|127\.0\.0/);
  }
  const series = await readMetrics(gateway);
  assert.ok(sumOf(series, "gateway_pool_fenced_addresses_total", { provider: "meta", why: "fenced" }) >= 3);
  assert.ok(sumOf(series, "gateway_pool_fenced_addresses_total", { provider: "self", why: "own" }) >= 1);
  const found = gateway.log().filter(({ message }) => message === "the servers of a pool cannot be resolved correctly");
  // Reported by each data plane process that called it.
  assert.deepEqual([...new Set(found.map(({ provider }) => provider))].sort(), ["meta", "nothing", "self"]);
});

test("a name that resolved to other hosts is not accepted when it points to this machine", async () => {
  const before = requestCounts();
  dns.names.set("moving.test", { addresses: at(2) });
  await eventually("the answer was looked at", async () => {
    const series = await readMetrics(gateway);
    return sumOf(series, "gateway_pool_fenced_addresses_total", { provider: "moving", why: "rebound" }) > 0;
  });
  // Each worker process resolves the name separately.
  const { status } = await eventually("every process has looked at the answer", async () => {
    const answer = await ask("moving");
    return answer.text.includes("it resolves to this machine, although it resolved to other machines before") && answer;
  });
  assert.equal(status, 502);
  assert.deepEqual(added(before), [0, 0, 0, 0, 0, 0]);
});

test("known members are kept while name servers fail, and no request waits for DNS", async () => {
  const lookups = async (): Promise<number> =>
    sumOf(await readMetrics(gateway), "gateway_pool_lookups_total", { provider: "gpu", subset: "", outcome: "failed" });
  for (const answer of ["failure", "none"] as const) {
    const before = await lookups();
    dns.names.set("gpu.test", answer);
    await eventually(`an answer of ${answer}`, async () => (await lookups()) > before);
    const startedAt = performance.now();
    for (let n = 0; n < 3; n += 1) assert.equal((await ask("gpu")).status, 200, answer);
    assert.ok(performance.now() - startedAt < 1_500);
    assert.equal(await members("gpu"), 3);
  }
  dns.names.set("gpu.test", { addresses: at(2, 3, 4) });
});
