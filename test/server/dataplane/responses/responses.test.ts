import assert from "node:assert/strict";
import { test } from "node:test";
import { createInstruments, GatewayError } from "../../../../src/base/index.ts";
import { createResponses, type OtherNodes } from "../../../../src/server/dataplane/responses/responses.ts";

const NEVER = new AbortController().signal;
const NODES = ["n1", "n2", "n3"] as const;

/** Nodes that call each other; `questions` records each call. */
function nodes() {
  const questions: string[] = [];
  const silent = new Set<string>();
  const made = new Map<string, ReturnType<typeof createResponses>>();
  const others: OtherNodes = {
    nodeIds: () => NODES,
    ask(node, question) {
      questions.push(node);
      const answer = silent.has(node) ? undefined : made.get(node)?.answer(JSON.parse(JSON.stringify(question)));
      return Promise.resolve(answer);
    },
  };
  for (const nodeId of NODES) {
    const instruments = createInstruments();
    const options = { nodeId, keys: undefined, memoryBytes: 1 << 20, others, now: () => 0, instruments };
    made.set(nodeId, createResponses(options));
  }
  const of = (node: (typeof NODES)[number]) => made.get(node) ?? assert.fail(node);
  return { of, questions, silent };
}

test("an item is requested from the node that its id names, and from no other", async () => {
  const { of, questions, silent } = nodes();
  const seed = of("n2").seed();
  const [message, reasoning] = [`msg_${seed}_1`, `rs_${seed}_0`];
  of("n2").remember("a", message, '{"m":1}');
  of("n2").remember("a", reasoning, '{"r":1}');
  const both = await of("n1").recall("a", [reasoning, message], NEVER);
  assert.deepEqual(
    [...both].sort(),
    [
      [message, '{"m":1}'],
      [reasoning, '{"r":1}'],
    ].sort(),
  );
  assert.deepEqual(questions, ["n2"]);
  assert.equal((await of("n3").recall("b", [message], NEVER)).size, 0);
  // A local item is not requested.
  assert.equal(questions.length, 2);
  assert.ok(!(of("n2").recall("a", [message], NEVER) instanceof Promise));
  silent.add("n2");
  assert.equal((await of("n1").recall("a", [message], NEVER)).size, 0);
});

test("a response is forgotten on the node that stores it", async () => {
  const { of } = nodes();
  const seed = of("n3").seed();
  of("n3").remember("a", `msg_${seed}_0`, "{}");
  assert.equal(await of("n1").forget("b", `resp_${seed}`, NEVER), false);
  assert.equal(await of("n1").forget("a", `resp_${seed}`, NEVER), true);
  assert.equal(await of("n1").forget("a", `resp_${seed}`, NEVER), false);
});

/** Two nodes, of which the first asks the second through `ask`, and an id that the second has made. */
function pair(ask: OtherNodes["ask"], now: () => number = () => 0) {
  const make = (nodeId: string, others?: OtherNodes) =>
    createResponses({ nodeId, keys: undefined, memoryBytes: 1, others, now, instruments: createInstruments() });
  const seed = make("n2").seed();
  return { here: make("n1", { nodeIds: () => ["n1", "n2"], ask }), id: `msg_${seed}_0`, response: `resp_${seed}` };
}

test("eight questions are asked at once, and the next ones when they are answered", async () => {
  let running = 0;
  let most = 0;
  const { here, id } = pair(async () => {
    running += 1;
    most = Math.max(most, running);
    await new Promise(setImmediate);
    running -= 1;
    return Buffer.from(JSON.stringify([[id, "{}"]]));
  });
  const found = await Promise.all(Array.from({ length: 20 }, () => here.recall("a", [id], NEVER)));
  assert.ok(found.every(({ size }) => size === 1));
  assert.equal(most, 8);
});

test("a reachable node that does not answer in time makes the request one to repeat, and a refused connection a miss", async () => {
  let clock = 0;
  for (const tookMs of [0, 5, 250, 400]) {
    const { here, id, response } = pair(
      () => {
        clock += tookMs;
        return Promise.resolve(undefined);
      },
      () => clock,
    );
    const isLate = (error: unknown) => error instanceof GatewayError && error.code === "overloaded";
    if (tookMs < 250) {
      assert.equal((await here.recall("a", [id], NEVER)).size, 0);
      assert.equal(await here.forget("a", response, NEVER), false);
    } else {
      await assert.rejects(async () => here.recall("a", [id], NEVER), isLate);
      await assert.rejects(here.forget("a", response, NEVER), isLate);
    }
  }
});

test("a question that finds no free place within its time is one to repeat", async () => {
  const { here, id } = pair(() => new Promise(() => {}));
  const recalls = Array.from({ length: 8 }, () => here.recall("a", [id], NEVER));
  await assert.rejects(async () => here.recall("a", [id], NEVER), /say in time/);
  assert.equal(recalls.length, 8);
});

test("an answer of another version, or none, finds nothing", async () => {
  for (const answer of ["", "null", "{}", '[["a"]]', "[[1,2]]", '[["msg",{}]]', "not json"]) {
    const others: OtherNodes = { nodeIds: () => ["n2"], ask: () => Promise.resolve(Buffer.from(answer)) };
    const instruments = createInstruments();
    const here = createResponses({ nodeId: "n1", keys: undefined, memoryBytes: 1, others, now: () => 0, instruments });
    const there = createResponses({
      nodeId: "n2",
      keys: undefined,
      memoryBytes: 1,
      now: () => 0,
      instruments: createInstruments(),
    });
    const items = await here.recall("a", [`msg_${there.seed()}_0`], NEVER);
    assert.ok(
      [...items.values()].every((item) => typeof item === "string"),
      answer,
    );
    assert.equal(await here.forget("a", `resp_${there.seed()}`, NEVER), false);
  }
  const here = createResponses({
    nodeId: "n1",
    keys: undefined,
    memoryBytes: 1,
    now: () => 0,
    instruments: createInstruments(),
  });
  for (const question of [
    null,
    1,
    "items",
    { kind: "items" },
    { kind: "list", caller: "a" },
    { kind: "items", caller: "a", ids: [1] },
  ]) {
    assert.equal(here.answer(question), undefined);
  }
});
