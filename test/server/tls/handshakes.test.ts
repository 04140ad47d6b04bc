import assert from "node:assert/strict";
import { Socket } from "node:net";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { createHandshakes, MAX_HANDSHAKES } from "../../../src/server/tls/handshakes.ts";

const working = (ms: number) => (): void => {
  const until = performance.now() + ms;
  while (performance.now() < until);
};

test("a burst of handshakes is started in portions and in order, so that other work runs in between", async () => {
  const work = working(1);
  const begun: Socket[] = [];
  const handshakes = createHandshakes(
    (raw) => {
      work();
      begun.push(raw);
    },
    () => assert.fail("none is dropped"),
  );
  const burst = Array.from({ length: 20 }, () => new Socket());
  for (const raw of burst) handshakes.begin(raw);
  assert.ok(begun.length >= 1 && begun.length <= 4, `${begun.length} in the first turn`);
  let ticks = 0;
  for (; begun.length < burst.length; ticks++) await turn();
  assert.ok(ticks >= 3, `${ticks} turns`);
  assert.deepEqual(begun, burst);
});

test("above the limit the oldest running handshakes are dropped, and finished ones are not", () => {
  let dropped = 0;
  const handshakes = createHandshakes(
    () => undefined,
    () => {
      dropped += 1;
    },
  );
  const sockets = Array.from({ length: MAX_HANDSHAKES + 1 }, () => new Socket());
  const [done, oldest] = sockets as [Socket, Socket];
  handshakes.begin(done);
  handshakes.end(done);
  for (const raw of sockets.slice(1)) handshakes.begin(raw);
  assert.deepEqual([handshakes.count, dropped], [MAX_HANDSHAKES, 0]);
  handshakes.begin(new Socket());
  assert.deepEqual([dropped, oldest.destroyed, done.destroyed], [1, true, false]);
  assert.equal(handshakes.count, MAX_HANDSHAKES);
});
