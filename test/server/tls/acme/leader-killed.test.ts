// tier: all
/**
 * The leader dies at each write of an order, before it and after it: the next leader continues, or starts over once.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createInstruments, nullLog } from "../../../../src/base/index.ts";
import { type AcmeSettings, type Certificates, openAcme } from "../../../../src/server/tls/index.ts";
import { peer } from "../../../peers/index.ts";
import { startChallengeServer } from "./support/challenge-server.ts";
import { createMemoryCluster, type MemoryCluster } from "./support/memory-cluster.ts";
import { type Pebble, startPebble } from "./support/pebble.ts";

const it = await peer("pebble");
const challengeServer = await startChallengeServer();
after(() => challengeServer.close());

/** Writes of a whole order; the last case of each kind has no write left to die at. */
const MAX_WRITES = 14;

interface Outcome {
  readonly died: string | undefined;
  readonly orders: number;
  readonly issued: number;
  readonly serials: readonly (string | undefined)[];
}

function open(cluster: MemoryCluster, node: string, settings: AcmeSettings): Certificates {
  return openAcme({
    settings,
    store: cluster.store(node),
    userAgent: "gateway/test",
    listening: Promise.resolve(),
    now: Date.now,
    random: Math.random,
    instruments: createInstruments(),
    log: nullLog,
  });
}

/** Returns the order's step in the row, for the name of the case. */
function stepOf(value: string): string {
  const { order, issued, thumbprint, url } = JSON.parse(value);
  if (thumbprint !== undefined) return url === null ? "account" : "registered";
  return order?.step ?? (issued === null ? "none" : "issued");
}

async function issueWithDeath(authority: Pebble, at: number, when: "before" | "after", name: string): Promise<Outcome> {
  const cluster = createMemoryCluster("n1");
  const settings: AcmeSettings = {
    domains: [name],
    email: "",
    ca: authority.directory,
    roots: authority.roots,
    eab: undefined,
    dns: undefined,
    dnsSettings: undefined,
  };
  const before = authority.counts();
  let writes = 0;
  let died: string | undefined;
  let closing: unknown;
  const die = (step: string): void => {
    died = step;
    // None of its writes reaches the rows any more, as for a killed process.
    cluster.lead("n2");
    closing = one.close();
  };
  cluster.onWrite = (node, { value }) => {
    if (node !== "n1") return;
    if (died !== undefined) throw new Error("it is dead");
    writes += 1;
    if (writes !== at || when !== "before") return;
    die(stepOf(value));
    throw new Error("it is dead");
  };
  cluster.onWritten = (node, { value }) => {
    if (node === "n1" && writes === at && when === "after" && died === undefined) die(stepOf(value));
  };
  const one = open(cluster, "n1", settings);
  const two = open(cluster, "n2", settings);
  challengeServer.answerers = [two.challenge];
  await new Promise<void>((done, fail) => {
    const limit = setTimeout(() => fail(new Error(`${when} ${at}: ${JSON.stringify(two.status())}`)), 10_000);
    const look = (): void => {
      if (two.current() === undefined) return;
      clearTimeout(limit);
      end();
      done();
    };
    const end = two.onChange(look);
    look();
  }).catch(async (error: unknown) => {
    await Promise.all([one.close(), two.close()]);
    throw error;
  });
  const serials = [two.current()?.serial, ...(died === undefined ? [one.current()?.serial] : [])];
  await closing;
  await Promise.all([one.close(), two.close()]);
  assert.equal(cluster.rows("certificate").length, 1);
  const after = authority.counts();
  return { died, orders: after.orders - before.orders, issued: after.issued - before.issued, serials };
}

test("one certificate is in force in the end, and each death leaves at most one order behind", {
  skip: it.missing,
}, async () => {
  const authority = await startPebble(it.path, { httpPort: challengeServer.port });
  try {
    const seen = new Set<string>();
    for (const when of ["before", "after"] as const) {
      for (let at = 1; at <= MAX_WRITES; at += 1) {
        const outcome = await issueWithDeath(authority, at, when, `${when}-${at}.example.com`);
        const text = `${when} write ${at} (${outcome.died}): ${JSON.stringify(outcome)}`;
        if (outcome.died === undefined) break;
        seen.add(`${when} ${outcome.died}`);
        assert.equal(outcome.issued, 1, text);
        assert.ok(outcome.orders <= 2, text);
        // Once the authority has the order and the rows record it, none is left behind.
        if (when === "after" || outcome.died !== "check") assert.equal(outcome.orders, 1, text);
        assert.equal(new Set(outcome.serials).size, 1, text);
      }
    }
    const steps = ["account", "registered", "order", "check", "publish", "respond", "finalize", "download", "issued"];
    const wanted = steps.flatMap((step) => [`before ${step}`, `after ${step}`]);
    assert.deepEqual([...seen].sort(), wanted.sort());
  } finally {
    await authority.close();
  }
});
