// tier: all
/**
 * A writer interrupted before, or during, each single step of its file changes: the continued trail verifies against
 * every witnessed head, without a gap or fork, and has all acknowledged records.
 *
 * `test/e2e/audit` does the same to processes.
 */

import assert from "node:assert/strict";
import { closeSync, cpSync, openSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { openWriter } from "../../../src/server/audit/audit-writer.ts";
import { eventText } from "../../../src/server/audit/fit-event.ts";
import type { AuditHead, WitnessedHead } from "../../../src/server/audit/index.ts";
import { quickFolder } from "./support/folder.ts";
import { interceptFiles } from "./support/intercept-files.ts";
import { AT, found, verifyChunks } from "./support/trails.ts";

const folder = quickFolder("audit-steps-");
after(() => rmSync(folder, { recursive: true }));

/** Knowledge outside the directory. */
interface OutsideKnowledge {
  /** Newest head of each chain, in chain order. */
  readonly heads: Map<string, AuditHead>;
  readonly promised: Set<string>;
}

interface Life {
  readonly name: string;
  readonly start: string;
  readonly outside: OutsideKnowledge;
  /** The call at which it is interrupted, from 1. */
  readonly crashAt?: number;
  readonly isHalf?: boolean;
}

/** Opens, records two events and closes. Returns true if it finished. */
async function live({
  name,
  start,
  outside,
  crashAt = Number.POSITIVE_INFINITY,
  isHalf = false,
}: Life): Promise<boolean> {
  const fd = openSync(join(folder, `${name}.output`), "a");
  const ids = [`${start}-1`, `${start}-2`];
  let calls = 0;
  const restore = interceptFiles((writePart) => {
    calls += 1;
    if (calls < crashAt) return;
    if (calls === crashAt && isHalf) writePart();
    throw new Error("cut off");
  });
  try {
    const writer = await openWriter(
      {
        nodeId: "n1",
        dir: join(folder, name),
        fd,
        process: { version: "0.0.0", pid: 1 },
        witnessed: [...outside.heads.values()].at(-1),
        now: AT,
      },
      (message) => {
        if (message.kind === "emitted") outside.heads.set(message.head.kid, message.head);
        if (message.kind === "journaled") for (const id of ids.slice(0, message.events)) outside.promised.add(id);
      },
      () => undefined,
    );
    writer.append(
      ids.map((id) => eventText({ event: "admin.write", data: { id } })),
      ids.map(() => AT),
      true,
    );
    return (await writer.close(AT, 0)) === 0;
  } catch {
    return false;
  } finally {
    restore();
    closeSync(fd);
  }
}

async function judge(name: string, outside: OutsideKnowledge, what: string): Promise<void> {
  const output = readFileSync(join(folder, `${name}.output`));
  const heads: WitnessedHead[] = [...outside.heads.values()].map((head) => ({ node: "n1", ...head }));
  assert.deepEqual(found(await verifyChunks([output], { heads })), [], what);
  const text = output.toString();
  for (const id of outside.promised) assert.ok(text.includes(`"id":"${id}"`), `${what}: ${id} was promised`);
}

const copyOf = ({ heads, promised }: OutsideKnowledge): OutsideKnowledge => ({
  heads: new Map(heads),
  promised: new Set(promised),
});

function copyFiles(from: string, to: string): void {
  cpSync(join(folder, `${from}.output`), join(folder, `${to}.output`));
  cpSync(join(folder, from), join(folder, to), { recursive: true });
}

async function liveWell(name: string, start: string, outside: OutsideKnowledge): Promise<void> {
  assert.equal(await live({ name, start, outside }), true, `${name}: ${start}`);
}

const situations: readonly {
  readonly what: string;
  prepare(name: string, outside: OutsideKnowledge): Promise<void>;
}[] = [
  { what: "the first start", prepare: async () => undefined },
  { what: "a start that continues a chain", prepare: (name, outside) => liveWell(name, "before", outside) },
  {
    what: "a start without its journal",
    async prepare(name, outside) {
      await liveWell(name, "before", outside);
      rmSync(join(folder, name, "audit-head"));
    },
  },
  {
    what: "a start on an older copy of its directory",
    async prepare(name, outside) {
      await liveWell(name, "before", outside);
      cpSync(join(folder, name), join(folder, `${name}-copy`), { recursive: true });
      await liveWell(name, "between", outside);
      rmSync(join(folder, name), { recursive: true });
      cpSync(join(folder, `${name}-copy`), join(folder, name), { recursive: true });
    },
  },
];

for (const { what, prepare } of situations) {
  test(`${what}, interrupted at any of its steps, is resumed`, async () => {
    const model = what.replaceAll(" ", "-");
    const known: OutsideKnowledge = { heads: new Map(), promised: new Set() };
    closeSync(openSync(join(folder, `${model}.output`), "a"));
    await prepare(model, known);
    let crashAt = 1;
    for (let isOver = false; !isOver; crashAt += 1) {
      for (const isHalf of [false, true]) {
        const name = `${model}-${crashAt}${isHalf ? "-half" : ""}`;
        if (known.heads.size > 0) copyFiles(model, name);
        const outside = copyOf(known);
        isOver = await live({ name, start: "crashed", outside, crashAt, isHalf });
        await liveWell(name, "again", outside);
        await judge(name, outside, name);
        // Starts once more, since a start may leave behind what breaks the next one.
        await liveWell(name, "later", outside);
        await judge(name, outside, name);
      }
    }
    assert.ok(crashAt > 10, `${crashAt} steps`);
  });
}
