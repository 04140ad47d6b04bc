/** Answers that an authority may give to an order, and their results: over HTTP, with certificates of all kinds. */
import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { createInstruments, nullLog } from "../../../../src/base/index.ts";
import { certIdOf } from "../../../../src/server/tls/acme/cert-id.ts";
import { accountId, recordId } from "../../../../src/server/tls/acme/certificate-record.ts";
import { type AcmeSettings, type Certificates, openAcme } from "../../../../src/server/tls/index.ts";
import { atEnd, eventually, type Owner } from "../../../e2e/support/wait.ts";
import { createMemoryCluster, type MemoryCluster } from "./support/memory-cluster.ts";
import { type StubAuthority, stubAuthority } from "./support/stub-authority.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NAMES = ["a.example", "b.example"];

const stub = await stubAuthority({ after });
const fresh = { ...stub };
beforeEach(() => {
  const { refuse, issues } = fresh;
  Object.assign(stub, { refuse, issues, renewal: undefined, aheadMs: 0, accounts: 0 });
  stub.orders.length = 0;
  stub.requests.length = 0;
});

interface Opened {
  readonly cluster: MemoryCluster;
  readonly acme: Certificates;
  /** Advances the clocks of gateway and authority, and runs due checks. */
  pass(ms: number): void;
  /** Resolves once an attempt has ended. */
  ended(): Promise<void>;
}

function open(owner: Owner, { cluster = createMemoryCluster(), aheadMs = 0, email = "" } = {}): Opened {
  let offset = aheadMs;
  const now = (): number => Date.now() + offset;
  cluster.now = now;
  const settings: AcmeSettings = {
    domains: NAMES,
    email,
    ca: stub.directory,
    roots: undefined,
    eab: undefined,
    dns: undefined,
    dnsSettings: undefined,
  };
  const acme = openAcme({
    settings,
    store: cluster.store("n1"),
    userAgent: "gateway/test",
    listening: Promise.resolve(),
    now,
    random: () => 0.5,
    instruments: createInstruments(),
    log: nullLog,
  });
  atEnd(owner, () => acme.close());
  return {
    cluster,
    acme,
    pass(ms) {
      offset += ms;
      stub.aheadMs += ms;
      cluster.lead("n1");
    },
    async ended() {
      const { failures } = acme.status();
      const serial = acme.current()?.serial;
      await eventually("the end of an attempt", () => {
        const state = acme.status();
        return state.failures > failures || (state.step === undefined && acme.current()?.serial !== serial);
      });
    },
  };
}

const REFUSED: readonly (readonly [string, StubAuthority["issues"], RegExp])[] = [
  ["of another key", (names) => ({ names }), /the key does not belong to the certificate/],
  ["without one of its names", (_, publicKey) => ({ names: ["a.example"], publicKey }), /it is not for b\.example/],
  [
    "that has expired",
    (names, publicKey) => ({ names, publicKey, notBefore: Date.now() - 2 * DAY, notAfter: Date.now() - DAY }),
    /it expired on/,
  ],
  [
    "that is valid from tomorrow",
    (names, publicKey) => ({ names, publicKey, notBefore: Date.now() + DAY }),
    /it is valid from .*; is the clock of this machine right\?/,
  ],
  [
    "for client authentication only",
    (names, publicKey) => ({ names, publicKey, uses: ["1.3.6.1.5.5.7.3.2"] }),
    /is not valid for servers/,
  ],
];

for (const [what, issues, message] of REFUSED) {
  test(`a certificate ${what} is never put in force, and is counted`, async (t) => {
    stub.issues = issues;
    const { cluster, acme, ended } = open(t);
    await ended();
    const { failure, failures, nextAttempt } = acme.status();
    assert.equal(failure?.reason, "bad_certificate", failure?.message);
    assert.match(failure.message, message);
    assert.equal(acme.current(), undefined);
    assert.equal(failures, 1);
    assert.ok((nextAttempt ?? 0) > Date.now());
    const record = JSON.parse(cluster.row("certificate", recordId(stub.directory, NAMES)) ?? "");
    assert.deepEqual([record.issued, record.order, record.finalized.length], [null, null, 1]);
  });
}

test("the previous certificate stays if the next has another key", async (t) => {
  const { acme, pass, ended } = open(t);
  await ended();
  const before = acme.current();
  stub.issues = (names) => ({ names });
  pass(80 * DAY);
  await ended();
  assert.equal(acme.status().failure?.reason, "bad_certificate");
  assert.equal(acme.current(), before);
});

test("a clock minutes behind the authority's accepts a new certificate; one hours off orders nothing", async (t) => {
  for (const aheadMs of [-50 * MINUTE, 50 * MINUTE]) {
    stub.issues = (names, publicKey) => ({ names, publicKey, notBefore: Date.now() - 1_000 });
    const { acme, ended } = open(t, { aheadMs });
    await ended();
    assert.equal(acme.status().failure, undefined);
    assert.deepEqual(acme.current()?.names, NAMES);
  }
  stub.orders.length = 0;
  for (const [aheadMs, message] of [
    [-3 * HOUR, /180 min behind/],
    [3 * HOUR, /180 min ahead/],
  ] as const) {
    const { acme, ended } = open(t, { aheadMs });
    await ended();
    assert.equal(acme.status().failure?.reason, "clock_skew");
    assert.match(acme.status().failure?.message ?? "", message);
  }
  assert.deepEqual(stub.orders, []);
});

test("a renewal names what it replaces, and is ordered without it if the authority refuses that", async (t) => {
  stub.renewal = "{}";
  const { acme, pass, ended } = open(t);
  await ended();
  const first = certIdOf(acme.current()?.chain ?? "");
  assert.ok(first);
  pass(80 * DAY);
  await ended();
  const second = certIdOf(acme.current()?.chain ?? "");
  for (const [type, status, detail] of [
    ["alreadyReplaced", 409, "it has a replacement"],
    ["malformed", 400, "requester account did not request the certificate being replaced"],
  ] as const) {
    stub.refuse = ({ replaces }) => (replaces === undefined ? undefined : { status, type, detail });
    pass(80 * DAY);
    await ended();
    assert.equal(acme.status().failure, undefined);
  }
  const third = stub.orders[3]?.replaces;
  assert.deepEqual(
    stub.orders.map(({ replaces }) => replaces),
    [undefined, first, second, undefined, stub.orders[4]?.replaces, undefined],
  );
  assert.equal(third, undefined);
  assert.notEqual(stub.orders[4]?.replaces, second);
  stub.refuse = ({ replaces }) =>
    replaces === undefined ? undefined : { status: 400, type: "malformed", detail: "no" };
  pass(80 * DAY);
  await ended();
  assert.equal(acme.status().failure?.reason, "ca_answer", "another fault is not taken for that");
});

test("an authority without renewal information gets no replaced certificate", async (t) => {
  const { pass, ended } = open(t);
  await ended();
  pass(80 * DAY);
  await ended();
  assert.deepEqual(
    stub.orders.map(({ replaces }) => replaces),
    [undefined, undefined],
  );
});

test("a current window causes one renewal, and broken renewal information falls back to the lifetime", async (t) => {
  const window = { start: new Date(Date.now() - HOUR), end: new Date(Date.now() - MINUTE) };
  stub.renewal = JSON.stringify({ suggestedWindow: window });
  const { acme, pass, ended } = open(t);
  await ended();
  const first = certIdOf(acme.current()?.chain ?? "");
  await eventually("the question", () => stub.requests.length === 1);
  assert.deepEqual(stub.requests, [first]);
  assert.equal(stub.orders.length, 1, "not as soon as it is issued");
  stub.renewal = "{";
  pass(HOUR + MINUTE);
  await ended();
  await eventually("the question about the next", () => stub.requests.at(-1) !== first);
  assert.equal(stub.orders.length, 2);
  const current = acme.current();
  assert.ok(current);
  const share = ((acme.status().nextRenewal ?? 0) - current.notBefore) / (current.notAfter - current.notBefore);
  assert.ok(share > 0.64 && share < 0.67, `${share}`);
});

test("a data directory restored from before a renewal keeps serving the old certificate and renews it", async (t) => {
  stub.renewal = "{}";
  const { cluster, acme, pass, ended } = open(t);
  await ended();
  const rows = (["account", "certificate"] as const).flatMap((table) => cluster.rows(table));
  const first = acme.current()?.serial;
  pass(80 * DAY);
  await ended();
  await acme.close();
  const restored = createMemoryCluster();
  const write = restored.store("n1").write;
  for (const row of rows) await write({ ...row, expect: null }, AbortSignal.timeout(1_000));
  stub.refuse = ({ replaces }) =>
    replaces === undefined ? undefined : { status: 409, type: "alreadyReplaced", detail: "it has a replacement" };
  const again = open(t, { cluster: restored, aheadMs: stub.aheadMs });
  assert.equal(again.acme.current()?.serial, first);
  await again.ended();
  assert.notEqual(again.acme.current()?.serial, first);
  assert.equal(stub.accounts, 1, "the account is that of before");
});

test("accounts of other settings are kept for 30 days after the current one was created", async (t) => {
  const cluster = createMemoryCluster();
  const before = open(t, { cluster, email: "old@example.com" });
  await before.ended();
  await before.acme.close();
  const now = open(t, { cluster, email: "new@example.com" });
  const ids = (): readonly string[] =>
    cluster
      .rows("account")
      .map(({ id }) => id)
      .sort();
  const [old, own] = ["old@example.com", "new@example.com"].map((it) => accountId(stub.directory, it));
  now.pass(80 * DAY);
  await now.ended();
  assert.deepEqual(ids(), [old, own].sort());
  now.pass(29 * DAY);
  now.pass(2 * DAY);
  await eventually("the end of the other", () => ids().length === 1);
  assert.deepEqual(ids(), [own]);
  assert.equal(stub.accounts, 2);
});
