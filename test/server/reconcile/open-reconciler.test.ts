/** Cleanup by the leader: days past their retention, and the last round of a provider that is no longer reconciled. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createInstruments, nullLog } from "../../../src/base/index.ts";
import { commands } from "../../../src/server/core/state/index.ts";
import { ledgerRows } from "../../../src/server/node/governance/open-reconciliation.ts";
import { openReconciler } from "../../../src/server/reconcile/index.ts";
import type { ReconcileTargets } from "../../../src/server/snapshot/index.ts";
import { createMemoryCluster } from "../admin/support/memory-cluster.ts";

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 20, 12);
const dayAgo = (n: number): string => new Date(NOW - n * DAY).toISOString().slice(0, 10);
const WRITING = { by: { iss: "t", sub: "t" }, timeoutMs: 1_000 };

const auditing = (provider: string, retentionMs: number | undefined): ReconcileTargets => ({
  intervalMs: 3_600_000,
  lagMs: 2 * DAY,
  lookbackMs: 7 * DAY,
  retentionMs,
  driftRatio: 0.02,
  driftFloor: 10_000,
  providers: [{ provider, type: "compat", baseUrl: "http://127.0.0.1:1", adminKey: "k", keyIds: [] }],
});

test("days are removed after their retention, and rounds with their provider", async () => {
  const { cluster } = createMemoryCluster(() => NOW);
  await cluster.write(commands.featSet({ level: 3 }), WRITING);
  const fields = { type: "compat", scope: "organisation", joined: "", "input.reported": 1 };
  const rows = [10, 29, 30, 31, 32, 200].flatMap((ago) =>
    ["one", "gone"].map((id) => ({ day: dayAgo(ago), id, fields, seen: 0 })),
  );
  await cluster.write(
    commands.reconcilePut({ rows: [...rows, { day: "round", id: "gone", fields, seen: 0 }] }),
    WRITING,
  );
  const keys = (): string[] => Array.from(cluster.view.scan("rec/"), ([key]) => key);
  assert.equal(keys().length, 13);

  const reconcile = openReconciler({
    node: "n1",
    rows: ledgerRows(cluster),
    leadership: { isLeader: () => true, onChange: () => () => undefined },
    metered: () => undefined,
    send: async () => ({ status: 401, headers: {}, text: "{}" }),
    record: () => assert.fail("there is nothing to tell"),
    clock: { now: () => NOW, monotonic: () => performance.now() },
    instruments: createInstruments(),
    log: nullLog,
    pace: { firstDelayMs: 5, checkIntervalMs: 10 },
  });
  const until = async (what: string, isSo: () => boolean): Promise<void> => {
    const end = performance.now() + 20_000;
    while (!isSo()) {
      assert.ok(performance.now() < end, `${what}: ${keys().join(" ")}`);
      await new Promise((done) => setTimeout(done, 5));
    }
  };
  const kept = [10, 29, 30, 31, 32, 200].flatMap((ago) => [`rec/${dayAgo(ago)}/gone`, `rec/${dayAgo(ago)}/one`]).sort();

  reconcile.setTargets(auditing("one", undefined));
  await until("the round of the other is forgotten", () => !keys().includes("rec/round/gone"));
  assert.deepEqual(
    keys().filter((key) => !key.includes("round")),
    kept,
    "without a retention every day stays",
  );

  reconcile.setTargets(auditing("one", 30 * DAY));
  await until("old days are dropped", () => !keys().some((key) => key < `rec/${dayAgo(30)}`));
  const left = kept.filter((key) => key >= `rec/${dayAgo(30)}`);
  assert.equal(left.length, 6);
  assert.deepEqual(
    keys().filter((key) => !key.includes("round")),
    left,
    "also those of who is audited no more",
  );

  reconcile.setTargets(undefined);
  await reconcile.close();
  assert.deepEqual(keys(), [...left, "rec/round/one"], "without the block what was judged stays");
});
