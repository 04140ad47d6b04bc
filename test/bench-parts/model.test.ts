import assert from "node:assert/strict";
import { test } from "node:test";
import { predict } from "../bench/workers/model.ts";

const COST = { worker: 100, workerRest: 20, node: 5, nodeThread: 2, nodeRest: 1 };

test("the model names the resource that saturates first", () => {
  for (const [change, machine, perSecond, saturates] of [
    [{}, { cores: 16, workers: 8 }, 80_000, "workers"],
    [{}, { cores: 16, workers: 16 }, 125_000, "cores"],
    [{}, { cores: 64, workers: 60 }, 200_000, "node process"],
    [{ nodeThread: 40 }, { cores: 64, workers: 60 }, 25_000, "thread of the node process"],
  ] as const) {
    const predicted = predict({ ...COST, ...change }, machine);
    assert.equal(predicted.saturates, saturates);
    assert.equal(Math.round(predicted.perSecond), perSecond);
    assert.equal(predicted.nodeBusy, (predicted.perSecond * 5) / 1e6);
  }
});
