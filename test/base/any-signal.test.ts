/** Composite signals whose sources are otherwise unreferenced, with garbage collection in between. */
import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { setTimeout as pause, setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { anySignal } from "../../src/base/index.ts";
import { listenLocally } from "../e2e/support/ports.ts";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

const LIMIT_MS = 200;
const COUNT = 20;
const never = new AbortController().signal;

async function collected(): Promise<void> {
  for (let times = 0; times < 3; times += 1) {
    await turn();
    collect();
  }
}

const WAITS: Readonly<Record<string, (signal: AbortSignal) => Promise<unknown>>> = {
  "a listener": (signal) =>
    new Promise((_, failed) => signal.addEventListener("abort", () => failed(signal.reason), { once: true })),
  "a pause": (signal) => pause(60_000, undefined, { signal, ref: false }),
  "an event": (signal) => once(new EventEmitter(), "none", { signal }),
};

const MADE: Readonly<Record<string, () => AbortSignal>> = {
  "a timeout": () => anySignal([never, AbortSignal.timeout(LIMIT_MS)]),
  "a timeout within another": () => anySignal([never, anySignal([AbortSignal.timeout(LIMIT_MS), never])]),
};

for (const [made, make] of Object.entries(MADE)) {
  for (const [what, wait] of Object.entries(WAITS)) {
    test(`${what} ends by ${made} even after garbage collection`, async () => {
      // A waiter is referenced only by its signal.
      let ended = 0;
      const held = new Promise<void>((done) => {
        for (let at = 0; at < COUNT; at += 1) {
          void wait(make()).catch(() => {
            ended += 1;
            if (ended === COUNT) done();
          });
        }
      });
      await collected();
      const late = new AbortController();
      await Promise.race([held, pause(50 * LIMIT_MS, undefined, { signal: late.signal })]);
      late.abort();
      assert.equal(ended, COUNT);
    });
  }
}

test("a request ends by a timeout even after garbage collection, with a timeout error", async (t) => {
  const server = createServer(() => undefined);
  const port = await listenLocally(server);
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const answer = fetch(`http://127.0.0.1:${port}`, { signal: anySignal([never, AbortSignal.timeout(LIMIT_MS)]) });
  // On a busy machine it may time out before it arrives.
  await Promise.race([once(server, "request"), answer.catch(() => undefined)]);
  await collected();
  await assert.rejects(answer, { name: "TimeoutError" });
});

test("the first signal to abort gives the reason, and an aborted one gives it at once", () => {
  const [one, other] = [new AbortController(), new AbortController()];
  const signal = anySignal([one.signal, other.signal]);
  assert.equal(signal.aborted, false);
  other.abort("the other");
  one.abort("the one");
  assert.equal(signal.reason, "the other");
  assert.equal(anySignal([never, other.signal]).reason, "the other");
  assert.equal(anySignal([]).aborted, false);
});

test("sources of an unused signal are not kept alive on Node 20", async (t) => {
  if (Number(process.versions.node.split(".")[0]) >= 22) {
    t.skip("from Node 22 on, Node itself keeps a timeout until it fires");
    return;
  }
  const gone = new Set<number>();
  const registry = new FinalizationRegistry<number>((at) => gone.add(at));
  for (let at = 0; at < COUNT; at += 1) {
    const timeout = AbortSignal.timeout(60_000);
    registry.register(timeout, at);
    const signal = anySignal([never, timeout]);
    const onAbort = (): void => undefined;
    signal.addEventListener("abort", onAbort);
    signal.removeEventListener("abort", onAbort);
  }
  for (let times = 0; times < 20 && gone.size < COUNT - 1; times += 1) await collected();
  // The last one may still be in a register.
  assert.ok(gone.size >= COUNT - 1, `${gone.size} of ${COUNT} were collected`);
});
