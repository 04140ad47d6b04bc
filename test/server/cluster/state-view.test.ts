/** The rows of the state on the main thread, and notification of their changes. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createView, isPublicRow } from "../../../src/server/cluster/state-view.ts";
import type { Mutation } from "../../../src/server/core/state/index.ts";

const KEY = { key: "key/a", value: "1{}" };
const SOURCE = { key: "source/s", value: "1[]" };
const fail = (error: unknown): never => {
  throw error;
};

test("rows follow applied entries in key order, and versions rise with their table", () => {
  const { view, follow } = createView(fail);
  follow([SOURCE, KEY, { key: "key/b", value: "1" }], 4);
  assert.equal(view.appliedIndex, 4);
  assert.equal(view.get("key/a"), "1{}");
  assert.deepEqual(
    [...view.scan("key/")],
    [
      ["key/a", "1{}"],
      ["key/b", "1"],
    ],
  );
  const before = { key: view.version("key/"), source: view.version("source/") };
  follow([{ key: "key/a", value: undefined }], 5);
  assert.equal(view.get("key/a"), undefined);
  assert.ok(view.version("key/") > before.key);
  assert.equal(view.version("source/"), before.source);
});

test("a watcher is called for rows under its prefix, once per batch, until it ends", () => {
  const { view, follow } = createView(fail);
  const reported: (readonly Mutation[] | undefined)[] = [];
  const end = view.watch("key/", (mutations) => {
    assert.equal(view.get("key/a"), "1{}", "the rows are there when it is notified");
    reported.push(mutations);
  });
  follow([KEY, SOURCE], 2);
  follow([SOURCE], 3);
  follow([], 4);
  assert.deepEqual(reported, [[KEY]]);
  assert.equal(view.appliedIndex, 4);
  end();
  follow([KEY], 5);
  assert.equal(reported.length, 1);
});

test("a replaced state notifies every watcher of a full change and has only the new rows", () => {
  const { view, follow, beginReplace, add, endReplace } = createView(fail);
  follow([KEY], 2);
  const reported: unknown[] = [];
  view.watch("key/", (mutations) => reported.push(mutations));
  view.watch("budget/", (mutations) => reported.push(mutations));
  const version = view.version("key/");
  beginReplace();
  add([["source/s", "1[]"]]);
  assert.deepEqual(reported, []);
  endReplace(9);
  assert.deepEqual(reported, [undefined, undefined]);
  assert.deepEqual([...view.scan("")], [["source/s", "1[]"]]);
  assert.equal(view.appliedIndex, 9);
  assert.ok(view.version("key/") > version);
});

test("a watcher that throws is reported, and the others are still called", () => {
  const failures: unknown[] = [];
  const { view, follow } = createView((error) => failures.push(error));
  const reported: string[] = [];
  view.watch("key/", () => {
    throw new Error("of the watcher");
  });
  view.watch("key/", () => reported.push("second"));
  follow([KEY], 2);
  assert.deepEqual(reported, ["second"]);
  assert.match(String(failures[0]), /of the watcher/);
});

test("a watcher that ends or starts another during its call disturbs nobody", () => {
  const { view, follow } = createView(fail);
  const reported: string[] = [];
  const end = view.watch("key/", () => {
    reported.push("first");
    end();
    view.watch("key/", () => reported.push("late"));
  });
  view.watch("key/", () => reported.push("second"));
  follow([KEY], 2);
  assert.deepEqual(reported, ["first", "second"]);
  follow([KEY], 3);
  assert.deepEqual(reported, ["first", "second", "second", "late"]);
});

test("tables internal to the state machine are not visible", () => {
  assert.deepEqual(
    ["blob/x", "sess/x", "idem/x", "key/x", "member/x", "blobs/x"].filter((key) => !isPublicRow(key)),
    ["blob/x", "sess/x", "idem/x"],
  );
});
