/** `gateway admin` as typed, with a server that records its requests. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import { ARCHIVE_TYPE } from "../../../src/admin-api/index.ts";
import { execute } from "../../../src/cli/main.ts";
import { Interrupted } from "../../../src/cli/process-io.ts";
import { bufferIo } from "../buffer-io.ts";
import { json, refusal, standIn } from "../fake-gateway.ts";

const TARGETS: readonly (readonly [words: readonly string[], method: string, url: string])[] = [
  [["keys"], "GET", "/admin/v1/keys"],
  [["/keys"], "GET", "/admin/v1/keys"],
  [["/admin/v1/keys"], "GET", "/admin/v1/keys"],
  [["get", "keys?index=3&wait=1s"], "GET", "/admin/v1/keys?index=3&wait=1s"],
  [["DELETE", "suspensions/model:gpt 4 é#1"], "DELETE", "/admin/v1/suspensions/model:gpt%204%20%C3%A9%231"],
  [["DELETE", "keys/a%2Fb"], "DELETE", "/admin/v1/keys/a%2Fb"],
  [["Post", "reload"], "POST", "/admin/v1/reload"],
  [["/healthz"], "GET", "/healthz"],
  [["readyz"], "GET", "/readyz"],
];

for (const [args, method, url] of TARGETS) {
  test(`'gateway admin ${args.join(" ")}' sends ${method} ${url}`, async (t) => {
    const { socket, requests } = await standIn(t, (_asked, response) => json(response, 200, { ok: true }));
    const io = bufferIo();
    assert.equal(await execute(["admin", "-socket", socket, ...args], io), 0);
    assert.deepEqual([requests[0]?.method, requests[0]?.url, requests[0]?.type], [method, url, undefined]);
    assert.equal(io.out(), '{"ok":true}\n');
    assert.equal(io.err(), "");
  });
}

const USAGE: readonly (readonly [words: readonly string[], message: RegExp])[] = [
  [[], /missing argument: \[METHOD\] PATH/],
  [["GET", "keys", "more"], /too many arguments/],
  [["DELETE"], /missing argument: the path to DELETE/],
  [["PSOT", "keys"], /'PSOT' is not a method of the admin API \(did you mean 'POST'\?\)/],
  [[""], /the path is empty/],
  [["https://gateway.example/keys"], /the path is a URL; name the gateway with -url/],
  [["-d", "{}", "keys"], /a GET has no body: give the method, as in 'gateway admin -d BODY POST \/admin\/v1\/keys'/],
  [["-d", "@/nonexistent/file", "POST", "keys"], /'\/nonexistent\/file' cannot be read: there is no such file/],
  [["-d", "@/", "POST", "keys"], /'\/' is a directory/],
];

for (const [args, message] of USAGE) {
  test(`'gateway admin ${args.join(" ")}' is a usage error, and nothing is sent`, async () => {
    const io = bufferIo({ env: { GATEWAY_ADMIN_SOCKET: "/nonexistent" } });
    assert.equal(await execute(["admin", ...args], io), 2);
    assert.match(io.err(), message);
  });
}

test("a change names the revision it replaces", async (t) => {
  const { socket, requests } = await standIn(t, (_asked, response) => json(response, 200, {}));
  const args = ["-if-match", "7", "-d", "providers: []", "PUT", "sources/default"];
  assert.equal(await execute(["admin", "-socket", socket, ...args], bufferIo()), 0);
  assert.equal(requests[0]?.ifMatch, '"7"');
});

test("a body is given as text, file or stdin, and sent as its operation expects", async (t) => {
  const { socket, directory, requests } = await standIn(t, (_asked, response) => response.writeHead(204).end());
  await writeFile(join(directory, "body"), "providers: [] # ü\n");
  for (const args of [
    ["-d", '{"name":"a"}', "POST", "keys"],
    ["-d", "@body", "PUT", "sources/default"],
    ["-d", "@-", "PUT", "sources/default"],
    ["-d", "@body", "POST", "snapshot"],
    ["-d", "@-", "POST", "snapshot"],
    ["-d", "", "POST", "reload"],
  ]) {
    const io = bufferIo({ cwd: directory, stdin: Readable.from([Buffer.from("from "), Buffer.from("stdin")]) });
    assert.equal(await execute(["admin", "-socket", socket, ...args], io), 0);
    assert.equal(io.out() + io.err(), "");
  }
  assert.deepEqual(
    requests.map(({ type, body }) => [type, body]),
    [
      ["application/json", '{"name":"a"}'],
      ["application/yaml", "providers: [] # ü\n"],
      ["application/yaml", "from stdin"],
      [ARCHIVE_TYPE, "providers: [] # ü\n"],
      [ARCHIVE_TYPE, "from stdin"],
      ["application/json", ""],
    ],
  );
});

test("an answer is printed unchanged, and indented in a terminal", async (t) => {
  const { socket } = await standIn(t, (_asked, response) => {
    response.setHeader("content-type", "application/json").end('{"a": 1,\n"b":"\u009b\\u001b[2J"}');
  });
  const piped = bufferIo();
  assert.equal(await execute(["admin", "-socket", socket, "status"], piped), 0);
  assert.equal(piped.out(), '{"a": 1,\n"b":"\u009b\\u001b[2J"}');
  const shown = bufferIo({ isTerminal: () => true });
  assert.equal(await execute(["admin", "-socket", socket, "status"], shown), 0);
  assert.equal(shown.out(), '{\n  "a": 1,\n  "b": "\\u009b\\u001b[2J"\n}\n');
});

test("an archive is not written to a terminal", async (t) => {
  const { socket } = await standIn(t, (_asked, response) => {
    response.setHeader("content-type", ARCHIVE_TYPE).end("\u001f\u008b");
  });
  const io = bufferIo({ isTerminal: () => true });
  assert.equal(await execute(["admin", "-socket", socket, "snapshot"], io), 2);
  assert.equal(io.out(), "");
  assert.match(io.err(), /^gateway admin: the answer is application\/gzip, which is not for a terminal\ntry: .*> FILE/);
});

test("for a refusal the body is printed to stdout and the reason to stderr, with status 1", async (t) => {
  const body = refusal("forbidden", "You may not.");
  const { socket } = await standIn(t, (_asked, response) => json(response, 403, body));
  const io = bufferIo();
  assert.equal(await execute(["admin", "-socket", socket, "keys"], io), 1);
  assert.equal(io.out(), `${JSON.stringify(body)}\n`);
  assert.equal(io.err(), "gateway admin: 403 forbidden: You may not.\n");
});

test("a refusal in another format is shown unchanged", async (t) => {
  const { socket } = await standIn(t, (_asked, response) => response.writeHead(500).end("<html>oops"));
  const io = bufferIo({ isTerminal: (stream) => stream === "stdout" });
  assert.equal(await execute(["admin", "-socket", socket, "keys"], io), 1);
  assert.equal(io.out(), "<html>oops\n");
  assert.match(io.err(), /The answer \(500\) is not JSON/);
});

test("a redirect is not an answer of the API", async (t) => {
  const { socket } = await standIn(t, (_asked, response) => response.writeHead(302, { location: "/sso" }).end("moved"));
  const io = bufferIo();
  assert.equal(await execute(["admin", "-socket", socket, "keys"], io), 1);
  assert.equal(io.out(), "moved");
  assert.match(io.err(), /The answer \(302\) is not JSON\.\ntry: /);
});

test("an answer that breaks off exits with status 3, after the part that arrived", async (t) => {
  const { socket } = await standIn(t, (_asked, response) => {
    response.writeHead(200, { "content-length": 100 });
    response.write("part", () => response.destroy());
  });
  const io = bufferIo();
  assert.equal(await execute(["admin", "-socket", socket, "keys"], io), 3);
  assert.equal(io.out(), "part");
  assert.match(io.err(), /the connection ended unexpectedly/);
});

test("an interrupt ends an unanswered call silently", async (t) => {
  const stop = new AbortController();
  const { socket } = await standIn(t, () => stop.abort(new Interrupted("SIGINT")));
  const io = bufferIo({ signal: stop.signal });
  assert.equal(await execute(["admin", "-socket", socket, "keys"], io), 130);
  assert.equal(io.out() + io.err(), "");
});

test("an interrupt ends the wait for a typed body", async () => {
  const stop = new AbortController();
  const stdin = new Readable({ read: () => stop.abort(new Interrupted("SIGINT")) });
  const io = bufferIo({ signal: stop.signal, stdin, env: { GATEWAY_ADMIN_SOCKET: "/nonexistent" } });
  assert.equal(await execute(["admin", "-d", "@-", "POST", "keys"], io), 130);
  assert.equal(io.err(), "");
});
