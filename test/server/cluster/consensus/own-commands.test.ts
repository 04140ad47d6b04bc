/** Commands that a node proposes on its own. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { WriteOutcome } from "../../../../src/server/cluster/consensus/driver-types.ts";
import { createOwnCommands } from "../../../../src/server/cluster/consensus/own-commands.ts";
import type { SubmitPorts } from "../../../../src/server/cluster/consensus/submit.ts";
import { memberOf } from "../support/leader-bench.ts";
import { memoryLog } from "../support/outcome.ts";

function leading(outcomes: readonly WriteOutcome[]): SubmitPorts & { readonly commands: Record<string, unknown>[] } {
  const commands: Record<string, unknown>[] = [];
  let time = 0;
  return {
    commands,
    status: () => ({ role: "leader", lead: "a" }),
    async propose(command) {
      commands.push(JSON.parse(Buffer.from(command).toString()) as Record<string, unknown>);
      return outcomes[Math.min(commands.length, outcomes.length) - 1] ?? { kind: "unknown" };
    },
    read: async () => ({ kind: "unknown" }),
    forward: async () => ({ kind: "unreachable" }),
    whenApplied: async () => true,
    async nextChange(ms) {
      time += ms;
    },
    schedule: () => () => undefined,
    isRemoved: () => false,
    isDiskLow: () => false,
    now: () => time,
  };
}

const NEVER = new AbortController().signal;
const onStarted = (): void => assert.fail("no start was taken");
const APPLIED: WriteOutcome = { kind: "applied", index: 2, result: { kind: "ok", value: { incarnation: 7 } } };

test("a start is reported until it is acknowledged, without the number that the cluster assigns", async () => {
  const { log } = memoryLog();
  const ports = leading([{ kind: "unknown" }, APPLIED]);
  const seen: number[] = [];
  const own = createOwnCommands({
    self: memberOf("a"),
    ports,
    log,
    signal: NEVER,
    onStarted: () => seen.push(own.incarnation()),
  });
  await own.reportStart();
  assert.deepEqual(seen, [7]);
  assert.equal(ports.commands.length, 2);
  const [first, second] = ports.commands;
  assert.deepEqual(first, second);
  assert.equal(first?.["t"], "node.start");
  const { incarnation: _, ...member } = memberOf("a");
  assert.deepEqual(first?.["p"], member);
  await own.submit("state.check", {});
  assert.equal(ports.commands[2]?.["c"], first?.["c"]);
  assert.equal(ports.commands[2]?.["s"], 2);
});

test("a start that the cluster refuses is logged with the remedy and not repeated", async () => {
  const { log, lines } = memoryLog();
  const refused = { kind: "refused", code: "storage_changed", message: "no" } as const;
  const ports = leading([{ kind: "applied", index: 2, result: refused }]);
  const own = createOwnCommands({ self: memberOf("a"), ports, log, signal: NEVER, onStarted });
  await own.reportStart();
  assert.equal(own.incarnation(), 0);
  assert.equal(ports.commands.length, 1);
  assert.match(lines[0]?.message ?? "", /another data directory/);
});

test("a stopping or leaving node reports no start", async () => {
  const { log } = memoryLog();
  const stopped = leading([APPLIED]);
  await createOwnCommands({
    self: memberOf("a"),
    ports: stopped,
    log,
    signal: AbortSignal.abort(),
    onStarted,
  }).reportStart();
  const removed = { ...leading([APPLIED]), isRemoved: () => true };
  await createOwnCommands({
    self: memberOf("a"),
    ports: removed,
    log,
    signal: NEVER,
    onStarted,
  }).reportStart();
  assert.deepEqual([stopped.commands, removed.commands], [[], []]);
});
