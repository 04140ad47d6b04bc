/** `gateway snapshot save` and `restore`: files on the disk after a transfer, and after a broken one. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, readFile, stat, symlink, utimes, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { ARCHIVE_TYPE } from "../../../src/admin-api/index.ts";
import { execute } from "../../../src/cli/main.ts";
import { Interrupted } from "../../../src/cli/process-io.ts";
import { type BufferIo, bufferIo } from "../buffer-io.ts";
import { json, refusal, standIn } from "../fake-gateway.ts";

const ARCHIVE = gzipSync("state ".repeat(1_000), { level: 0 });
const OLD = gzipSync("old");
const HEADERS = { "content-type": ARCHIVE_TYPE, "x-gateway-index": "41", "x-gateway-term": "3" };

const answered = (response: ServerResponse): void => void response.writeHead(200, HEADERS).end(ARCHIVE);

/** Sends a part, and then calls `then`. */
const part = (response: ServerResponse, then: () => void): void => {
  response.writeHead(200, HEADERS).write(ARCHIVE.subarray(0, 100), then);
};

const save = (io: BufferIo, ...args: readonly string[]) => execute(["snapshot", "save", ...args], io);
const restore = (io: BufferIo, ...args: readonly string[]) => execute(["snapshot", "restore", ...args], io);

test("an archive is saved complete, for its owner alone, and described", async (t) => {
  const { socket, directory, requests } = await standIn(t, (_asked, response) => answered(response));
  const io = bufferIo({ cwd: directory });
  assert.equal(await save(io, "-socket", socket, "a.tgz"), 0);
  const path = join(directory, "a.tgz");
  assert.deepEqual(await readFile(path), ARCHIVE);
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  assert.deepEqual([io.out(), io.err()], ["", "saved a.tgz: index 41, term 3, 6.02 kB\n"]);
  assert.equal(await save(bufferIo({ cwd: directory }), "-socket", socket, "-stale", "a.tgz"), 0);
  assert.deepEqual(
    requests.map(({ url }) => url),
    ["/admin/v1/snapshot", "/admin/v1/snapshot?stale=true"],
  );
  assert.deepEqual((await readdir(directory)).sort(), ["a.tgz", "s"]);
});

test("an archive of the same name is replaced and reported, an empty file is filled, and another file is kept", async (t) => {
  const { socket, directory, requests } = await standIn(t, (_asked, response) => answered(response));
  const [archive, empty, document] = ["a.tgz", "empty", "deployment.yaml"].map((name) => join(directory, name));
  assert.ok(archive !== undefined && empty !== undefined && document !== undefined);
  await writeFile(archive, OLD);
  const yesterday = new Date("2026-11-28T02:30:00Z");
  await utimes(archive, yesterday, yesterday);
  await writeFile(empty, "");
  await writeFile(document, "providers: []\n");
  const saveMessage = async (name: string, status: number): Promise<string> => {
    const io = bufferIo({ cwd: directory });
    assert.equal(await save(io, "-socket", socket, name), status);
    return io.err();
  };
  const replaced = "; it replaced the archive of 2026-11-28T02:30:00Z";
  assert.equal(await saveMessage("a.tgz", 0), `saved a.tgz: index 41, term 3, 6.02 kB${replaced}\n`);
  assert.equal(await saveMessage("empty", 0), "saved empty: index 41, term 3, 6.02 kB\n");
  assert.deepEqual([await readFile(archive), await readFile(empty)], [ARCHIVE, ARCHIVE]);
  assert.match(
    await saveMessage("deployment.yaml", 2),
    /'deployment\.yaml' exists and is not a snapshot archive; name another file\n/,
  );
  assert.equal(await readFile(document, "utf8"), "providers: []\n");
  assert.equal(requests.length, 2);
});

test("a download that breaks off keeps the existing file and leaves nothing else", async (t) => {
  const { socket, directory } = await standIn(t, (_asked, response) => part(response, () => response.destroy()));
  await writeFile(join(directory, "old.tgz"), OLD);
  for (const name of ["old.tgz", "new.tgz"]) {
    const io = bufferIo({ cwd: directory });
    assert.equal(await save(io, "-socket", socket, name), 3);
    assert.match(io.err(), /^gateway snapshot save: cannot reach .*: the connection ended unexpectedly\n/);
  }
  assert.deepEqual(await readFile(join(directory, "old.tgz")), OLD);
  assert.deepEqual((await readdir(directory)).sort(), ["old.tgz", "s"]);
});

test("an interrupt midway leaves nothing", async (t) => {
  const stop = new AbortController();
  const { socket, directory } = await standIn(t, (_asked, response) =>
    part(response, () => stop.abort(new Interrupted("SIGINT"))),
  );
  const io = bufferIo({ cwd: directory, signal: stop.signal });
  assert.equal(await save(io, "-socket", socket, "a.tgz"), 130);
  assert.equal(io.err(), "");
  assert.deepEqual(await readdir(directory), ["s"]);
});

for (const [title, answer] of [
  [
    "a page of a proxy",
    (response: ServerResponse) => response.writeHead(200, { "content-type": "text/html" }).end("<p>"),
  ],
  ["JSON", (response: ServerResponse) => json(response, 200, {})],
] as const) {
  test(`${title} is not an archive and is not kept`, async (t) => {
    const { socket, directory } = await standIn(t, (_asked, response) => void answer(response));
    const io = bufferIo({ cwd: directory });
    assert.equal(await save(io, "-socket", socket, "a.tgz"), 1);
    assert.match(io.err(), /The answer \(200\) is not an archive/);
    assert.deepEqual(await readdir(directory), ["s"]);
  });
}

test("a follower's refusal is printed with the option that avoids it, unless that was given", async (t) => {
  const { socket, directory } = await standIn(t, (_asked, response) =>
    json(response, 503, refusal("no_leader", "This node does not lead.")),
  );
  const io = bufferIo({ cwd: directory });
  assert.equal(await save(io, "-socket", socket, "a.tgz"), 1);
  assert.match(io.err(), /^gateway snapshot save: 503 no_leader: This node does not lead\.\n.*try: -stale/s);
  const stale = bufferIo({ cwd: directory });
  assert.equal(await save(stale, "-socket", socket, "-stale", "a.tgz"), 1);
  assert.doesNotMatch(stale.err(), /-stale/);
});

test("an archive goes to stdout, and not to a terminal", async (t) => {
  const { socket, requests } = await standIn(t, (_asked, response) => answered(response));
  const chunks: Buffer[] = [];
  const stdout = new Writable({
    highWaterMark: 1,
    write(chunk, _encoding, done) {
      chunks.push(chunk);
      setImmediate(done);
    },
  });
  const io = { ...bufferIo(), stdout };
  assert.equal(await execute(["snapshot", "save", "-socket", socket, "-"], io), 0);
  assert.deepEqual(Buffer.concat(chunks), ARCHIVE);
  const shown = bufferIo({ isTerminal: (stream) => stream === "stdout" });
  assert.equal(await save(shown, "-socket", socket, "-"), 2);
  assert.match(shown.err(), /an archive cannot be printed to a terminal/);
  assert.equal(requests.length, 1);
});

test("a link is written through, a device is written to, and a directory or a missing folder is refused", async (t) => {
  const { socket, directory, requests } = await standIn(t, (_asked, response) => answered(response));
  await writeFile(join(directory, "real.tgz"), OLD);
  await symlink("real.tgz", join(directory, "link.tgz"));
  assert.equal(await save(bufferIo({ cwd: directory }), "-socket", socket, "link.tgz"), 0);
  assert.deepEqual(await readFile(join(directory, "real.tgz")), ARCHIVE);
  assert.equal(await save(bufferIo(), "-socket", socket, "/dev/null"), 0);
  assert.ok((await stat("/dev/null")).isCharacterDevice());
  for (const [name, error] of [
    [".", /is a directory/],
    ["no/such/a.tgz", /there is no directory .*no\/such/],
    ["", /the name of the file is empty/],
  ] as const) {
    const io = bufferIo({ cwd: directory });
    assert.equal(await save(io, "-socket", socket, name), 2);
    assert.match(io.err(), error);
  }
  assert.equal(requests.length, 2);
});

test("progress is one rewritten terminal line that disappears", async (t) => {
  const { socket, directory } = await standIn(t, (_asked, response) => answered(response));
  let now = 0;
  const io = bufferIo({
    cwd: directory,
    isTerminal: (stream) => stream === "stderr",
    now: () => {
      now += 1_000;
      return now;
    },
  });
  assert.equal(await save(io, "-socket", socket, "a.tgz"), 0);
  assert.match(io.err(), /^(\r\u001b\[Ksaved [\d.]+ k?B)+\r\u001b\[Ksaved a\.tgz: index 41, term 3, 6\.02 kB\n$/);
});

const RESTORED = { index: 41, term: 3, size: 6_000 };

test("an archive is restored from a file or stdin, and described", async (t) => {
  const { socket, directory, requests } = await standIn(t, (_asked, response) => json(response, 200, RESTORED));
  await writeFile(join(directory, "a.tgz"), ARCHIVE);
  for (const name of ["a.tgz", "-"]) {
    const io = bufferIo({ cwd: directory, stdin: Readable.from([ARCHIVE.subarray(0, 9), ARCHIVE.subarray(9)]) });
    assert.equal(await restore(io, "-socket", socket, name), 0);
    assert.deepEqual([io.out(), io.err()], ["", `restored ${name}: index 41, term 3, 6.00 kB of state\n`]);
  }
  assert.deepEqual(
    requests.map(({ method, url, type, body }) => [method, url, type, body.length]),
    [0, 1].map(() => ["POST", "/admin/v1/snapshot", ARCHIVE_TYPE, ARCHIVE.toString("utf8").length]),
  );
});

test("names of omitted secrets go to stdout, and instructions for them to stderr", async (t) => {
  let answer: object = {};
  const { socket, directory, requests } = await standIn(t, (_asked, response) => json(response, 200, answer));
  await writeFile(join(directory, "a.tgz"), ARCHIVE);
  for (const [names, certificates, message] of [
    [["a", "b"], ["gw.example"], /Left out 2 sealed secrets: .*secrets put NAME.*\n.*orders again: gw\.example\.\n$/],
    [["only"], [], /Left out 1 sealed secret: .*secrets put NAME'\.\n$/],
    [[], [], /contains no sealed secrets, so none has to be put again\.\n$/],
  ] as const) {
    answer = { ...RESTORED, secrets_left_out: names, certificates_left_out: certificates };
    const io = bufferIo({ cwd: directory });
    assert.equal(await restore(io, "-socket", socket, "-without-secrets", "a.tgz"), 0);
    assert.equal(io.out(), names.map((name) => `${name}\n`).join(""));
    assert.match(io.err(), message);
  }
  assert.deepEqual([...new Set(requests.map(({ url }) => url))], ["/admin/v1/snapshot?without_secrets=true"]);
});

test("data that cannot be an archive is refused before anything is sent", async (t) => {
  const { socket, directory, requests } = await standIn(t, (_asked, response) => json(response, 200, RESTORED));
  await writeFile(join(directory, "text"), "not an archive");
  await writeFile(join(directory, "empty"), "");
  for (const [name, error] of [
    ["text", /'text' is not a snapshot archive/],
    ["empty", /'empty' is not a snapshot archive/],
    ["missing", /'missing' cannot be read: there is no such file/],
    [".", /'\.' is a directory/],
    ["", /the name of the file is empty/],
    ["-", /an archive cannot be typed/],
  ] as const) {
    const io = bufferIo({ cwd: directory, isTerminal: (stream) => stream === "stdin" });
    assert.equal(await restore(io, "-socket", socket, name), 2);
    assert.match(io.err(), error);
  }
  assert.deepEqual(requests, []);
});

test("a refused archive exits with 1; a connection lost after the send leaves the outcome unknown", async (t) => {
  let isBroken = false;
  const { socket, directory } = await standIn(t, (_asked, response) => {
    if (isBroken) response.destroy();
    else json(response, 422, refusal("refused", "The digests do not match."));
  });
  await writeFile(join(directory, "a.tgz"), ARCHIVE);
  const refused = bufferIo({ cwd: directory });
  assert.equal(await restore(refused, "-socket", socket, "a.tgz"), 1);
  assert.equal(refused.err(), "gateway snapshot restore: 422 refused: The digests do not match.\n");
  isBroken = true;
  const broken = bufferIo({ cwd: directory });
  assert.equal(await restore(broken, "-socket", socket, "a.tgz"), 3);
  assert.match(broken.err(), /\nThe archive was sent and may still be restored: before you repeat it, .*\.\n$/);
});

test("an interrupt after the send leaves the outcome unknown, and says so", async (t) => {
  const stop = new AbortController();
  const { socket, directory } = await standIn(t, () => stop.abort(new Interrupted("SIGINT")));
  await writeFile(join(directory, "a.tgz"), ARCHIVE);
  const io = bufferIo({ cwd: directory, signal: stop.signal });
  assert.equal(await restore(io, "-socket", socket, "a.tgz"), 130);
  assert.match(io.err(), /^gateway snapshot restore: interrupted\nThe archive was sent and may still be restored: /);
});

test("an unreachable gateway gets no archive, and no file is created", async () => {
  const io = bufferIo({ cwd: "/tmp" });
  assert.equal(await save(io, "-socket", "/nonexistent/s", "gateway-never-saved.tgz"), 3);
  assert.ok(!existsSync("/tmp/gateway-never-saved.tgz"));
});
