/** `gateway cluster recover` on real directories of stopped nodes. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { execute } from "../../../src/cli/main.ts";
import { fingerprint, writeSurvivor } from "../../server/cluster/recovery/fixtures.ts";
import { bufferIo } from "../buffer-io.ts";

interface Ran {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

async function recover(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> {
  const io = bufferIo({ env });
  const status = await execute(["cluster", "recover", ...args], io);
  return { status, out: io.out(), err: io.err() };
}

async function survivor(t: TestContext): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), "gateway-cli-recover-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  await writeSurvivor(join(dir, "data"));
  return dir;
}

test("without -confirm it prints the state, says which survivor to choose, and writes nothing", async (t) => {
  const dir = await survivor(t);
  const before = fingerprint(dir);
  const { status, out, err } = await recover(["-data-dir", join(dir, "data"), "-node-id", "b"]);
  assert.equal(status, 0);
  assert.equal(
    out.replace(/[0-9a-f]{32}/, "<id>"),
    [
      `directory             ${join(dir, "data")}`,
      "node                  b",
      "last term             3",
      "last index            8",
      "term                  4",
      "vote                  c",
      "commit                6",
      "applied               4",
      "uncommitted           2",
      "first index           2",
      "snapshot              1",
      "voters                a, b, c",
      "learners              none",
      "storage id            <id>",
      "recoveries            0",
      "uncommitted voters    a, b, c",
      "uncommitted learners  d",
      "",
    ].join("\n"),
  );
  assert.match(err, /^Nothing was written\. With -confirm this node keeps b and drops a, c, d\.\n/);
  assert.match(err, /Uncommitted entries \(2\) will count as committed/);
  assert.match(err, /the one with the highest last term and, among equals, the highest last index\./);
  assert.deepEqual(fingerprint(dir), before);
});

test("with -confirm it writes, and says how the other nodes return", async (t) => {
  const dir = await survivor(t);
  const target = ["-data-dir", join(dir, "data"), "-node-id", "b", "-keep", "b,c"];
  const { status, err } = await recover([...target, "-confirm"]);
  assert.equal(status, 0);
  assert.match(err, /^Recovered: voters b, c; the log continues after entry 9 of term 5, recovery 1\.\n/);
  assert.match(err, /The others \(a, c, d\) return with an empty data directory and cluster\.join/);
  const again = await recover([...target, "-confirm"]);
  assert.equal(again.status, 0);
  assert.match(again.err, /The members are b, c already: there is nothing to write/);
  assert.match(again.out, /^last index {12}9$/m);
});

test("node id and directory come from the node file, whose secrets need not be available", async (t) => {
  const dir = await survivor(t);
  const file = join(dir, "node.yaml");
  const secret = "$" + "{UNSET_SECRET}";
  const data = "$" + "{DATA}";
  writeFileSync(file, `cluster:\n  node_id: b\n  data_dir: ${data}/data\n  secret: ${secret}\n`);
  const found = await recover(["-config", file], { DATA: dir });
  assert.equal(found.status, 0, found.err);
  assert.match(found.out, /^node {18}b$/m);
  const unset = await recover(["-config", file]);
  assert.equal(unset.status, 2);
  assert.match(unset.err, /cluster\.data_dir names \$\{DATA\}, which is not set here: set it, or give '-data-dir'/);
  assert.equal((await recover(["-config", file, "-data-dir", join(dir, "data")])).status, 0);
});

test("a command line without a node is a usage error", async (t) => {
  const dir = await survivor(t);
  writeFileSync(join(dir, "other.yaml"), "listen: :1\n");
  for (const [args, message] of [
    [[], /needs '-config', or '-data-dir' and '-node-id'/],
    [["-data-dir", dir], /needs '-config'/],
    [["-config", join(dir, "missing.yaml")], /cannot read/],
    [["-config", join(dir, "other.yaml")], /is not a node file with a cluster block/],
    [["-data-dir", dir, "-node-id", "b", "-keep", "b,"], /'-keep' takes node ids/],
    [["-data-dir", dir, "-node-id", "b", "extra"], /takes no arguments/],
  ] as const) {
    const { status, err } = await recover(args);
    assert.equal(status, 2, err);
    assert.match(err, message);
  }
});

test("an unrecoverable directory exits with status 1 and the reason", async (t) => {
  const dir = await survivor(t);
  const data = join(dir, "data");
  for (const [args, message] of [
    [["-data-dir", join(dir, "nothing"), "-node-id", "b"], /there is no data directory of a node at/],
    [["-data-dir", data, "-node-id", "a"], /belongs to node b, not to a/],
    [["-data-dir", data, "-node-id", "b", "-keep", "b,x"], /not a member: x; members are a, b, c, d/],
    [["-data-dir", data, "-node-id", "b", "-keep", "a", "-confirm"], /which is not among the members to keep/],
  ] as const) {
    const { status, err } = await recover(args);
    assert.equal(status, 1, err);
    assert.match(err, message);
  }
});
