import assert from "node:assert/strict";
import { test } from "node:test";
import type { GatewayError } from "../../../../src/base/index.ts";
import type { DecisionRecord } from "../../../../src/server/dataplane/index.ts";
import { sendDecisions, takeDecisions } from "../../../../src/server/workers/index.ts";
import { open, place, readingOf } from "../../audit/support/open-trail.ts";
import { openPair } from "../support/pair.ts";

const record = (request: number): DecisionRecord => ({
  event: "access.decision",
  controls: ["c1"],
  data: { request: `r${request}`, rule: "r".repeat(400) },
});

const turns = async (isSo: () => boolean): Promise<void> => {
  for (let waited = 0; !isSo(); waited += 5) {
    assert.ok(waited < 5_000, "within five seconds");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};

test("records of a worker are in the node's trail, whole and in order, also those that it wrote last", async (t) => {
  const at = place(t);
  const { trail } = await open(t, { dir: at.dir, fd: at.fd });
  await using pair = await openPair();
  const counted: string[] = [];
  const end = takeDecisions(pair.node, {
    credit: trail.openCredit(),
    workers: 2,
    decided: (_, controls) => void counted.push(...controls),
  });
  const decided = sendDecisions(pair.worker, () => 1_700_000_000_123);
  // The first room is under way.
  await turns(() => {
    try {
      decided(record(0));
      return true;
    } catch {
      return false;
    }
  });
  for (let request = 1; request < 500; request += 1) decided(record(request));
  // What was written is read to the end, though the process is gone.
  await pair.worker.close();
  await pair.node.closed;
  end();
  await trail.close();
  const lines = at
    .text()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { event: string; ts: string; data: { request?: string } });
  const requests = lines.filter(({ event }) => event === "access.decision");
  assert.deepEqual(
    requests.map(({ data }) => data.request),
    Array.from({ length: 500 }, (_, request) => `r${request}`),
  );
  assert.equal(requests[7]?.ts, "2023-11-14T22:13:20.123Z");
  assert.equal(counted.length, 500);
});

test("beyond its room a worker refuses, before anything is sent; what is free again is lent anew", async (t) => {
  const at = place(t);
  const { trail, instruments } = await open(t, { dir: at.dir, fd: at.fd });
  await using pair = await openPair();
  const end = takeDecisions(pair.node, { credit: trail.openCredit(), workers: 64, decided: () => undefined });
  const decided = sendDecisions(pair.worker, Date.now);
  const room = 512 * 1_024;
  await turns(() => readingOf(instruments, "gateway_audit_queue_bytes") === room);
  const fill = (): number => {
    for (let count = 0; ; count += 1) {
      try {
        decided(record(count));
      } catch (error) {
        assert.equal((error as GatewayError).code, "audit_unavailable");
        return count;
      }
    }
  };
  await turns(() => fill() > 0);
  assert.equal(fill(), 0);
  let more = 0;
  await turns(() => {
    more += fill();
    return more > 1_000;
  });
  end();
  await trail.close();
  assert.equal(readingOf(instruments, "gateway_audit_queue_bytes"), 0);
});

test("the rooms of all workers and what the node records fit into the queue of the node", async (t) => {
  const at = place(t);
  const { trail } = await open(t, { dir: at.dir, fd: at.fd });
  const credits = Array.from({ length: 40 }, () => trail.openCredit());
  const lent = credits.filter((credit) => credit.lend(2 << 20));
  assert.equal(lent.length, 32);
  assert.throws(() => trail.append({ event: "admin.write", data: {} }), { code: "audit_unavailable" });
  lent[0]?.close();
  trail.append({ event: "admin.write", data: {} });
});
