/** The gateway that a verb calls, by its flags and the environment; and errors about unreachable ones. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { addressText } from "../../src/admin-api/index.ts";
import { chooseAddress } from "../../src/cli/choose-address.ts";
import { execute } from "../../src/cli/main.ts";
import { bufferIo } from "./buffer-io.ts";
import { json, onPort, refusal, standIn } from "./fake-gateway.ts";

type Env = Readonly<Record<string, string>>;

const SOCKET = { GATEWAY_ADMIN_SOCKET: "/env.sock" };
const URL = { GATEWAY_ADMIN_URL: "https://env.example/" };

const CHOSEN: readonly (readonly [flags: { socket?: string; url?: string }, env: Env, door: string])[] = [
  [{ socket: "/a.sock" }, {}, "/a.sock"],
  [{ socket: "a.sock" }, {}, "/srv/dir/a.sock"],
  [{ url: "https://a.example/admin/v1/" }, {}, "https://a.example"],
  [{}, SOCKET, "/env.sock"],
  [{}, URL, "https://env.example"],
  [{ socket: "/a.sock" }, { ...SOCKET, ...URL }, "/a.sock"],
  [{ url: "https://a.example" }, { ...SOCKET, ...URL }, "https://a.example"],
  [{}, { ...SOCKET, GATEWAY_ADMIN_URL: "" }, "/env.sock"],
];

for (const [flags, env, address] of CHOSEN) {
  test(`${JSON.stringify(flags)} with ${JSON.stringify(env)} gives the address ${address}`, () => {
    const io = bufferIo({ env, cwd: "/srv/dir" });
    assert.equal(addressText(chooseAddress({ socket: undefined, url: undefined, ...flags }, io)), address);
  });
}

const REFUSED: readonly (readonly [flags: readonly string[], env: Env, words: RegExp])[] = [
  [[], {}, /-socket PATH or -url URL, or set GATEWAY_ADMIN_SOCKET or GATEWAY_ADMIN_URL/],
  [["-socket", "/a", "-url", "https://a"], {}, /-socket and -url are both given/],
  [[], { ...SOCKET, ...URL }, /GATEWAY_ADMIN_SOCKET and GATEWAY_ADMIN_URL are both set/],
  [["-socket", ""], URL, /flag '-socket' is empty/],
  [["-url", ""], SOCKET, /flag '-url' is empty/],
  [["-url", "gateway.example"], {}, /-url is not a URL/],
  [[], { GATEWAY_ADMIN_URL: "https://a:hunter2@b" }, /GATEWAY_ADMIN_URL contains a user name or password/],
];

for (const [flags, env, message] of REFUSED) {
  test(`${flags.join(" ") || "no flag"} with ${JSON.stringify(env)} is a usage error`, async () => {
    const io = bufferIo({ env });
    assert.equal(await execute(["admin", ...flags, "keys"], io), 2);
    assert.match(io.err(), message);
    assert.doesNotMatch(io.err(), /hunter2/);
  });
}

async function failure(args: readonly string[], env: Env = {}): Promise<readonly [status: number, err: string]> {
  const io = bufferIo({ env });
  const status = await execute(["query", ...args, "select 1"], io);
  assert.equal(io.out(), "");
  return [status, io.err()];
}

test("a missing socket and one without a listener are unreachable, each with a remedy", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "gateway-door-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "s");
  const [missing, missingWords] = await failure(["-socket", path]);
  assert.equal(missing, 3);
  assert.match(missingWords, /^gateway query: cannot reach .*\/s: there is no such socket\ntry: .*admin\.local_socket/);
  writeFileSync(path, "");
  const [stale, staleWords] = await failure(["-socket", path]);
  assert.equal(stale, 3);
  assert.match(staleWords, /^gateway query: cannot reach .*\/s: no process listens on it\ntry: /);
});

test("a port without a listener and an unresolvable name are unreachable", async () => {
  const [status, message] = await failure(["-url", "http://127.0.0.1:1"]);
  assert.equal(status, 3);
  assert.match(
    message,
    /^gateway query: cannot reach http:\/\/127\.0\.0\.1:1: nothing listens there\ntry: .*admin\.listen/,
  );
  const [unnamed, unnamedWords] = await failure(["-url", "https://gateway.invalid"]);
  assert.equal(unnamed, 3);
  assert.match(unnamedWords, /cannot reach https:\/\/gateway\.invalid: its name does not resolve/);
});

test("TLS to a plain server is reported as such", async (t) => {
  const url = (await onPort(t, (_request, response) => response.end())).replace("http:", "https:");
  const [status, message] = await failure(["-url", url]);
  assert.equal(status, 3);
  assert.match(message, /it does not speak TLS\ntry: -url http:\/\/127/);
});

test("a refusal has its code, and a remedy if one is known", async (t) => {
  const env = { HOME: "/nonexistent", XDG_CONFIG_HOME: "/nonexistent", XDG_STATE_HOME: "/nonexistent" };
  for (const [status, code, remedy] of [
    [401, "unauthenticated", /^try: gateway login http:\/\/127\.0\.0\.1:\d+\/team$/m],
    [403, "forbidden", undefined],
    [503, "no_leader", /^try: again in a moment$/m],
  ] as const) {
    const url = await onPort(t, (_request, response) => json(response, status, refusal(code, "No.")));
    const [exit, message] = await failure(["-url", `${url}/team`], env);
    assert.equal(exit, 1);
    assert.match(message, new RegExp(`^gateway query: ${status} ${code}: No\\.$`, "m"));
    if (remedy === undefined) assert.doesNotMatch(message, /try:/);
    else assert.match(message, remedy);
  }
});

test("an action of unknown outcome comes with the advice to look first", async (t) => {
  const error = { code: "no_leader", message: "It may yet be applied.", details: { outcome: "unknown" } };
  const url = await onPort(t, (_request, response) => json(response, 503, { error }));
  const [, message] = await failure(["-url", url]);
  assert.match(message, /^try: again, after checking whether it was already done$/m);
});

test("a gateway's text reaches the terminal without control characters", async (t) => {
  const { socket } = await standIn(t, (_asked, response) =>
    json(response, 403, refusal("forbidden", "No\u001b[2J\n\u202eoops")),
  );
  const [, message] = await failure(["-socket", socket]);
  assert.equal(message, "gateway query: 403 forbidden: No\\u001b[2J\\n\\u202eoops\n");
});

test("an answer that is not from an admin API is named as such", async (t) => {
  const { socket } = await standIn(t, (_asked, response) => response.writeHead(502).end("<html>"));
  const [status, message] = await failure(["-socket", socket]);
  assert.equal(status, 1);
  assert.match(message, /The answer \(502\) is not JSON\.\ntry: .*admin API/);
});
