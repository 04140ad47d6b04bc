// tier: all
/** An archive with more than 128 MiB of state, saved and restored through a node's log. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { putBlob } from "../../../../src/server/cluster/snapshots/put-blob.ts";
import { assertRestorable } from "../../../../src/server/cluster/snapshots/restore-archive.ts";
import { commands, FEATURE_RANGE, featureRowKey, revisionsOf } from "../../../../src/server/core/state/index.ts";
import { bytesOf, makeDir, piecesOf } from "../support/archives.ts";
import { openAlone, options } from "../support/cluster-bench.ts";
import { failure, until } from "../support/outcome.ts";

const SOURCES = 20;
const SOURCE_BYTES = 7 << 20;

test("a state of 140 MiB is restored", async (t) => {
  const node = await openAlone(t, { dataDir: makeDir(t) });
  await until("the feature level", () => node.view.get(featureRowKey)?.includes(String(FEATURE_RANGE.max)) === true);
  const text = Buffer.alloc(SOURCE_BYTES, "x");
  for (let number = 0; number < SOURCES; number += 1) {
    text.write(String(number));
    const blob = await putBlob(node, text, options());
    const put = commands.sourcePut({
      name: `source-${number}`,
      blob,
      sha256: createHash("sha256").update(text).digest("hex"),
      version: null,
      writer: "api",
      expect_revision: 0,
      trigger: "api",
    });
    assert.equal((await node.write(put, options())).kind, "ok");
  }
  const { archive } = await node.saveSnapshot({ stale: false, signal: new AbortController().signal });
  const bytes = await bytesOf(archive);
  const removal = commands.sourceDelete({ name: "source-7", writer: "api", expect_revision: null });
  assert.equal((await node.write(removal, options())).kind, "ok");

  const { size } = await node.restore(piecesOf(bytes), options());
  assert.ok(size > SOURCES * SOURCE_BYTES);
  const [, value] = [...node.view.scan(revisionsOf("source-7"))].at(-1) ?? [];
  assert.match(value?.slice(0, 1_000) ?? "", /"kind":"put"/);
});

test("a state that the cluster or the heap cannot take is refused with its size, the limit and a remedy", () => {
  const MIB = 2 ** 20;
  const GIB = 2 ** 30;
  for (const [size, level] of [
    [128 * MIB, 1],
    [128 * MIB, 4],
    [2_048 * MIB, 5],
  ] as const) {
    assertRestorable({ size, rows: 1_000 }, level, 8 * GIB);
  }
  const check = (size: number, rows: number, level: number, heap: number) => () =>
    assertRestorable({ size, rows }, level, heap);
  assert.throws(
    check(128 * MIB + 1, 1_000, 4, 8 * GIB),
    failure("refused", /nothing was changed: it has 129 MiB .* level 4 restores at most 128 MiB\. .*upgrade all nodes/),
  );
  assert.throws(check(2_048 * MIB + 1, 1_000, 5, 8 * GIB), failure("refused", /2049 MiB .* at most 2048 MiB$/));
  assert.throws(
    check(100 * MIB, 1_000_000, 5, 512 * MIB),
    failure("refused", /its 1000000 rows need about 677 MiB of heap, .* has 512\. .*--max-old-space-size=677 /),
  );
});
