/** Writes that need a higher feature level wait for it, and report what it waits for. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { acknowledgementHandlers } from "../../../src/server/admin/handlers/acknowledgements.ts";
import {
  ACKNOWLEDGEMENTS_LEVEL,
  commands,
  FEATURE_RANGE,
  memberRowKey,
  unknownMember,
} from "../../../src/server/core/state/index.ts";
import { callOf, handlerPorts, NOW } from "./support/handler-ports.ts";
import { createMemoryCluster, levelRow } from "./support/memory-cluster.ts";

const BY = { iss: "local", sub: "n1" };

const BELOW = levelRow(ACKNOWLEDGEMENTS_LEVEL - 1);

function start(timeoutMs: number, rows = [BELOW]) {
  const memory = createMemoryCluster(() => NOW, undefined, rows);
  const ports = handlerPorts({ cluster: memory.cluster });
  const asked = { params: { name: "provider:a" }, body: { reason: "known", duration: "1h" } };
  const call = {
    ...callOf("put_acknowledgement", asked),
    write: { by: BY, timeoutMs, idempotency: { key: "local/n1/once", digest: "0".repeat(64) } },
  };
  return { memory, put: async () => await acknowledgementHandlers.put_acknowledgement(call, ports) };
}

/** Returns the row of a member that has reported its build. */
function memberRow(id: string, version: string, highest: number): typeof BELOW {
  return [memberRowKey(id), `1${JSON.stringify({ ...unknownMember(id), version, feature: [1, highest] })}`];
}

test("a write that a pending feature level will allow waits for it", async () => {
  const { memory, put } = start(60_000);
  const answer = put();
  assert.equal(memory.writes, 0);
  await memory.cluster.write(commands.featSet({ level: FEATURE_RANGE.max }), { by: BY, timeoutMs: 1_000 });
  assert.equal((await answer).value.reason, "known");
  assert.equal(memory.watchers, 0);
});

test("a write that waited in vain is refused with a retry time, and succeeds when sent again under its key", async () => {
  const { memory, put } = start(5);
  await assert.rejects(put(), {
    code: "conflict",
    message: /rises by itself within a second of the start of its last member: try again then\.$/,
    details: { reason: "feature_level" },
  });
  assert.deepEqual([memory.writes, memory.watchers], [0, 0]);
  await memory.cluster.write(commands.featSet({ level: FEATURE_RANGE.max }), { by: BY, timeoutMs: 1_000 });
  assert.equal((await put()).value.reason, "known");
});

test("a write that waits for a member of an earlier version is refused at once and names the member", async () => {
  const rows = [
    BELOW,
    memberRow("n1", "0.2.0", ACKNOWLEDGEMENTS_LEVEL),
    memberRow("n2", "0.1.0", ACKNOWLEDGEMENTS_LEVEL - 1),
  ];
  const { memory, put } = start(60_000, rows);
  await assert.rejects(put(), { code: "conflict", message: /level 4 waits for n2, which runs 0\.1\.0/ });
  assert.equal(memory.writes, 0);
});
