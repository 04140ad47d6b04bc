/** Suspensions as requests see them: from the view, at once, until they end. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createView } from "../../../../src/server/cluster/state-view.ts";
import { commands, type NamedCommand, type SuspensionKind } from "../../../../src/server/core/state/index.ts";
import { openSuspensions } from "../../../../src/server/node/governance/suspension-rows.ts";
import { bench, HOUR, START } from "../../core/state/harness.ts";

const put = (kind: SuspensionKind, name: string, duration_ms: number | null = null) =>
  commands.suspensionPut({ kind, name, reason: `${kind} ${name}`, duration_ms });

function open(...before: readonly NamedCommand[]) {
  const at = bench();
  const { view, follow, beginReplace, add, endReplace } = createView((error) => assert.fail(String(error)));
  const run = (command: NamedCommand): void => {
    const { mutations } = at.apply(command);
    follow(mutations, at.state.applied.index);
  };
  for (const command of before) run(command);
  return {
    at,
    run,
    suspensions: openSuspensions(view, { now: () => at.now }),
    reload() {
      beginReplace();
      add([...at.state.scan("")]);
      endReplace(at.state.applied.index);
    },
  };
}

test("without suspensions no lookup is needed", () => {
  const { suspensions, run } = open();
  assert.deepEqual([suspensions.any, suspensions.of("provider", "a")], [false, undefined]);
  run(put("provider", "a"));
  assert.equal(suspensions.any, true);
  run(commands.suspensionDelete({ kind: "provider", name: "a" }));
  assert.deepEqual([suspensions.any, suspensions.of("provider", "a")], [false, undefined]);
});

test("earlier suspensions are known from the start", () => {
  const { suspensions } = open(put("key", "ci", HOUR));
  const { reason, until } = suspensions.of("key", "ci") ?? {};
  assert.deepEqual([suspensions.any, reason, until], [true, "key ci", START + HOUR]);
});

test("a suspension has one kind and one name", () => {
  const { suspensions, run } = open();
  run(put("provider", "a"));
  assert.deepEqual([suspensions.of("model", "a"), suspensions.of("provider", "b")], [undefined, undefined]);
  assert.equal(suspensions.of("provider", "a")?.until, null);
});

test("names of any form are distinct and can be lifted", () => {
  const { suspensions, run } = open();
  const long = "m".repeat(400);
  const names = ["vendor/model:free", "a:b", "a%3Ab", long, `${long}x`, "__proto__"];
  for (const name of names) run(put("model", name));
  assert.deepEqual(
    names.map((name) => suspensions.of("model", name)?.reason),
    names.map((name) => `model ${name}`),
  );
  for (const name of names) run(commands.suspensionDelete({ kind: "model", name }));
  assert.deepEqual(
    [suspensions.any, ...names.map((name) => suspensions.of("model", name))],
    [false, ...names.map(() => undefined)],
  );
});

test("a suspension ends by time, and is active again when it is put again", () => {
  const { suspensions, run, at } = open();
  run(put("issuer", "corp", HOUR));
  at.now = START + HOUR - 1;
  assert.ok(suspensions.of("issuer", "corp"));
  at.now = START + HOUR;
  assert.equal(suspensions.of("issuer", "corp"), undefined);
  run(put("issuer", "corp", HOUR));
  assert.equal(suspensions.of("issuer", "corp")?.until, START + 2 * HOUR);
});

test("a replaced suspension has its new reason and end", () => {
  const { suspensions, run } = open();
  run(put("profile", "batch", HOUR));
  run(commands.suspensionPut({ kind: "profile", name: "batch", reason: "other", duration_ms: null }));
  const { reason, until } = suspensions.of("profile", "batch") ?? {};
  assert.deepEqual([reason, until], ["other", null]);
});

test("a snapshot adds its suspensions and removes all others", () => {
  const { suspensions, run, at, reload } = open();
  run(put("provider", "a"));
  at.ok(commands.suspensionDelete({ kind: "provider", name: "a" }));
  at.ok(put("provider", "b"));
  assert.ok(suspensions.of("provider", "a"), "this node has not heard of it");
  reload();
  assert.deepEqual(
    ["a", "b"].map((name) => suspensions.of("provider", name)?.reason),
    [undefined, "provider b"],
  );
});
