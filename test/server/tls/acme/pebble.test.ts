// tier: all
/** Certificates of a real authority, over nodes that share in-memory rows. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { after, afterEach, test } from "node:test";
import { createInstruments } from "../../../../src/base/index.ts";
import { type AcmeSettings, type Certificate, type Certificates, openAcme } from "../../../../src/server/tls/index.ts";
import { peer } from "../../../peers/index.ts";
import { startChallengeServer } from "./support/challenge-server.ts";
import { createMemoryCluster, type MemoryCluster } from "./support/memory-cluster.ts";
import { EAB, type Pebble, type PebbleOptions, startPebble } from "./support/pebble.ts";

const it = await peer("pebble");
const skip = { skip: it.missing };

const challengeServer = await startChallengeServer();
after(() => challengeServer.close());
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly [field: string]: unknown;
}

function open(cluster: MemoryCluster, node: string, settings: AcmeSettings, result: LogLine[] = []): Certificates {
  const logAt =
    (level: string) =>
    (message: string, fields: object = {}) =>
      void result.push({ level, message, ...fields });
  const log = { debug: () => undefined, info: logAt("info"), warn: logAt("warn"), error: logAt("error") };
  const acme = openAcme({
    settings,
    store: cluster.store(node),
    userAgent: "gateway/test",
    listening: Promise.resolve(),
    now: Date.now,
    random: Math.random,
    instruments: createInstruments(),
    log,
  });
  closers.push(() => acme.close());
  return acme;
}

async function pebble(options: Omit<PebbleOptions, "httpPort"> = {}): Promise<Pebble> {
  const started = await startPebble(it.path, { httpPort: challengeServer.port, ...options });
  closers.push(() => started.close());
  return started;
}

const settingsOf = ({ directory, roots }: Pebble, more: Partial<AcmeSettings> = {}): AcmeSettings => ({
  domains: ["gw.example.com"],
  email: "ops@example.com",
  ca: directory,
  roots,
  eab: undefined,
  dns: undefined,
  dnsSettings: undefined,
  ...more,
});

/** Resolves once `found` returns something; it is called after every change. */
function until<T>(acme: Certificates, found: () => T | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => reject(new Error(`not in time: ${JSON.stringify(acme.status())}`)), 30_000);
    const look = (): void => {
      const value = found();
      if (value === undefined) return;
      clearTimeout(limit);
      end();
      resolve(value);
    };
    const end = acme.onChange(look);
    look();
  });
}

const issued = (acme: Certificates): Promise<Certificate> => until(acme, () => acme.current());
const failure = (acme: Certificates) => until(acme, () => acme.status().failure);

test("a certificate is ordered by the leader, validated at other nodes, and served by all", skip, async () => {
  const authority = await pebble();
  const cluster = createMemoryCluster("n2");
  const domains = ["gw.example.com", "api.example.com"];
  const nodes = ["n1", "n2", "n3"].map((node) => open(cluster, node, settingsOf(authority, { domains })));
  // Never the leader.
  challengeServer.answerers = [nodes[0], nodes[2]].map((node) => (host, token) => node?.challenge(host, token));
  const [one, two, three] = await Promise.all(nodes.map(issued));
  assert.equal(one?.serial, two?.serial);
  assert.equal(one?.serial, three?.serial);
  assert.deepEqual(one?.names.toSorted(), ["api.example.com", "gw.example.com"]);
  assert.ok(challengeServer.requestCount() > 0);
  const leaf = new X509Certificate(one?.chain ?? "");
  assert.ok(leaf.checkPrivateKey((await import("node:crypto")).createPrivateKey(one?.key ?? "")));
  const state = nodes[1]?.status();
  assert.equal(state?.failure, undefined);
  assert.equal(state?.step, undefined);
  const life = Date.parse(leaf.validTo) - Date.parse(leaf.validFrom);
  const share = ((state?.nextRenewal ?? 0) - Date.parse(leaf.validFrom)) / life;
  assert.ok(share > 0.64 && share < 0.67, `${share}`);
  assert.equal(nodes[0]?.challenge("gw.example.com", "x".repeat(43)), undefined, "no order is under way any more");
});

test("refused nonces are drawn again", skip, async () => {
  const authority = await pebble({ env: { PEBBLE_WFE_NONCEREJECT: "25" } });
  const acme = open(createMemoryCluster(), "n1", settingsOf(authority));
  challengeServer.answerers = [acme.challenge];
  assert.deepEqual((await issued(acme)).names, ["gw.example.com"]);
});

test("an account is bound if the authority requires it, and missing settings are reported", skip, async () => {
  const authority = await pebble({ requiresEab: true });
  const reported: LogLine[] = [];
  const cluster = createMemoryCluster();
  const without = open(cluster, "n1", settingsOf(authority), reported);
  const lacking = await failure(without);
  assert.equal(lacking.reason, "eab");
  assert.match(lacking.message, /tls\.eab/);
  assert.ok((without.status().nextAttempt ?? 0) > Date.now() + 50_000);
  await without.close();
  const [line] = reported.filter(({ level }) => level === "error");
  assert.equal(line?.message, "no certificate could be obtained");
  assert.equal(line?.["reason"], "eab");
  // Another binding is tried at once, whatever wait the last failure requested.
  const wrong = open(cluster, "n1", settingsOf(authority, { eab: { ...EAB, macKey: "AAAA" } }), reported);
  assert.equal(
    (await until(wrong, () => (wrong.status().failures === 2 ? wrong.status().failure : undefined))).reason,
    "eab",
  );
  await wrong.close();
  const bound = open(cluster, "n1", settingsOf(authority, { eab: EAB }));
  challengeServer.answerers = [bound.challenge];
  await issued(bound);
  assert.ok(!JSON.stringify(reported).includes(EAB.macKey));
});

test("a name that cannot be validated is reported, and the previous certificate keeps serving", skip, async () => {
  const authority = await pebble();
  const cluster = createMemoryCluster();
  const before = open(cluster, "n1", settingsOf(authority));
  challengeServer.answerers = [before.challenge];
  const { serial } = await issued(before);
  await before.close();
  const domains = ["gw.example.com", "two.example.com"];
  const acme = open(cluster, "n1", settingsOf(authority, { domains }));
  assert.equal(acme.current()?.serial, serial);
  challengeServer.answerers = [(host, token) => (host === "two.example.com" ? undefined : acme.challenge(host, token))];
  const { reason, message } = await failure(acme);
  assert.equal(reason, "validation");
  assert.match(message, /two\.example\.com/);
  assert.equal(acme.current()?.serial, serial);
  assert.equal(acme.status().failures, 1);
});

test("a name that the authority refuses is reported as refused", skip, async () => {
  const authority = await pebble();
  const acme = open(createMemoryCluster(), "n1", settingsOf(authority, { domains: ["blocked.example"] }));
  const { reason, message } = await failure(acme);
  assert.equal(reason, "refused");
  assert.match(message, /rejectedIdentifier/);
});
