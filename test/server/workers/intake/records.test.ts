import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { connect } from "node:net";
import { test } from "node:test";
import { type GatewayError, startThread } from "../../../../src/base/index.ts";
import { type AuditTrail, openCredit, openQueue } from "../../../../src/server/audit/index.ts";
import type { DecisionRecord } from "../../../../src/server/dataplane/index.ts";
import { openChannel, openIntake, receiveRecords, sendDecisions } from "../../../../src/server/workers/index.ts";
import { open, place, readingOf } from "../../audit/support/open-trail.ts";
import { openPair, type Pair } from "../support/pair.ts";

const record = (request: number): DecisionRecord => ({
  event: "access.decision",
  controls: ["c1"],
  data: { request: `r${request}`, rule: "r".repeat(400) },
});

const pollUntil = async (isSo: () => boolean): Promise<void> => {
  for (let waited = 0; !isSo(); waited += 5) {
    assert.ok(waited < 5_000, "within five seconds");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};

/** Runs the trail's thread code in this thread. */
function take(pair: Pair, trail: AuditTrail, workers: number, counted: string[] = []): () => void {
  const { port, queue } = trail.openFeed();
  return receiveRecords(pair.node, {
    queue: openQueue(queue),
    workers,
    onRecords(records, recorded) {
      port.postMessage(records);
      for (const { controls } of recorded) counted.push(...controls);
    },
  });
}

test("records of a worker are in the node's trail, complete and in order, including its last ones", async (t) => {
  const at = place(t);
  const { trail } = await open(t, { dir: at.dir, fd: at.fd });
  await using pair = await openPair();
  const counted: string[] = [];
  const end = take(pair, trail, 2, counted);
  const decided = sendDecisions(pair.worker, () => 1_700_000_000_123);
  // The first share is in transit.
  await pollUntil(() => {
    try {
      decided(record(0));
      return true;
    } catch {
      return false;
    }
  });
  for (let request = 1; request < 500; request += 1) decided(record(request));
  // Written data is read to the end although the process is gone.
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

test("above its limit a worker refuses before anything is sent, and freed space is lent again", async (t) => {
  const at = place(t);
  const { trail, instruments } = await open(t, { dir: at.dir, fd: at.fd });
  await using pair = await openPair();
  const end = take(pair, trail, 64);
  const decided = sendDecisions(pair.worker, Date.now);
  const room = 512 * 1_024;
  await pollUntil(() => readingOf(instruments, "gateway_audit_queue_bytes") === room);
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
  await pollUntil(() => fill() > 0);
  assert.equal(fill(), 0);
  let more = 0;
  await pollUntil(() => {
    more += fill();
    return more > 1_000;
  });
  await pair.worker.close();
  await pair.node.closed;
  end();
  await trail.close();
  assert.equal(readingOf(instruments, "gateway_audit_queue_bytes"), 0);
});

test("a worker refuses while its records are unacknowledged for one second, and serves again afterwards", async () => {
  await using pair = await openPair();
  const decided = sendDecisions(pair.worker, Date.now);
  const isRefused = (): boolean => {
    try {
      decided(record(0));
      return false;
    } catch (error) {
      assert.equal((error as GatewayError).code, "audit_unavailable");
      return true;
    }
  };
  let received = 0;
  pair.node.on("audit", () => {
    received += 1;
  });
  pair.node.send("audit.credit", 2 << 20);
  await pollUntil(() => !isRefused());
  const startedAt = performance.now();
  await pollUntil(isRefused);
  const took = performance.now() - startedAt;
  assert.ok(took >= 900, `refused after ${took} ms`);
  await pollUntil(() => received > 0);
  const all = received;
  pair.node.send("audit.taken", all);
  await pollUntil(() => !isRefused());
});

test("a worker that was delayed itself does not refuse for it", async () => {
  await using pair = await openPair();
  const decided = sendDecisions(pair.worker, Date.now);
  let received = 0;
  pair.node.on("audit", () => {
    received += 1;
    pair.node.send("audit.taken", received);
  });
  pair.node.send("audit.credit", 2 << 20);
  await pollUntil(() => {
    try {
      decided(record(0));
      return true;
    } catch {
      return false;
    }
  });
  // Both ends are in this process, and neither sends or reads meanwhile.
  for (const until = performance.now() + 2_000; performance.now() < until; );
  await new Promise((resolve) => setImmediate(resolve));
  decided(record(1));
  await pollUntil(() => received === 2);
});

test("the shares of all workers and the node's own records fit into the node's queue", async (t) => {
  const at = place(t);
  const { trail } = await open(t, { dir: at.dir, fd: at.fd });
  const queue = openQueue(trail.openFeed().queue);
  const credits = Array.from({ length: 40 }, () => openCredit(queue));
  const lent = credits.filter((credit) => credit.grant(2 << 20));
  assert.equal(lent.length, 32);
  assert.throws(() => trail.append({ event: "admin.write", data: {} }), { code: "audit_unavailable" });
  lent[0]?.close();
  trail.append({ event: "admin.write", data: {} });
  await trail.close();
});

test("records are accepted while the node's main thread is busy, only with the token", async (t) => {
  const at = place(t);
  const { trail } = await open(t, { dir: at.dir, fd: at.fd });
  let counted = 0;
  const intake = await openIntake({ trail, workers: 1, dir: at.folder, onRecord: () => counted++ });
  const { path } = intake.address;
  assert.equal(statSync(path).isSocket(), true);
  const untrusted = connect(path);
  untrusted.on("error", () => undefined);
  const strange = openChannel(untrusted, () => undefined);
  strange.send("hello", "another token");
  await strange.closed;

  const here = (name: string): URL => new URL(name, import.meta.url);
  const sender = startThread(
    { source: here("./sender.ts"), built: here("./sender.js") },
    { workerData: intake.address },
  );
  await once(sender, "message");
  for (const until = performance.now() + 2_500; performance.now() < until; );
  sender.postMessage("stop");
  const [{ recorded, refused }] = (await once(sender, "message")) as [{ recorded: number; refused: number }];
  assert.equal(refused, 0);
  assert.ok(recorded > 100, `${recorded}`);
  await intake.close();
  await trail.close();
  assert.equal(counted, recorded);
  assert.equal(at.text().split("access.decision").length - 1, recorded);
  assert.ok(!existsSync(path));
});
