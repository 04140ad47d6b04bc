/**
 * A console under random input: nothing typed, pasted, resized or cut off ends it, breaks its screen, or sends a
 * changing request that was not shown and confirmed. The whole program runs in a terminal.
 *
 * GATEWAY_FUZZ=100000 node --import tsx --test --test-timeout=3600000 test/e2e/console/fuzz.test.ts
 *   GATEWAY_FUZZ_SEED=…   the events of a run that failed
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ptySkip } from "../../console/support/terminal.ts";
import { randomRuns } from "../../support/random-length.ts";
import { suiteOwner } from "../admin/support/suite.ts";
import { leanOn, startLeantOn } from "./incident/watched.ts";

/** Events, half of them in each mode. */
const COUNT = Number(process.env["GATEWAY_FUZZ"] ?? randomRuns(2_000, 1_400));
const SEED = Number(process.env["GATEWAY_FUZZ_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
/** Events per console. */
const EACH = 2_500;
/** Consoles at one gateway: each is mostly idle until its input is drawn. */
const AT_ONCE = 6;

const seeds = Array.from({ length: Math.ceil(COUNT / 2 / EACH) }, (_, at) => SEED + at);
const events = Math.ceil(COUNT / 2 / seeds.length);

describe("console under random input", { skip: ptySkip, concurrency: AT_ONCE }, async () => {
  const port = await startLeantOn(suiteOwner());

  for (const seed of seeds) {
    test(`without y, marks and names nothing is changed (${events} events of seed ${seed})`, async (t) => {
      const { requests, writes, cuts } = await leanOn(t, port, { seed, events, confirms: false });
      assert.deepEqual(writes, []);
      t.diagnostic(`${requests} requests, ${cuts} cuts`);
    });

    test(`with all keys, every change was on the screen first (${events} events of seed ${seed})`, async (t) => {
      const { writes, shown, abridged, cuts } = await leanOn(t, port, { seed, events, confirms: true });
      assert.ok(writes.length > 0, "nothing was ever confirmed");
      assert.equal(shown + abridged, writes.length);
      t.diagnostic(`${writes.length} writes, ${shown} shown whole, ${abridged} abridged; ${cuts} cuts`);
    });
  }
});
