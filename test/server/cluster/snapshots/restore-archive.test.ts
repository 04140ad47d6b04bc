/**
 * Restoring an archive whose secrets were sealed under another cluster secret. Source: design decisions, section 20
 * (restoring into a cluster of another secret).
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Cluster } from "../../../../src/server/cluster/index.ts";
import { createRestore } from "../../../../src/server/cluster/snapshots/restore-archive.ts";
import { commands, FEATURE_RANGE, featureRowKey, type NamedCommand } from "../../../../src/server/core/state/index.ts";
import { bytesOf, makeDir, piecesOf } from "../support/archives.ts";
import { hasKey, openAlone, options, writeKey } from "../support/cluster-bench.ts";
import { failure, until } from "../support/outcome.ts";

const n = "A".repeat(16);
const sealed = (dk: string) => ({ dk, n, ct: "AAAA" });
/** A data key that only a node with the key-encryption key of this id opens. */
const dataKey = (id: string, kek: string): readonly NamedCommand[] => [
  commands.ringAdd({ id, alg: "A256GCM", created: 1, wraps: [{ kek, n, ct: "AAAA" }] }),
  commands.ringActivate({ id }),
];
const secret = (name: string, dk = "dk-1", expect: number | null = null): NamedCommand =>
  commands.secretPut({ name, expect, sealed: sealed(dk) });
const certificate = (id: string): NamedCommand =>
  commands.certPut({ id, expect: null, names: ["gw.example"], not_after: null, sealed: sealed("dk-1") });
const account = commands.acmePut({ id: "directory", expect: null, sealed: sealed("dk-1") });

const [OWN, OTHER] = ["s:00000001", "s:00000002"];
const canOpenRing = (row: string): boolean => row.includes(OWN);
const SEALED = ["ring/", "secret/", "cert/", "acme/"];
const rowsOf = (node: Cluster, prefixes: readonly string[]) => prefixes.flatMap((it) => [...node.view.scan(it)]);

async function archiveWith(t: TestContext, list: readonly NamedCommand[]): Promise<Buffer> {
  const node = await openAlone(t, { dataDir: makeDir(t) });
  await writeKey(node, "archived");
  // The leader raises the level within a second; certificates need it.
  await until("the feature level", () => node.view.get(featureRowKey)?.includes(String(FEATURE_RANGE.max)) === true);
  for (const command of list) assert.equal((await node.write(command, options())).kind, "ok", command.t);
  const { archive } = await node.saveSnapshot({ stale: false, signal: new AbortController().signal });
  const bytes = await bytesOf(archive);
  await node.close();
  return bytes;
}

const twice = [secret("twice"), secret("twice", "dk-1", 1)];
const everything = [secret("b"), ...twice, secret("a"), certificate("gw.example"), account];

const CASES: readonly {
  readonly name: string;
  readonly archive: readonly NamedCommand[];
  readonly isRefused: boolean;
  readonly secrets: readonly string[];
  readonly certificates?: readonly string[];
}[] = [
  {
    name: "of another secret",
    archive: [...dataKey("dk-1", OTHER), ...everything],
    isRefused: true,
    secrets: ["a", "b", "twice"],
    certificates: ["gw.example"],
  },
  {
    name: "of the same secret",
    archive: [...dataKey("dk-1", OWN), ...everything],
    isRefused: false,
    secrets: ["a", "b", "twice"],
    certificates: ["gw.example"],
  },
  { name: "that seals nothing", archive: [], isRefused: false, secrets: [] },
  {
    name: "of another cluster secret whose values were deleted",
    archive: dataKey("dk-1", OTHER),
    isRefused: true,
    secrets: [],
  },
  {
    name: "with a second data key of another kek_file, which seals a value",
    archive: [...dataKey("dk-1", OWN), secret("a"), ...dataKey("dk-2", OTHER), secret("b", "dk-2")],
    isRefused: true,
    secrets: ["a", "b"],
  },
  {
    name: "with a second data key of another kek_file, which seals nothing",
    archive: [...dataKey("dk-1", OTHER), ...dataKey("dk-2", OWN), secret("a", "dk-2")],
    isRefused: false,
    secrets: ["a"],
  },
];

test("an archive that another restore overtakes is refused with the reason, and can be restored again", async (t) => {
  const bytes = await archiveWith(t, []);
  const dir = makeDir(t);
  const node = await openAlone(t, { dataDir: dir });
  let isOvertaken = true;
  const restore = createRestore({
    dataDir: () => dir,
    featureLevel: () => FEATURE_RANGE.max,
    canOpenRing: undefined,
    async write(command, input) {
      if (command.t === "state.restore" && isOvertaken) await node.restore(piecesOf(bytes), options());
      return await node.write(command, input);
    },
  });
  await assert.rejects(
    restore(piecesOf(bytes), options()),
    failure("refused", /^another restore replaced the state .*nothing of this archive was restored\. Restore it again/),
  );
  isOvertaken = false;
  await writeKey(node, "later");
  await restore(piecesOf(bytes), options());
  assert.deepEqual([hasKey(node, "archived"), hasKey(node, "later")], [true, false]);
});

for (const { name, archive, isRefused, secrets, certificates = [] } of CASES) {
  test(`an archive ${name} is ${isRefused ? "refused, and " : ""}restored without its secrets`, async (t) => {
    const bytes = await archiveWith(t, archive);
    const node = await openAlone(t, { dataDir: makeDir(t), canOpenRing });
    await writeKey(node, "before");
    for (const command of [...dataKey("dk-1", OWN), secret("own")]) await node.write(command, options());
    const before = rowsOf(node, ["key/", ...SEALED]);
    const plain = node.restore(piecesOf(bytes), options());
    if (isRefused) {
      await assert.rejects(
        plain,
        failure("refused", /nothing was changed: .*secret.*snapshot restore -without-secrets/),
      );
      assert.deepEqual(rowsOf(node, ["key/", ...SEALED]), before);
    } else {
      assert.equal((await plain).leftOut, undefined);
      assert.equal(rowsOf(node, ["secret/"]).length, secrets.length);
    }
    const restored = await node.restore(piecesOf(bytes), { ...options(), withoutSecrets: true });
    assert.deepEqual(restored.leftOut, { secrets, certificates });
    assert.deepEqual([hasKey(node, "archived"), hasKey(node, "before")], [true, false]);
    assert.deepEqual(rowsOf(node, SEALED), []);
    // Values are sealed from now on as in a new cluster.
    for (const command of [...dataKey("dk-1", OWN), ...secrets.map((it) => secret(it))]) {
      assert.equal((await node.write(command, options())).kind, "ok");
    }
  });
}
