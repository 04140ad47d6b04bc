/** Submission of a command to the leader: the effect of each answer, and unknown outcomes. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { LEADER_WAIT_MS as TOLD_MS } from "../../../../src/admin-api/index.ts";
import type { ReadOutcome, WriteOutcome } from "../../../../src/server/cluster/consensus/driver-types.ts";
import {
  LEADER_WAIT_MS,
  readBarrier,
  type SubmitPorts,
  submit,
} from "../../../../src/server/cluster/consensus/submit.ts";
import { failure } from "../support/outcome.ts";

type Place = ReturnType<SubmitPorts["status"]>;
type Answer = WriteOutcome | { readonly kind: "unreachable" } | "never";

const LEADS: Place = { role: "leader", lead: "a" };
const FOLLOWS: Place = { role: "follower", lead: "b" };
const ALONE: Place = { role: "follower", lead: undefined };
const DONE: WriteOutcome = { kind: "applied", index: 7, result: { kind: "ok", value: null } };

interface Script {
  /** One per attempt; the last one stays. */
  readonly places: readonly Place[];
  /** One per sent command; the last one stays. */
  readonly answers?: readonly Answer[];
  readonly reads?: readonly (ReadOutcome | "never")[];
  readonly isApplied?: boolean;
  readonly isDiskLow?: boolean;
}

interface Run extends SubmitPorts {
  readonly log: string[];
  readonly bytes: Uint8Array[];
  removed: boolean;
}

/** Time passes only while the code waits. */
function run({ places, answers = [], reads = [], isApplied = true, isDiskLow = false }: Script): Run {
  const log: string[] = [];
  const bytes: Uint8Array[] = [];
  let time = 0;
  let requestCount = 0;
  let answered = 0;
  let read = 0;
  const late = new Set<() => void>();
  const at = <Value>(list: readonly Value[], position: number): Value => {
    const value = list[Math.min(position, list.length - 1)];
    assert.ok(value !== undefined, "the script has no answer for this");
    return value;
  };
  /** Nobody answers, so the limit passes. */
  const neverAnswered = <Value>(ms: number): Promise<Value> => {
    queueMicrotask(() => {
      time += ms;
      for (const each of [...late]) each();
    });
    return new Promise(() => undefined);
  };
  const ports: Run = {
    log,
    bytes,
    removed: false,
    status: () => at(places, requestCount),
    propose(command) {
      log.push("propose");
      bytes.push(command);
      const answer = at(answers, answered);
      answered += 1;
      requestCount += 1;
      return answer === "never" ? neverAnswered(1_000) : Promise.resolve(answer as WriteOutcome);
    },
    read() {
      log.push("read");
      const outcome = at(reads, read);
      read += 1;
      return outcome === "never" ? neverAnswered(1_000) : Promise.resolve(outcome);
    },
    async forward(leader, command, timeoutMs) {
      log.push(`forward ${leader} ${timeoutMs}`);
      bytes.push(command);
      const answer = at(answers, answered);
      answered += 1;
      requestCount += 1;
      if (answer !== "never") return answer;
      time += timeoutMs;
      return { kind: "unknown" };
    },
    async whenApplied(index, ms) {
      log.push(`applied ${index}`);
      if (!isApplied) time += ms;
      return isApplied;
    },
    async nextChange(ms) {
      log.push(`wait ${ms}`);
      time += ms;
      if (places[requestCount]?.lead === undefined) requestCount += 1;
    },
    schedule(_, done) {
      late.add(done);
      return () => late.delete(done);
    },
    isRemoved: () => ports.removed,
    isDiskLow: () => isDiskLow,
    now: () => time,
  };
  return ports;
}

const COMMAND = Buffer.from("command");

test("each answer of a leader leads to its outcome", async () => {
  const cases: readonly (readonly [name: string, script: Script, log: readonly string[]])[] = [
    ["applied here", { places: [LEADS], answers: [DONE] }, ["propose", "applied 7"]],
    ["applied there", { places: [FOLLOWS], answers: [DONE] }, ["forward b 1000", "applied 7"]],
    [
      "unknown, then applied",
      { places: [LEADS], answers: [{ kind: "unknown" }, DONE] },
      ["propose", "wait 50", "propose", "applied 7"],
    ],
    [
      "busy, then applied",
      { places: [LEADS], answers: [{ kind: "refused", code: "busy" }, DONE] },
      ["propose", "wait 50", "propose", "applied 7"],
    ],
    [
      "unreachable, then applied",
      { places: [FOLLOWS], answers: [{ kind: "unreachable" }, DONE] },
      ["forward b 1000", "wait 50", "forward b 950", "applied 7"],
    ],
    [
      "not the leader, then applied by another",
      { places: [FOLLOWS, { role: "follower", lead: "c" }], answers: [{ kind: "not-leader", lead: undefined }, DONE] },
      ["forward b 1000", "wait 50", "forward c 950", "applied 7"],
    ],
    [
      "deposed, then forwarded",
      { places: [LEADS, FOLLOWS], answers: [{ kind: "unknown" }, DONE] },
      ["propose", "wait 50", "forward b 950", "applied 7"],
    ],
    ["no leader, then one", { places: [ALONE, LEADS], answers: [DONE] }, ["wait 250", "propose", "applied 7"]],
  ];
  for (const [name, script, expected] of cases) {
    const ports = run(script);
    assert.deepEqual(await submit(COMMAND, 1_000, ports), DONE, name);
    assert.deepEqual(ports.log, expected, name);
  }
});

test("a refused command is a result, not a failure", async () => {
  const refused: WriteOutcome = { kind: "applied", index: 3, result: { kind: "refused", code: "x", message: "no" } };
  assert.deepEqual(await submit(COMMAND, 1_000, run({ places: [LEADS], answers: [refused] })), refused);
});

test("every retry sends the same bytes", async () => {
  const ports = run({
    places: [LEADS, FOLLOWS, LEADS],
    answers: [{ kind: "unknown" }, { kind: "unknown" }, { kind: "refused", code: "no_leader" }, DONE],
  });
  await submit(COMMAND, 1_000, ports);
  assert.equal(ports.bytes.length, 4);
  for (const bytes of ports.bytes) assert.equal(bytes, COMMAND);
});

test("at the timeout the outcome is unknown only if some leader may have taken the command", async () => {
  const cases: readonly (readonly [Script, string])[] = [
    [{ places: [ALONE] }, "not-applied"],
    [{ places: [FOLLOWS], answers: [{ kind: "unreachable" }] }, "not-applied"],
    [{ places: [FOLLOWS], answers: [{ kind: "not-leader", lead: undefined }] }, "not-applied"],
    [{ places: [LEADS], answers: [{ kind: "refused", code: "no_leader" }] }, "not-applied"],
    [{ places: [LEADS], answers: ["never"] }, "unknown"],
    [{ places: [FOLLOWS], answers: ["never"] }, "unknown"],
    [{ places: [FOLLOWS], answers: [{ kind: "unknown" }, { kind: "unreachable" }] }, "unknown"],
    [{ places: [LEADS], answers: [DONE], isApplied: false }, "unknown"],
  ];
  for (const [script, outcome] of cases) {
    const ports = run(script);
    await assert.rejects(submit(COMMAND, 1_000, ports), failure("no_leader", /./, { outcome }), JSON.stringify(script));
    assert.ok(ports.now() <= 1_050, `${ports.now()} ms`);
  }
});

test("a leader is awaited for five seconds after the last one that took the command", async () => {
  const cases: readonly (readonly [Script, string, number])[] = [
    [{ places: [ALONE] }, "not-applied", LEADER_WAIT_MS],
    [{ places: [FOLLOWS], answers: [{ kind: "unreachable" }] }, "not-applied", LEADER_WAIT_MS],
    [{ places: [FOLLOWS], answers: [{ kind: "not-leader", lead: undefined }] }, "not-applied", LEADER_WAIT_MS],
    [{ places: [LEADS, ALONE], answers: [{ kind: "unknown" }] }, "unknown", LEADER_WAIT_MS],
    // A leader that accepts it and never finishes gets the caller's whole time.
    [{ places: [FOLLOWS], answers: ["never"] }, "unknown", 60_000],
  ];
  for (const [script, outcome, ms] of cases) {
    const ports = run(script);
    await assert.rejects(
      submit(COMMAND, 60_000, ports),
      failure("no_leader", /./, { outcome }),
      JSON.stringify(script),
    );
    assert.ok(ports.now() >= ms && ports.now() <= ms + 50, `${ports.now()} ms: ${JSON.stringify(script)}`);
  }
  assert.equal(LEADER_WAIT_MS, TOLD_MS, "the console counts down what the gateway waits");
  const reading = run({ places: [ALONE] });
  await assert.rejects(readBarrier(60_000, reading), failure("no_leader"));
  assert.equal(reading.now(), LEADER_WAIT_MS);
});

test("a cluster that stays busy is reported as busy", async () => {
  const ports = run({ places: [LEADS], answers: [{ kind: "refused", code: "busy" }] });
  await assert.rejects(submit(COMMAND, 1_000, ports), failure("busy"));
  assert.ok(ports.now() <= 1_000);
});

test("a full disk on the leader refuses at once, locally and remotely", async () => {
  const here = run({ places: [LEADS], isDiskLow: true });
  await assert.rejects(submit(COMMAND, 1_000, here), failure("disk_low"));
  assert.deepEqual(here.log, []);
  const there = run({ places: [FOLLOWS], answers: [{ kind: "refused", code: "disk_low" }] });
  await assert.rejects(submit(COMMAND, 1_000, there), failure("disk_low"));
  assert.equal(there.now(), 0);
});

test("a removed node accepts neither writes nor reads", async () => {
  const ports = run({ places: [LEADS] });
  ports.removed = true;
  await assert.rejects(submit(COMMAND, 1_000, ports), failure("removed"));
  await assert.rejects(readBarrier(1_000, ports), failure("removed"));
  assert.deepEqual(ports.log, []);
});

test("a read is retried until a leader confirms it, and gives up in time", async () => {
  const again = run({ places: [FOLLOWS], reads: [{ kind: "unknown" }, { kind: "readable", index: 4 }] });
  assert.equal(await readBarrier(1_000, again), 4);
  assert.deepEqual(again.log, ["read", "wait 250", "read"]);

  const late = run({ places: [ALONE, FOLLOWS], reads: [{ kind: "readable", index: 5 }] });
  assert.equal(await readBarrier(1_000, late), 5);
  assert.deepEqual(late.log, ["wait 250", "read"]);

  for (const script of [{ places: [ALONE] }, { places: [LEADS], reads: ["never" as const] }]) {
    await assert.rejects(readBarrier(1_000, run(script)), failure("no_leader"));
  }
});
