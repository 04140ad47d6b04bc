/** Reports to a service manager, without a socket; test/e2e/service-manager.test.ts uses real ones. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOf } from "../../src/cli/notify-socket.ts";
import { createServiceManager, keepAliveIntervalMs, type WatchedProcess } from "../../src/cli/service-manager.ts";
import { statusLine } from "../../src/server/node/service-manager-reports.ts";
import { atEnd, eventually, type Owner } from "../e2e/support/wait.ts";

const ALIVE: WatchedProcess = { status: () => "Serving", alive: () => Promise.resolve() };

function manager(owner: Owner, everyMs: number | undefined, errno?: number) {
  const sent: string[] = [];
  const warnings: string[] = [];
  const created = createServiceManager(
    (text) => {
      sent.push(...text.trimEnd().split("\n"));
      return errno;
    },
    everyMs,
    { warn: (message) => void warnings.push(message) },
  );
  atEnd(owner, () => created.close());
  const count = (line: string): number => sent.filter((it) => it === line).length;
  return { ...created, sent, warnings, count };
}

test("watchdog pings are sent while all parts answer, and stop when one is silent", async (t) => {
  const { notifyReady, count, warnings } = manager(t, 5);
  let isAlive = true;
  let before = 0;
  const alive = (): Promise<void> => {
    before = count("WATCHDOG=1");
    return isAlive ? Promise.resolve() : new Promise(() => undefined);
  };
  notifyReady({ status: () => "Serving", alive });
  await eventually("three signs", () => count("WATCHDOG=1") >= 3);
  isAlive = false;
  await eventually("a warning", () => warnings.length > 0);
  assert.equal(count("WATCHDOG=1"), before);
  assert.match(warnings[0] ?? "", /does not respond/);
});

test("a failed part ends the watchdog pings and is logged", async (t) => {
  const { notifyReady, count, warnings } = manager(t, 5);
  notifyReady({ status: () => "Serving", alive: () => Promise.reject(new Error("ended")) });
  await eventually("a warning", () => warnings.length > 0);
  assert.equal(count("WATCHDOG=1"), 0);
});

test("a drain counts as alive: while stopping, closed parts are not asked", async (t) => {
  const { notifyReady, notifyStopping, count } = manager(t, 5);
  notifyReady({ status: () => "Serving", alive: () => Promise.reject(new Error("closed")) });
  notifyStopping();
  await eventually("two signs", () => count("WATCHDOG=1") >= 2);
  assert.equal(count("STOPPING=1"), 1);
});

test("a reload is reported with its monotonic time, and as ready again, also if it fails", async (t) => {
  const { notifyReady, notifyReload, sent, count } = manager(t, undefined);
  let reloads = 0;
  await notifyReload(async () => {
    reloads += 1;
  });
  assert.deepEqual([reloads, sent], [1, []]);
  notifyReady(ALIVE);
  const before = process.hrtime.bigint() / 1_000n;
  await assert.rejects(
    notifyReload(() => Promise.reject(new Error("no such file"))),
    /no such file/,
  );
  assert.deepEqual(sent.slice(0, 3), ["READY=1", "STATUS=Serving", "RELOADING=1"]);
  const [, at = "0"] = /^MONOTONIC_USEC=(\d+)$/.exec(sent[3] ?? "") ?? [];
  assert.ok(BigInt(at) >= before);
  assert.equal(count("READY=1"), 2);
});

test("a status is one line and is sent when it changes", (t) => {
  const { notifyReady, notifyStopping, sent } = manager(t, undefined);
  notifyReady({ status: () => "Not serving (a\nREADY=1)", alive: () => Promise.resolve() });
  notifyStopping();
  assert.deepEqual(sent, [
    "READY=1",
    "STATUS=Not serving (a READY=1)",
    "STOPPING=1",
    "STATUS=Stopping: waiting for requests in flight",
  ]);
});

test("a manager that accepts nothing is logged once", (t) => {
  const { notifyReady, notifyStopping, warnings } = manager(t, undefined, 111);
  notifyReady(ALIVE);
  notifyStopping();
  assert.equal(warnings.length, 1);
});

test("watchdog pings come twice as often as required, if the manager watches this process", () => {
  assert.equal(keepAliveIntervalMs({ WATCHDOG_USEC: "30000000" }), 15_000);
  assert.equal(keepAliveIntervalMs({ WATCHDOG_USEC: "30000000", WATCHDOG_PID: String(process.pid) }), 15_000);
  assert.equal(keepAliveIntervalMs({ WATCHDOG_USEC: "30000000", WATCHDOG_PID: "1" }), undefined);
  for (const WATCHDOG_USEC of ["0", "-1", "x", ""]) assert.equal(keepAliveIntervalMs({ WATCHDOG_USEC }), undefined);
  assert.equal(keepAliveIntervalMs({}), undefined);
});

test("a path address ends with a null byte, and an abstract one begins with one", () => {
  assert.equal(addressOf("/run/x").subarray(2).toString("latin1"), "/run/x\0");
  assert.equal(addressOf("@x").subarray(2).toString("latin1"), "\0x");
  assert.throws(() => addressOf(`/${"x".repeat(107)}`), /longer than 107 bytes/);
  for (const name of ["", "@", "run/x", "vsock:2:1"]) assert.throws(() => addressOf(name), /neither/);
});

const READY = { ready: true, reasons: [] };
const STATUSES: readonly (readonly [shown: Parameters<typeof statusLine>, line: string])[] = [
  [[READY, { nodeId: "n1", role: "leader", leaderId: "n1", members: [{}] as never }], "Serving; n1 is the only member"],
  [
    [READY, { nodeId: "n1", role: "leader", leaderId: "n1", members: [{}, {}] as never }],
    "Serving; n1 leads 2 members",
  ],
  [
    [READY, { nodeId: "n1", role: "follower", leaderId: "n2", members: [] }],
    "Serving; n1 is a follower, the leader is n2",
  ],
  [
    [
      { ready: false, reasons: ["configuration"] },
      { nodeId: "n1", role: "candidate", leaderId: undefined, members: [] },
    ],
    "Not serving (configuration); n1 is a candidate, no leader is known",
  ],
  [
    [
      { ready: false, reasons: ["removed"] },
      { nodeId: "n1", role: "removed", leaderId: undefined, members: [] },
    ],
    "Not serving (removed); n1 was removed from its cluster",
  ],
];

for (const [shown, line] of STATUSES) {
  test(`the status of a node: ${line}`, () => assert.equal(statusLine(...shown), line));
}
