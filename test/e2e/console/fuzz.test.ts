/**
 * A console that is leant on: nothing that is typed, pasted, sized or cut off makes it end, spoils its screen, or comes to
 * a request that changes something without having been read and confirmed. The whole program, in a terminal.
 *
 *   GATEWAY_FUZZ=100000 node --import tsx --test --test-timeout=3600000 test/e2e/console/fuzz.test.ts
 *   GATEWAY_FUZZ_SEED=…   the events of a run that failed
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ptySkip } from "../../console/support/terminal.ts";
import { randomRuns } from "../../support/random-length.ts";
import { suiteOwner } from "../admin/support/suite.ts";
import { leanOn, startLeantOn } from "./incident/watched.ts";

/** Events, half of them in each way. */
const COUNT = Number(process.env["GATEWAY_FUZZ"] ?? randomRuns(2_000, 1_400));
const SEED = Number(process.env["GATEWAY_FUZZ_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
/** Of one console. */
const EACH = 2_500;
/** Consoles at one gateway: each rests most of the time, until what was typed is drawn. */
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
