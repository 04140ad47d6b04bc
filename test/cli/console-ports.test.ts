/** The console's use of this machine: its files belong to the operator alone, and nothing is overwritten. */

import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createPorts } from "../../src/cli/console-ports.ts";
import type { ConsolePorts } from "../../src/console/index.ts";
import { listenLocally } from "../e2e/support/ports.ts";
import { atEnd, type Owner } from "../e2e/support/wait.ts";
import { bufferIo } from "./buffer-io.ts";

const never = new AbortController().signal;
const once = { signal: never, replaces: false };

interface Machine {
  readonly folder: string;
  readonly ports: ConsolePorts;
}

async function machine(owner: Owner): Promise<Machine> {
  const folder = await mkdtemp(join(tmpdir(), "ports-"));
  atEnd(owner, () => rm(folder, { recursive: true }));
  return {
    folder,
    ports: createPorts(bufferIo({ cwd: folder, env: { HOME: folder, XDG_STATE_HOME: join(folder, "state") } })),
  };
}

const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8);

test("preferences are readable by the user alone and are restored", async (t) => {
  const { folder, ports } = await machine(t);
  await ports.memory.save("history", () => "SELECT 1;\n");
  assert.equal(await ports.memory.load("history"), "SELECT 1;\n");
  assert.equal(await modeOf(join(folder, "state", "gateway", "console")), "700");
  assert.equal(await modeOf(join(folder, "state", "gateway", "console", "history")), "600");
});

test("preferences are replaced atomically, without leftover parts", async (t) => {
  const { folder, ports } = await machine(t);
  await ports.memory.save("statements", () => "a long one");
  await ports.memory.save("statements", () => "b");
  assert.equal(await ports.memory.load("statements"), "b");
  assert.deepEqual(await readdir(join(folder, "state", "gateway", "console")), ["statements"]);
});

test("of concurrent saves the last one stays", async (t) => {
  const { ports } = await machine(t);
  const texts = Array.from({ length: 20 }, (_, at) => String(at).repeat(1 + ((at * 7_919) % 50_000)));
  await Promise.all(texts.map((text) => ports.memory.save("history", () => text)));
  assert.ok((await ports.memory.load("history")) === texts.at(-1));
});

test("preferences of two consoles are merged, one save after the other", async (t) => {
  const { folder, ports } = await machine(t);
  const other = createPorts(bufferIo({ env: { XDG_STATE_HOME: join(folder, "state") } }));
  await ports.memory.save("history", (kept) => `${kept}a`);
  await other.memory.save("history", (kept) => `${kept}b`);
  await Promise.all(["c", "d", "e"].map((text) => ports.memory.save("history", (kept) => kept + text)));
  assert.equal(await other.memory.load("history"), "abcde");
});

test("missing preferences, too large ones and an unwritable place are no error", async (t) => {
  const { folder, ports } = await machine(t);
  assert.equal(await ports.memory.load("history"), "");
  await mkdir(join(folder, "state", "gateway", "console"), { recursive: true });
  await writeFile(join(folder, "state", "gateway", "console", "history"), "a".repeat((1 << 20) + 1));
  assert.equal(await ports.memory.load("history"), "");
  await ports.memory.save("history", (kept) => `${kept}a`);
  const { size } = await stat(join(folder, "state", "gateway", "console", "history"));
  assert.equal(size, (1 << 20) + 1, "what could not be read is not written over");
  await writeFile(join(folder, "no-folder"), "");
  const nowhere = createPorts(bufferIo({ env: { XDG_STATE_HOME: join(folder, "no-folder") } }));
  await nowhere.memory.save("history", () => "a");
  assert.equal(await nowhere.memory.load("history"), "");
});

test("a text is saved relative to the working directory, for this user alone", async (t) => {
  const { folder, ports } = await machine(t);
  const path = join(folder, "a.json");
  assert.deepEqual(await ports.saveText("a.json", "[]\n", once), { kind: "saved", path });
  assert.equal(await readFile(join(folder, "a.json"), "utf8"), "[]\n");
  assert.equal(await modeOf(join(folder, "a.json")), "600");
});

test("an existing file is not overwritten, by a text or by a snapshot", async (t) => {
  const { folder, ports } = await machine(t);
  await writeFile(join(folder, "a"), "mine");
  assert.deepEqual(await ports.saveText("a", "other", once), { kind: "exists", path: join(folder, "a") });
  const address = { kind: "socket", path: join(folder, "no.sock") } as const;
  await assert.rejects(
    ports.saveSnapshot(address, "a", { isStale: false, signal: never, onProgress: () => {} }),
    /a exists already; name another file/,
  );
  assert.equal(await readFile(join(folder, "a"), "utf8"), "mine");
});

test("an existing file is replaced after confirmation, and ~ is the user's home", async (t) => {
  const { folder, ports } = await machine(t);
  const saved = await ports.saveText("~/a.csv", "one", once);
  assert.deepEqual(saved, { kind: "saved", path: join(folder, "a.csv") });
  await ports.saveText("~/a.csv", "two", { ...once, replaces: true });
  assert.equal(await readFile(join(folder, "a.csv"), "utf8"), "two");
  assert.deepEqual(await readdir(folder), ["a.csv"]);
});

test("a save without a gateway leaves no file", async (t) => {
  const { folder, ports } = await machine(t);
  const address = { kind: "socket", path: join(folder, "no.sock") } as const;
  await assert.rejects(ports.saveSnapshot(address, "a.tgz", { isStale: false, signal: never, onProgress: () => {} }));
  assert.deepEqual(await readdir(folder), []);
});

test("nothing is saved once the console ends", async (t) => {
  const { folder, ports } = await machine(t);
  await assert.rejects(ports.saveText("a", "b", { ...once, signal: AbortSignal.abort() }));
  assert.deepEqual(await readdir(folder), []);
});

test("a document is read in full, up to the gateway's limit", async (t) => {
  const { folder, ports } = await machine(t);
  await writeFile(join(folder, "a.yaml"), "version: 1\n");
  assert.equal(await ports.readDocument("a.yaml", never), "version: 1\n");
  await writeFile(join(folder, "long.yaml"), "a".repeat((4 << 20) + 1));
  await assert.rejects(ports.readDocument("long.yaml", never), /long\.yaml is over 4/);
  await assert.rejects(ports.readDocument("none.yaml", never), /none\.yaml cannot be read: there is no such file/);
  await assert.rejects(ports.readDocument(".", never), /is not a file/);
});

test("an unreadable document is reported", { skip: process.getuid?.() === 0 }, async (t) => {
  const { folder, ports } = await machine(t);
  await writeFile(join(folder, "a.yaml"), "version: 1\n");
  await chmod(join(folder, "a.yaml"), 0o000);
  await assert.rejects(ports.readDocument("a.yaml", never), /EACCES/);
});

async function pageOf(owner: Owner, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  const port = await listenLocally(server);
  atEnd(owner, () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${port}/metrics`;
}

test("a metrics page is read as text", async (t) => {
  const { ports } = await machine(t);
  const url = await pageOf(t, (_, response) => response.end("requests 1\n"));
  assert.equal(await ports.scrape(url, never), "requests 1\n");
});

test("an endless page is read up to its limit and given up", async (t) => {
  const { ports } = await machine(t);
  const url = await pageOf(t, (_, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write("a".repeat(1 << 16)));
      if (!response.destroyed) response.once("drain", more);
    };
    more();
  });
  await assert.rejects(ports.scrape(url, never), /answers more than 8/);
});

test("an answer that is not a page is refused by its status", async (t) => {
  const { ports } = await machine(t);
  const url = await pageOf(t, (_, response) => response.writeHead(404).end("nothing here"));
  await assert.rejects(ports.scrape(url, never), /answered 404/);
});

test("a scrape ends with its signal or after five seconds", async (t) => {
  const { ports } = await machine(t);
  const stop = new AbortController();
  const url = await pageOf(t, () => stop.abort());
  await assert.rejects(ports.scrape(url, stop.signal), { name: "AbortError" });
  await assert.rejects(ports.scrape(url, never), { name: "TimeoutError" });
});

test("a trail that does not verify is reported without control characters, with progress", async (t) => {
  const { folder, ports } = await machine(t);
  await writeFile(join(folder, "a.jsonl"), "no record\u001b[2J\n");
  const report = await ports.verifyAudit("a.jsonl", { signal: never, onProgress: () => {} });
  assert.equal(report.isGood, false);
  const text = report.lines.map((line) => line.map((span) => span.text).join("")).join("\n");
  assert.notEqual(text, "");
  assert.doesNotMatch(text, /\u001b/);
});

test("a missing file to verify or restore is named", async (t) => {
  const { folder, ports } = await machine(t);
  const options = { signal: never, onProgress: () => {} };
  await assert.rejects(ports.verifyAudit("none", options), /none/);
  const address = { kind: "socket", path: join(folder, "no.sock") } as const;
  await assert.rejects(ports.restoreSnapshot(address, "none", options), /none/);
});

test("paths are completed like in a shell: by prefix, folders with a slash, hidden ones after a dot", async (t) => {
  const { folder, ports } = await machine(t);
  await mkdir(join(folder, "deploy"));
  await Promise.all(
    ["deploy/a.yaml", "deploy/b.yaml", "deploy.yaml", ".hidden"].map((name) => writeFile(join(folder, name), "")),
  );
  await symlink(join(folder, "deploy"), join(folder, "link"));
  const complete = (text: string) => ports.completePath(text, never);
  assert.deepEqual(await complete("dep"), ["deploy.yaml", "deploy/"]);
  assert.deepEqual(await complete("deploy/"), ["deploy/a.yaml", "deploy/b.yaml"]);
  assert.deepEqual(await complete("./deploy/a"), ["./deploy/a.yaml"]);
  assert.deepEqual(await complete(`${folder}/.h`), [`${folder}/.hidden`]);
  assert.deepEqual(await complete("li"), ["link/"]);
  assert.ok(!(await complete("")).includes(".hidden"));
  for (const none of ["no/such/", "deploy.yaml/", "zz", "\u0000"]) assert.deepEqual(await complete(none), [], none);
});
