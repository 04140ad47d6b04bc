/**
 * Audit trail of a real process that is killed repeatedly while it makes changes. Source: design decisions, section 4
 * (a chain continues across restarts).
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { AdminError } from "../../../src/admin-api/index.ts";
import { randomRuns } from "../../support/random-length.ts";
import { createOne, led, ready, SLOW_MS } from "../config/support/nodes.ts";
import { eventually, within } from "../support/wait.ts";
import { recordsIn, verify } from "./support/trail.ts";

const ROUNDS = randomRuns(10, 3);
const WRITERS = [1, 2, 3, 4];

test("a gateway killed during changes continues its audit chain and loses no acknowledged change", async (t) => {
  const node = await createOne(t, { deployment: { providers: [] } });
  const answered: string[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    const program = node.launch();
    await ready(program);
    await led(node);
    let isKilled = false;
    const write = async (writer: number): Promise<void> => {
      for (let count = 1; !isKilled; count += 1) {
        const name = `r${round}-${writer}-${count}`;
        try {
          await node.client.call("create_key", { body: { name } });
          answered.push(name);
        } catch (error) {
          if (isKilled && error instanceof AdminError && error.status === 0) return;
          throw error;
        }
      }
    };
    const from = answered.length;
    const writers = WRITERS.map(write);
    await eventually("some changes", () => answered.length > from + 3 * round);
    isKilled = true;
    program.signal("SIGKILL");
    await within("the end", Promise.all([program.ended, ...writers]), SLOW_MS);
  }
  await node.start();
  await led(node);
  const keys = new Set((await node.client.call("list_keys")).items.map(({ name }) => name));
  assert.deepEqual(
    answered.filter((name) => !keys.has(name)),
    [],
  );
  await node.stop();
  const verdict = await verify(t, node.dir, node.output());
  assert.equal(verdict.status, 0, verdict.text);
  assert.match(verdict.text, /^1 chain, /m);
  const recorded = recordsIn(node.output()).filter(({ event }) => event === "admin.write");
  const names = new Map<unknown, Set<number>>();
  for (const { data, seq } of recorded) names.set(data["name"], (names.get(data["name"]) ?? new Set()).add(seq));
  for (const name of answered) assert.equal(names.get(name)?.size, 1, name);
});
