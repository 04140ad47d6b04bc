/**
 * `node --import tsx test/e2e/audit/kill-steps.ts`: kills a process before, or during, each single call that changes
 * its files. The tests of `src/server/audit` do the same in one process, and faster.
 */

import assert from "node:assert/strict";
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { quickFolder } from "../../server/audit/support/folder.ts";
import type { ChildJob } from "./support/append-child.ts";
import { compileChild, endOf } from "./support/child.ts";
import { judge } from "./support/judge.ts";

const folder = quickFolder("audit-crash-");
const program = await compileChild(join(folder, "program"));

function jobIn(name: string, start: string, records: number): ChildJob {
  const at = (file: string): string => join(folder, name, file);
  return {
    dir: at("audit"),
    output: at("output"),
    heads: at("heads"),
    journaled: at("journaled"),
    name: start,
    records,
  };
}

/** Situations at the crash: a directory, and a setup that makes the start do more than continue. */
const situations = [
  { what: "the first start", prepare: async (name: string) => void mkdirSync(join(folder, name)), least: 12 },
  { what: "a start that goes on", prepare: startedOnce, least: 8 },
  {
    what: "a start without its journal",
    async prepare(name: string) {
      await startedOnce(name);
      rmSync(join(folder, name, "audit", "audit-head"));
    },
    least: 12,
  },
  { what: "a start on an older copy of its directory", prepare: restored, least: 12 },
] as const;

async function startedOnce(name: string): Promise<void> {
  mkdirSync(join(folder, name));
  const { status, stderr } = await endOf(program.start(jobIn(name, "before", 3)));
  assert.equal(status, 0, stderr);
}

async function restored(name: string): Promise<void> {
  await startedOnce(name);
  const { dir } = jobIn(name, "", 0);
  cpSync(dir, `${dir}-copy`, { recursive: true });
  assert.equal((await endOf(program.start(jobIn(name, "between", 3)))).status, 0);
  rmSync(dir, { recursive: true });
  cpSync(`${dir}-copy`, dir, { recursive: true });
}

for (const { what, prepare, least } of situations) {
  {
    const model = `${what.replaceAll(" ", "-")}-model`;
    await prepare(model);
    let steps = 0;
    for (let isOver = false; !isOver; steps += 1) {
      for (const mode of ["", ":half"]) {
        const name = `${model}-${steps}${mode === "" ? "" : "-half"}`;
        cpSync(join(folder, model), join(folder, name), { recursive: true });
        const first = await endOf(program.start(jobIn(name, "crashed", 2), `${steps + 1}${mode}`));
        isOver = first.signal !== "SIGKILL";
        assert.ok(!isOver || first.status === 0, first.stderr);
        const again = await endOf(program.start(jobIn(name, "again", 2)));
        assert.equal(again.status, 0, `${name}: ${again.stderr}`);
        const { report, lost } = await judge(jobIn(name, "", 0));
        assert.deepEqual(report.findings, [], name);
        assert.deepEqual(lost, [], name);
        rmSync(join(folder, name), { recursive: true });
      }
    }
    assert.ok(steps > least, `${steps} steps`);
    process.stdout.write(`${what}: killed at each of ${steps - 1} steps, twice, and gone on from\n`);
  }
}
rmSync(folder, { recursive: true });
