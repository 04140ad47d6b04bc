/** Rows of the replicated state on their way to a worker, over a real channel. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createView } from "../../../src/server/cluster/index.ts";
import { feedRows, followRows } from "../../../src/server/workers/index.ts";
import { openPair } from "./support/pair.ts";

const fail = (error: unknown): never => assert.fail(String(error));

type Row = readonly [key: string, value: string];

/** Rows of the three tables that a worker has. */
const rowsOf = (count: number, value: string): readonly Row[] =>
  ["key/", "keyid/", "susp/"].flatMap((table) =>
    Array.from({ length: count }, (_, at): Row => [`${table}${String(at).padStart(6, "0")}`, value]),
  );

test("a replaced state is sent once, in pieces that are each acknowledged", async () => {
  await using pair = await openPair();
  const source = createView(fail);
  source.beginReplace();
  source.add(rowsOf(10, "before"));
  source.endReplace(1);
  const kinds: string[] = [];
  pair.worker.on("rows", (body) => kinds.push((body as { readonly kind: string }).kind));
  const followed = followRows(pair.worker, fail);
  const feed = feedRows(pair.node, source.view);
  await feed.whenReceived();
  kinds.length = 0;

  source.beginReplace();
  source.add(rowsOf(1_000, "after"));
  source.add([["provider/x", "not for workers"]]);
  source.endReplace(2);
  let acknowledged = 0;
  await feed.whenReceived(() => {
    acknowledged += 1;
  });
  assert.deepEqual(kinds, ["begin", "add", "add", "add", "add", "end"]);
  assert.equal(acknowledged, kinds.length);
  assert.equal(followed.appliedIndex, 2);
  assert.deepEqual([...followed.scan("")], [...rowsOf(1_000, "after")]);
  feed.close();
});

test("changes of several tables arrive in one message, and those of other tables not at all", async () => {
  await using pair = await openPair();
  const source = createView(fail);
  const sent: unknown[] = [];
  pair.worker.on("rows", (body) => sent.push((body as { readonly rows: unknown }).rows));
  const followed = followRows(pair.worker, fail);
  const feed = feedRows(pair.node, source.view);
  await feed.whenReceived();
  sent.length = 0;
  source.follow([{ key: "usage/a", value: "1" }], 1);
  source.follow(
    [
      { key: "key/a", value: "1" },
      { key: "keyid/b", value: "a" },
      { key: "usage/a", value: "2" },
    ],
    2,
  );
  source.follow([{ key: "key/a", value: undefined }], 3);
  await feed.whenReceived();
  assert.deepEqual(sent, [
    [
      ["key/a", "1"],
      ["keyid/b", "a"],
    ],
    [["key/a"]],
  ]);
  assert.deepEqual([...followed.scan("")], [["keyid/b", "a"]]);
  feed.close();
});
