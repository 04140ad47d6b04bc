import assert from "node:assert/strict";
import test from "node:test";
import { poolView } from "../../../src/console/views/pool.ts";
import {
  at,
  bodyOf,
  contextOf,
  idsShown,
  poolMember,
  rowsShown,
  startOf,
  tableOfView,
  whyOf,
} from "./traffic-fixtures.ts";

const MEMBERS = [
  poolMember("192.0.2.1:8000", { in_flight: 3, subsets: ["lora", "tuned"] }),
  poolMember("192.0.2.2:8000", { state: "idle", attempts: 0 }),
  poolMember("192.0.2.3:8000", {
    state: "failing",
    failures: 4,
    last_error: "ECONNREFUSED",
    last_error_at: at(-2),
    failing_since: at(-60),
  }),
  poolMember("192.0.2.1:8000", { state: "draining", in_flight: 1, node: "n2" }),
  poolMember("192.0.2.1:8000", { node: "n2" }),
];
const context = contextOf({ list_backend_members: MEMBERS }, { subject: "gpu" });

test("members are worst first, with connection errors and times", () => {
  assert.deepEqual(rowsShown(poolView, context), [
    ["192.0.2.3:8000", "!FAILING", "-", "0", "12", "4", "ECONNREFUSED", "14:02:05Z", "14:01:07Z", "n1"],
    ["192.0.2.1:8000", "~DRAINING", "-", "1", "12", "0", "-", "-", "-", "n2"],
    ["192.0.2.1:8000", " ok", "lora,tuned", "3", "12", "0", "-", "-", "-", "n1"],
    ["192.0.2.1:8000", " ok", "-", "0", "12", "0", "-", "-", "-", "n2"],
    ["192.0.2.2:8000", " idle", "-", "0", "0", "0", "-", "-", "-", "n1"],
  ]);
  assert.equal(new Set(idsShown(poolView, context)).size, MEMBERS.length);
  const table = tableOfView(poolView, context);
  assert.deepEqual(
    MEMBERS.map((_, row) => table.isBad(row)),
    [false, false, true, false, false],
  );
});

test("columns have letters and ids of their own", () => {
  const { columns } = tableOfView(poolView, context);
  assert.equal(new Set(columns.map(({ letter }) => letter)).size, columns.length);
  assert.deepEqual(
    columns.map(({ id }) => id),
    columns.map(({ head }) => head.toLowerCase()),
  );
});

test("unknown states and errors are shown escaped", () => {
  const later = { ...poolMember("192.0.2.9:1", { last_error: "E\u001b[2J" }), state: "warming\u001b[2J" };
  const shown = rowsShown(poolView, contextOf({ list_backend_members: [later as never] }, { subject: "gpu" }));
  assert.match(shown[0]?.[1] ?? "", /^~WARMING/);
  assert.ok(!shown.flat().join("").includes("\u001b"));
});

test("the view reads the members of its subject, and asks for one if none is named", () => {
  assert.deepEqual(poolView.needs("gpu")[0], { id: "list_backend_members", name: "gpu" });
  assert.deepEqual(poolView.needs(undefined), []);
  const unnamed = contextOf({ list_backend_members: MEMBERS });
  assert.deepEqual(idsShown(poolView, unnamed), []);
  assert.equal(bodyOf(poolView).empty(unnamed).sentence, "No provider was named.");
  assert.equal(whyOf(poolView, "errors", unnamed), "name a provider: `:pool NAME`");
  const none = contextOf({ list_backend_members: [] }, { subject: "gpu" });
  assert.equal(bodyOf(poolView).empty(none).sentence, "gpu has no servers on any node that answers.");
});

test("e goes to the failures of the provider", () => {
  assert.deepEqual(startOf(poolView, "errors", context), { kind: "go", place: { view: "errors", subject: "gpu" } });
});
