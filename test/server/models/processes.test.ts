// tier: all
/** Several processes with one cache, and real disks that are full or not writable. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { openModelStore } from "../../../src/server/models/index.ts";
import { childArgs } from "../../support/child-program.ts";
import { type Hub, send, sha256 } from "./support/hub.ts";
import { faultOf, filesBelow, folder, hubOf, leftovers, never, storeIn } from "./support/store.ts";

const BYTES = Buffer.alloc(8 << 20, "tokens");
const DIGEST = sha256(BYTES);
const CHILD = childArgs("./support/fetch-child.ts", import.meta.url);

interface FetchProcess {
  readonly child: ChildProcess;
  readonly text: Promise<string>;
}

/** `wrap` is a shell command that ends with its argument. */
function fetching(t: TestContext, hub: Hub, directory: string, wrap = 'exec "$@"'): FetchProcess {
  const args = [...CHILD, `${hub.content}/file`, DIGEST, String(BYTES.length), directory];
  const child = spawn("sh", ["-c", wrap, "sh", process.execPath, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  const chunks: string[] = [];
  child.stdout?.setEncoding("utf8").on("data", (text: string) => chunks.push(text));
  return { child, text: once(child, "close").then(() => chunks.join("")) };
}

/** Serves the file; `hold` decides the outcome of each request. */
async function serving(t: TestContext, hold: Hub["fault"] = () => false): Promise<Hub> {
  const hub = await hubOf(t);
  hub.fault = (seen, answer, request) => hold(seen, answer, request) || send(request, answer, BYTES);
  return hub;
}

const blobIn = (directory: string): string => join(directory, "sha256", DIGEST);

test("of two processes one downloads, and the other uses the result", async (t) => {
  const directory = await folder(t);
  const waiting: (() => void)[] = [];
  const hub = await serving(t, (_seen, answer, request) => {
    waiting.push(() => send(request, answer, BYTES));
    return true;
  });
  const result = [fetching(t, hub, directory), fetching(t, hub, directory)];
  // The download is held until another process, started after it began, is waiting too.
  const until = Date.now() + 60_000;
  while (waiting.length === 0 && Date.now() < until) await new Promise((resolve) => setImmediate(resolve));
  const other = fetching(t, hub, directory);
  await Promise.race([other.text, once(other.child, "spawn")]);
  for (const answer of waiting) answer();
  assert.deepEqual(await Promise.all([...result, other].map(({ text }) => text)), [
    "fetched\n",
    "fetched\n",
    "fetched\n",
  ]);
  assert.equal(hub.seen.length, 1);
  assert.deepEqual(await readFile(blobIn(directory)), BYTES);
  assert.deepEqual(await leftovers(directory), []);
});

test("a process killed midway is noticed, and its partial download is resumed", async (t) => {
  const directory = await folder(t);
  let isFirst = true;
  let begun: (() => void) | undefined;
  const half = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const hub = await serving(t, (_seen, answer) => {
    if (!isFirst) return false;
    isFirst = false;
    answer.writeHead(200, { "content-length": BYTES.length });
    answer.write(BYTES.subarray(0, 4 << 20), () => begun?.());
    return true;
  });
  const first = fetching(t, hub, directory);
  await half;
  const part = async (): Promise<number> => {
    const [path] = (await filesBelow(directory)).filter((name) => name.endsWith(".part"));
    return path === undefined ? 0 : (await readFile(join(directory, path))).length;
  };
  const until = Date.now() + 60_000;
  while ((await part()) < 1 << 20 && Date.now() < until) await new Promise((resolve) => setImmediate(resolve));
  first.child.kill("SIGKILL");
  await first.text;
  assert.ok((await leftovers(directory)).some((path) => path.endsWith(".lock")));

  assert.equal(await fetching(t, hub, directory).text, "fetched\n");
  assert.match(hub.seen.at(-1)?.range ?? "", /^bytes=[1-9]\d+-$/);
  assert.deepEqual(await readFile(blobIn(directory)), BYTES);
  assert.deepEqual(await leftovers(directory), []);
});

/** Stale locks, as they may be in a shared cache. */
test("a stale lock is broken: a local one at once, a remote one after a long time untouched", async (t) => {
  const hub = await serving(t);
  const gone = spawnSync(process.execPath, ["-e", "0"]).pid;
  const locks: readonly [string, string, number][] = [
    ["of a process that is gone", JSON.stringify({ pid: gone, host: hostname(), token: "a" }), 0],
    ["of this process before it restarted", JSON.stringify({ pid: process.pid, host: hostname(), token: "a" }), 0],
    ["of another machine", JSON.stringify({ pid: 1, host: "elsewhere", token: "a" }), 20],
    ["cut off", '{"pid":', 20],
  ];
  for (const [why, text, leastWaits] of locks) {
    const directory = await folder(t);
    await mkdir(join(directory, "locks"), { recursive: true });
    const lock = join(directory, "locks", `${DIGEST}.lock`);
    await writeFile(lock, text);
    // A clock an hour ahead on the other machine changes nothing.
    await utimes(lock, new Date(Date.now() + 3_600_000), new Date(Date.now() + 3_600_000));
    let now = 0;
    const { store, waits } = storeIn(t, directory, { monotonic: () => (now += 1_000) });
    const files = [{ role: "tokenizer", url: `${hub.content}/file`, sha256: DIGEST, size: BYTES.length }] as const;
    await store.ensure(await store.resolve({ name: "own", files }, "text", never()), { signal: never() });
    assert.ok(waits.length >= leastWaits, `${why}: ${waits.length} waits`);
    assert.deepEqual(await leftovers(directory), [], why);
  }
});

test("a file size limit is a disk error and leaves nothing behind", async (t) => {
  const directory = await folder(t);
  const hub = await serving(t);
  // Blocks of 512 bytes: half of the file.
  const result = await fetching(t, hub, directory, 'ulimit -f 8192; exec "$@"').text;
  assert.equal(result, `storage: model own: cache_dir ${directory}: a file may not become so large here\n`);
  assert.deepEqual(await leftovers(directory), []);
  assert.deepEqual(await filesBelow(join(directory, "sha256")), []);
});

/** A file system of its own needs a namespace, which not every machine allows. */
const canMount = spawnSync("unshare", ["-Urm", "sh", "-c", "mount -t tmpfs none /mnt"]).status === 0;
const mounting = { skip: !canMount && "this machine gives no namespace for a mount" };

test(
  "a full disk is reported before any fetch, with both numbers, and also if it fills up later",
  mounting,
  async (t) => {
    const directory = await folder(t);
    const hub = await serving(t);
    const on = (options: string, then: string) =>
      fetching(
        t,
        hub,
        directory,
        `exec unshare -Urm sh -c 'mount -t tmpfs ${options} none "$0" && ${then}' '${directory}' "$@"`,
      ).text;
    const result = await on("-o size=4m", '"$@"');
    assert.match(
      result,
      /^storage: model own: cache_dir .*: \d+ bytes are free, and 8388608 are needed with 67108864 to spare\n$/,
    );
    assert.equal(hub.seen.length, 0);
    // No more files: a disk without inodes, which free bytes do not show.
    const without = await on("-o size=200m,nr_inodes=7", '"$@"; find "$0" -type f');
    assert.match(without, /^storage: model own: cache_dir .*: the disk is full\n$/);
  },
);

test("an unwritable cache is named and still serves its content", mounting, async (t) => {
  const directory = await folder(t);
  const hub = await serving(t);
  const readOnly = (): FetchProcess =>
    fetching(
      t,
      hub,
      directory,
      `exec unshare -Urm sh -c 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && "$@"' '${directory}' "$@"`,
    );
  assert.equal(await readOnly().text, `storage: model own: cache_dir ${directory}: it is read-only\n`);
  assert.equal(await fetching(t, hub, directory).text, "fetched\n");
  hub.seen.length = 0;
  assert.equal(await readOnly().text, "fetched\n");
  assert.equal(hub.seen.length, 0);
});

test("a cache path below a file is not a directory", async (t) => {
  const directory = join(await folder(t), "file");
  await writeFile(directory, "x");
  const hub = await serving(t);
  const store = openModelStore({ directory, userAgent: "t", now: Date.now, monotonic: () => 0 });
  t.after(() => store.close());
  const files = [{ role: "tokenizer", url: `${hub.content}/file`, sha256: DIGEST, size: BYTES.length }] as const;
  const found = await faultOf(
    store.ensure(await store.resolve({ name: "own", files }, "text", never()), { signal: never() }),
  );
  assert.equal(found.fault, "storage");
  assert.match(found.message, /cache_dir .*file: /);
});
