/**
 * The reason why a provider fails is shown to the operator, in the log, in its failures, in its row and in the alert, and not to
 * the client.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import type { BackendFailure } from "../../../src/admin-api/index.ts";
import { execute } from "../../../src/cli/main.ts";
import { bufferIo } from "../../cli/buffer-io.ts";
import { testCertificates } from "../../server/auth/support/certificates.ts";
import { testAuthority } from "../../server/tls/support/authority.ts";
import { createNodes, led, ready } from "../config/support/nodes.ts";
import { freePort } from "../support/ports.ts";
import { exchange, post } from "../support/raw.ts";
import { atEnd, eventually, type Owner } from "../support/wait.ts";

/** Number of failed attempts from which on a provider counts as failing. */
const ATTEMPTS = 3;
const DAY_MS = 24 * 60 * 60 * 1_000;

async function listening(owner: Owner, server: Server): Promise<number> {
  server.on("tlsClientError", () => undefined);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(owner, () => server.close());
  return (server.address() as AddressInfo).port;
}

test("the reason why a provider fails is shown to operators only", async (t) => {
  const authority = await testAuthority();
  const tlsServer = async (facts: Parameters<typeof authority.issue>[0]): Promise<string> => {
    const { chain: cert, key } = await authority.issue({ names: ["127.0.0.1"], ...facts });
    return `https://127.0.0.1:${await listening(t, createTlsServer({ cert, key }))}`;
  };
  const untrusted = await listening(t, createTlsServer((await testCertificates()).server));
  const plain = await listening(
    t,
    createHttpServer((_, answer) => {
      answer.writeHead(503, { "content-type": "application/json" });
      answer.end(JSON.stringify({ error: { message: "a secret text", type: "overloaded_error", code: null } }));
    }),
  );
  const now = Date.now();
  const providers: readonly (readonly [name: string, url: string, cause: string])[] = [
    ["typo", "http://api.provider.invalid", "its name does not resolve"],
    ["closed", `http://127.0.0.1:${await freePort()}`, "nothing listens there"],
    [
      "expired",
      await tlsServer({ notBefore: now - 9 * DAY_MS, notAfter: now - DAY_MS }),
      "its certificate has expired",
    ],
    ["early", await tlsServer({ notBefore: now + DAY_MS }), "its certificate is not valid yet"],
    ["other-name", await tlsServer({ names: ["other.example"] }), "its certificate is for another name"],
    [
      "untrusted",
      `https://127.0.0.1:${untrusted}`,
      "its certificate is not trusted: UNABLE_TO_VERIFY_LEAF_SIGNATURE; name its authority in NODE_EXTRA_CA_CERTS",
    ],
    ["plain", `https://127.0.0.1:${plain}`, "it does not speak TLS; its URL may have to begin with `http://`"],
    ["overloaded", `http://127.0.0.1:${plain}`, "status 503 overloaded_error"],
  ];
  const [node] = await createNodes(t, { ids: ["n1"] });
  assert.ok(node !== undefined);
  const root = join(node.dir, "root.pem");
  await writeFile(root, authority.root);
  const program = node.launch({ NODE_EXTRA_CA_CERTS: root });
  await led(node);
  const verb = async (...args: readonly string[]) => {
    const io = bufferIo({
      env: { GATEWAY_ADMIN_SOCKET: join(node.dir, "admin.sock") },
      cwd: node.dir,
      stdin: Readable.from([]),
      now: () => Date.now(),
    });
    const status = await execute(args, io);
    return { status, out: io.out(), err: io.err() };
  };
  await writeFile(
    join(node.dir, "new.json"),
    JSON.stringify({
      providers: providers.map(([name, url]) => ({
        name,
        dialect: "compat",
        base_url: `${url}/v1`,
        models: [`${name}-*`],
      })),
    }),
  );
  assert.equal((await verb("config", "apply", "new.json", "-yes")).status, 0);
  const gateway = await ready(program);

  for (const [name, , cause] of providers) {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const request = post("/v1/chat/completions", JSON.stringify({ model: `${name}-1`, messages: [] }));
      const { status, body } = await exchange(t, gateway.port, request);
      assert.equal(status, name === "overloaded" ? 503 : 502, name);
      if (name !== "overloaded") assert.ok(!body.toString().includes(cause), `${name}: ${body}`);
    }
  }
  const { out } = await verb("status");
  for (const [name, , cause] of providers) {
    assert.ok(out.includes(`provider:${name} `), out);
    assert.ok(out.includes(`100.0 % of attempts fail (${cause}), `), `${name}: ${out}`);
    const rows = JSON.parse((await verb("get", "providers", name, "-o", "json")).out) as { last_failure?: string }[];
    assert.deepEqual(
      rows.map((row) => row.last_failure),
      [cause],
    );
    const { items } = JSON.parse((await verb("admin", "GET", `/backends/${name}/errors`)).out) as {
      readonly items: readonly BackendFailure[];
    };
    assert.equal(items.length, ATTEMPTS, name);
    assert.equal(items[0]?.reason, name === "overloaded" ? undefined : cause);
    if (name === "overloaded") continue;
    const isReported = (line: { readonly message: string; readonly upstream?: unknown; readonly reason?: unknown }) =>
      line.message === "an upstream could not be reached" && line.upstream === name && line.reason === cause;
    await eventually(`a log line about ${name}`, () => gateway.log().some(isReported));
  }
  // A WebSocket session fails for the same reason.
  const handshake = [
    "GET /v1/realtime?model=closed-1 HTTP/1.1",
    "Host: gateway",
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "\r\n",
  ].join("\r\n");
  assert.equal((await exchange(t, gateway.port, handshake)).status, 502);
  const { items: sessions } = JSON.parse((await verb("admin", "GET", "/backends/closed/errors")).out) as {
    readonly items: readonly BackendFailure[];
  };
  assert.equal(sessions.length, ATTEMPTS + 1);
  assert.equal(sessions[0]?.reason, "nothing listens there");
  assert.ok(!gateway.stderr().includes("a secret text"));
});
