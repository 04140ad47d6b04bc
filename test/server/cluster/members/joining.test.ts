/** How an empty node asks for admission, and when it forms its own cluster. Times are in milliseconds. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  JOIN_LIMIT_MS,
  type JoinAnswer,
  JoinError,
  type JoinPorts,
  join,
} from "../../../../src/server/cluster/members/joining.ts";

const ADMITTED: JoinAnswer = { kind: "admitted", members: [], recoveryEpoch: 2 };
const SILENT: JoinAnswer = { kind: "silent", reason: "the port is closed" };
const REFUSED: JoinAnswer = { kind: "refused", reason: "its cluster has no leader now" };

interface RecordingPorts extends JoinPorts {
  readonly addresses: string[];
}

/** Each request takes `askMs`; `answerOf` gets the time of the request. */
function scripted(answerOf: (address: string, time: number) => JoinAnswer, askMs = 0): RecordingPorts {
  let time = 1_000_000;
  const startedAt = time;
  const addresses: string[] = [];
  return {
    addresses,
    async ask(address, timeoutMs) {
      assert.ok(timeoutMs > 0 && timeoutMs <= 10_000, `${timeoutMs} ms to answer`);
      addresses.push(`${time - startedAt} ${address}`);
      const answer = answerOf(address, time - startedAt);
      time += Math.min(askMs, timeoutMs);
      return answer;
    },
    async pause(ms) {
      time += ms;
    },
    now: () => time,
    onAnswer: () => undefined,
  };
}

test("the list is asked in order, and the first node that admits ends it", async () => {
  const ports = scripted((address) => (address === "b:1" ? ADMITTED : SILENT));
  assert.deepEqual(await join(["a:1", "b:1", "c:1"], undefined, ports), ADMITTED);
  assert.deepEqual(ports.addresses, ["0 a:1", "0 b:1"]);
});

test("after an unsuccessful round the list is asked again half a second later", async () => {
  const ports = scripted((address, time) => (address === "b:1" && time >= 1_000 ? ADMITTED : REFUSED));
  await join(["a:1", "b:1"], undefined, ports);
  assert.deepEqual(ports.addresses, ["0 a:1", "0 b:1", "500 a:1", "500 b:1", "1000 a:1", "1000 b:1"]);
});

test("the wait ends in a new cluster if every answer is silence", async () => {
  const cases: readonly (readonly [
    name: string,
    waitMs: number | undefined,
    answerOf: (address: string, time: number) => JoinAnswer,
    bootstrapsAfter: number | undefined,
  ])[] = [
    ["silence throughout", 5_000, () => SILENT, 5_000],
    ["no wait at all", 0, () => SILENT, 0],
    ["no bootstrap asked for", undefined, () => SILENT, undefined],
    ["an answer at 3 s begins the wait anew", 5_000, (_, time) => (time === 3_000 ? REFUSED : SILENT), 8_000],
    [
      "one of two addresses answers, once",
      5_000,
      (address, time) => (address === "b:1" && time < 1_000 ? REFUSED : SILENT),
      5_500,
    ],
    ["no wait, and an answer in the first round", 0, (_, time) => (time === 0 ? REFUSED : SILENT), 500],
    ["an address that always answers", 5_000, (address) => (address === "a:1" ? REFUSED : SILENT), undefined],
  ];
  for (const [name, waitMs, answerOf, bootstrapsAfter] of cases) {
    const ports = scripted(answerOf);
    const startedAt = ports.now();
    const joined = join(["a:1", "b:1"], waitMs, ports);
    if (bootstrapsAfter === undefined) await assert.rejects(joined, JoinError, name);
    else {
      assert.deepEqual(await joined, { kind: "bootstrap" }, name);
      assert.equal(ports.now() - startedAt, bootstrapsAfter, name);
    }
  }
});

test("after sixty seconds it ends and names every address with its last answer", async () => {
  const ports = scripted(
    (address, time) =>
      address === "a:1" ? { kind: "refused", reason: time < 30_000 ? "the first" : "wrong_cluster" } : SILENT,
    4_000,
  );
  const startedAt = ports.now();
  await assert.rejects(join(["a:1", "b:1"], undefined, ports), (error: unknown) => {
    assert.ok(error instanceof JoinError);
    assert.match(error.message, /within 60 s/);
    assert.match(error.message, /a:1: wrong_cluster; b:1: the port is closed/);
    return true;
  });
  const took = ports.now() - startedAt;
  assert.ok(took >= JOIN_LIMIT_MS && took < JOIN_LIMIT_MS + 1_000, `${took} ms`);
});

test("any error from a request ends the joining", async () => {
  const ports: JoinPorts = { ...scripted(() => SILENT), ask: () => Promise.reject(new Error("stopped")) };
  await assert.rejects(join(["a:1"], 0, ports), /stopped/);
});
