// tier: all
/** Outputs that do not accept data: a full pipe, a reader that disconnects, a full disk. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  closeSync,
  constants,
  createReadStream,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { MAX_RECORD_BYTES } from "../../../src/server/audit/index.ts";
import { openOutput } from "../../../src/server/audit/output.ts";
import { atEnd, eventually, within } from "../../e2e/support/wait.ts";
import { open, type Place, place, readingOf } from "./support/open-trail.ts";
import { found, makeTrail, textOf, verifyChunks } from "./support/trails.ts";

interface Pipe {
  readonly path: string;
  readonly readFd: number;
  readonly writeFd: number;
}

/** A pipe with both ends open; neither end knows how the other reads or writes. */
function pipe(context: TestContext, at: Place): Pipe {
  const path = join(at.folder, "pipe");
  execFileSync("mkfifo", [path]);
  const readFd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writeFd = openSync(path, constants.O_WRONLY);
  atEnd(context, () => {
    closeSync(readFd);
    closeSync(writeFd);
  });
  return { path, readFd, writeFd };
}

/** Returns the current content of the pipe. */
function drain({ readFd }: Pipe): string {
  const chunk = Buffer.alloc(1 << 16);
  let text = "";
  try {
    for (let bytes = 1; bytes > 0; text += chunk.toString("utf8", 0, bytes)) bytes = readSync(readFd, chunk);
  } catch (error) {
    assert.equal((error as { code?: string }).code, "EAGAIN");
  }
  return text;
}

test("a full pipe blocks nobody: lines count once they are written, and none is torn", (context) => {
  const pipeEnd = pipe(context, place(context));
  const { lines } = makeTrail({ records: 400 });
  const waiting = lines.map((line) => ({ line }));
  const output = openOutput(pipeEnd.writeFd);
  let text = "";
  let at = 0;
  let blocks = 0;
  while (at < waiting.length) {
    const outcome = output.write(waiting.slice(at));
    const taken = drain(pipeEnd);
    assert.ok(taken.endsWith("\n"));
    text += taken;
    if (outcome.kind === "written") break;
    assert.equal(outcome.kind, "blocked");
    if (outcome.kind === "blocked") at += outcome.count;
    blocks += 1;
  }
  assert.ok(blocks > 1);
  assert.equal(text, textOf(lines));
  output.close();
});

test("writes to a pipe are at most its atomic size, whichever processes share it", (context) => {
  const pipeEnd = pipe(context, place(context));
  const { lines } = makeTrail({ records: 40 });
  const output = openOutput(pipeEnd.writeFd);
  output.write(lines.map((line) => ({ line })));
  const whole = Buffer.byteLength(textOf(lines));
  assert.ok(whole > MAX_RECORD_BYTES);
  assert.equal(drain(pipeEnd), textOf(lines));
  output.close();
});

test("a closed reader is reported as such, and a later reader gets whole lines", (context) => {
  const at = place(context);
  const path = join(at.folder, "named");
  execFileSync("mkfifo", [path]);
  const first = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writeFd = openSync(path, constants.O_WRONLY);
  const output = openOutput(writeFd);
  closeSync(first);
  assert.deepEqual(output.write([{ line: "a" }]), { kind: "gone", code: "EPIPE" });
  const second = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  assert.deepEqual(output.write([{ line: "b" }]), { kind: "written" });
  assert.equal(drain({ path, readFd: second, writeFd }), "\nb\n");
  output.close();
  for (const fd of [second, writeFd]) closeSync(fd);
});

test("a stalled reader fills the queue; accepted records are written once it reads", async (context) => {
  const at = place(context);
  const pipeEnd = pipe(context, at);
  const { trail, instruments, logged } = await open(context, { dir: at.dir, fd: pipeEnd.writeFd });
  const text = "x".repeat(3_000);
  let taken = 0;
  const fill = async (): Promise<unknown> => {
    for (;;) {
      try {
        trail.append({ event: "access.decision", data: { n: taken, text } });
        taken += 1;
      } catch (error) {
        return error;
      }
      if (taken % 500 === 0) await turn();
    }
  };
  const error = await fill();
  assert.equal((error as { code?: string }).code, "audit_unavailable");
  assert.ok(taken > 15_000, `${taken} records`);
  assert.throws(() => trail.reserve(), { code: "audit_unavailable" });
  await eventually("a word on it", () => logged.some(({ message }) => /is waiting for its output/.test(message)));

  const stream = createReadStream(pipeEnd.path, { flags: "r" });
  const chunks: Uint8Array[] = [];
  stream.on("data", (chunk) => chunks.push(Buffer.from(chunk)));
  await eventually("room in the queue", () => readingOf(instruments, "gateway_audit_queue_bytes") === 0, 30_000);
  trail.append({ event: "access.decision", data: { n: taken } });
  await trail.close();
  const last = trail.head;
  await eventually("the last record", () => chunks.at(-1)?.toString().includes(`"hash":"${last?.hash}"`));
  stream.destroy();
  const report = await verifyChunks(chunks, { heads: [{ node: "n1", ...(last ?? assert.fail()) }] });
  assert.deepEqual(found(report), []);
  assert.equal(report.chains[0]?.records, taken + 3);
});

test("a close with a stalled reader ends, and the next start emits the rest", async (context) => {
  const at = place(context);
  const pipeEnd = pipe(context, at);
  const { trail, logged } = await open(context, { dir: at.dir, fd: pipeEnd.writeFd });
  for (let n = 0; n < 200; n += 1) trail.append({ event: "access.decision", data: { n, text: "x".repeat(2_000) } });
  await within("the close", trail.close(), 14_000);
  assert.ok(logged.some(({ message }) => /the next start writes them/.test(message)));
  const before = drain(pipeEnd);
  const next = await open(context, at);
  await next.trail.close();
  const report = await verifyChunks([before, at.text()]);
  assert.deepEqual(report.findings, []);
  assert.equal(report.chains[0]?.records, 204);
});

test("a closed reader does not stop the trail: it is counted and logged once", async (context) => {
  const at = place(context);
  const path = join(at.folder, "pipe");
  execFileSync("mkfifo", [path]);
  const readFd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writeFd = openSync(path, constants.O_WRONLY);
  atEnd(context, () => closeSync(writeFd));
  const { trail, instruments, logged } = await open(context, { dir: at.dir, fd: writeFd });
  await eventually("the first record", () => trail.head !== undefined);
  closeSync(readFd);
  for (let n = 0; n < 3; n += 1) {
    await trail.reserve().record({ event: "admin.write", data: { n } });
    await eventually("its emission", () => trail.head?.seq === n + 1);
  }
  await trail.close();
  assert.equal(readingOf(instruments, "gateway_audit_unread_total"), 4);
  assert.equal(logged.filter(({ message }) => /nobody reads/.test(message)).length, 1);
  assert.match(readFileSync(join(at.dir, "audit-head"), "utf8"), /{"acknowledged":4}\n$/);
});

/** A file system of 256 KiB, or `undefined` if this user may not mount one. */
function smallDisk(context: TestContext, at: Place): string | undefined {
  const path = join(at.folder, "disk");
  mkdirSync(path);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", path], { stdio: "ignore" });
  } catch {
    return undefined;
  }
  atEnd(context, () => execFileSync("umount", [path]));
  return path;
}

test("a full disk under the journal ends the trail: it logs this and refuses records from then on", async (context) => {
  const at = place(context);
  const disk = smallDisk(context, at);
  if (disk === undefined) return context.skip("needs the right to mount");
  const dir = join(disk, "audit");
  writeFileSync(join(disk, "ballast"), Buffer.alloc(100 * 1024));
  const { trail } = await open(context, { dir, fd: at.fd });
  const fill = async (): Promise<void> => {
    for (let n = 0; n < 1_000; n += 1) {
      await trail.reserve().record({ event: "admin.write", data: { n, text: "x".repeat(3_000) } });
    }
  };
  await assert.rejects(fill(), { code: "audit_unavailable" });
  const error = await within("the end", trail.ended);
  assert.equal(error.name, "AuditError");
  assert.match(error.message, /audit-head: ENOSPC; free space on that disk/);
  assert.throws(() => trail.append({ event: "admin.write", data: {} }), { code: "audit_unavailable" });
  await trail.close();
  rmSync(join(disk, "ballast"));
  const roomy = await open(context, { dir, fd: at.fd });
  await roomy.trail.close();
  assert.deepEqual(found(await verifyChunks([at.text()])), []);
});

test("a full disk under the output delays records, which are written whole when there is room", async (context) => {
  const at = place(context);
  const disk = smallDisk(context, at);
  if (disk === undefined) return context.skip("needs the right to mount");
  writeFileSync(join(disk, "ballast"), Buffer.alloc(200 * 1024));
  const output = join(disk, "output");
  const fd = openSync(output, "a");
  const { trail, logged } = await open(context, { dir: at.dir, fd });
  for (let n = 0; n < 40; n += 1) {
    await trail.reserve().record({ event: "admin.write", data: { n, text: "x".repeat(3_000) } });
  }
  await eventually("a word on it", () => logged.some(({ fields }) => fields["code"] === "ENOSPC"));
  rmSync(join(disk, "ballast"));
  await trail.close();
  const report = await verifyChunks([readFileSync(output)]);
  closeSync(fd);
  assert.deepEqual(report.findings, []);
  assert.equal(report.chains[0]?.records, 42);
});
