import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { allottedCores, allottedMemoryBytes } from "../../src/base/index.ts";

const CORES = 16;
const GROUPS = "proc/self/cgroup";

const cases: readonly (readonly [name: string, files: Readonly<Record<string, string>>, cores: number])[] = [
  ["no groups", {}, CORES],
  ["a group without a quota", { [GROUPS]: "0::/a\n", "sys/fs/cgroup/a/cpu.max": "max 100000\n" }, CORES],
  ["a unit with two cores and a half", { [GROUPS]: "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "250000 100000\n" }, 3],
  [
    "a slice with less than its unit",
    {
      [GROUPS]: "0::/a/b\n",
      "sys/fs/cgroup/a/cpu.max": "200000 100000\n",
      "sys/fs/cgroup/a/b/cpu.max": "900000 100000\n",
    },
    2,
  ],
  ["a tenth of a core", { [GROUPS]: "0::/\n", "sys/fs/cgroup/cpu.max": "10000 100000\n" }, 1],
  ["more than there is", { [GROUPS]: "0::/\n", "sys/fs/cgroup/cpu.max": "6400000 100000\n" }, CORES],
  [
    "a container, by a path that it cannot see",
    { [GROUPS]: "0::/../x\n", "sys/fs/cgroup/cpu.max": "400000 100000" },
    4,
  ],
  [
    "of version 1",
    {
      [GROUPS]: "5:memory:/a\n4:cpu,cpuacct:/a\n0::/\n",
      "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "150000\n",
      "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "50000\n",
    },
    3,
  ],
  [
    "of version 1, without a quota",
    {
      [GROUPS]: "4:cpu:/\n",
      "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
      "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
    },
    CORES,
  ],
  ["a file with other content", { [GROUPS]: "0::/\nwhat\n", "sys/fs/cgroup/cpu.max": "\0 \0" }, CORES],
];

for (const [name, files, cores] of cases) {
  test(`the core limit is read from ${name}`, (t) => {
    const root = mkdtempSync(join(tmpdir(), "gateway-allotment-"));
    t.after(() => rmSync(root, { recursive: true }));
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    assert.equal(allottedCores(root, CORES), cores);
  });
}

test("this machine's limits are no more than its resources", () => {
  assert.ok(allottedCores() >= 1 && allottedCores() <= availableParallelism());
  assert.ok(allottedMemoryBytes() > 0 && allottedMemoryBytes() <= totalmem());
});
