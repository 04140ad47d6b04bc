/** A TLS listener without a certificate yet: what clients, probes and operators see, and that it recovers by itself. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:https";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { ptySkip } from "../../console/support/terminal.ts";
import { peer } from "../../peers/index.ts";
import { startPebble } from "../../server/tls/acme/support/pebble.ts";
import { openConsole } from "../console/support/console-gateway.ts";
import { type Document, startWithFiles } from "../support/config.ts";
import { type Gateway, runProgram } from "../support/gateway.ts";
import { freePort, listenLocally } from "../support/ports.ts";
import { exchange, headerOf } from "../support/raw.ts";
import { atEnd, eventually, type Owner, within } from "../support/wait.ts";
import { handshake } from "./support.ts";

const DOMAIN = "gw.example.com";
const DEPLOYMENT = { providers: [{ name: "main", dialect: "compat", base_url: "http://127.0.0.1:9/v1" }] };
const CHALLENGE = "/.well-known/acme-challenge/abcdefghijklmnopqrstuvwxyz0123456789-_ABCDE";

interface Pending extends Gateway {
  /** Path of the admin socket. */
  readonly socket: string;
  /** Answer of the readiness probe. */
  ready(): Promise<readonly [status: number, body: string]>;
  /** The row of the table `certificates`. */
  row(): Promise<Document>;
}

async function start(owner: Owner, tls: Document, listen = "127.0.0.1:0"): Promise<Pending> {
  const dir = await mkdtemp(join(tmpdir(), "gateway-pending-"));
  atEnd(owner, () => rm(dir, { recursive: true, force: true }));
  const socket = join(dir, "admin.sock");
  const changes = { listen, admin: { local_socket: socket }, tls: { domains: [DOMAIN], ...tls } };
  const gateway = await startWithFiles(owner, DEPLOYMENT, changes);
  return {
    ...gateway,
    socket,
    async ready() {
      const answer = await fetch((gateway.metricsUrl ?? "").replace("/metrics", "/readyz"));
      return [answer.status, await answer.text()];
    },
    async row() {
      const sql = "select names, source, state, step, serial, last_error, next_attempt, failures from certificates";
      const query = runProgram(owner, { args: ["query", "-socket", socket, "-o", "json", sql] });
      assert.deepEqual(await within("the query", query.ended), { status: 0, signal: null }, query.stderr());
      return (JSON.parse(query.stdout()) as readonly Document[])[0] ?? {};
    },
  };
}

/** Requests over TLS without verification. */
async function ask(port: number, path: string, headers: Readonly<Record<string, string>> = {}) {
  const sent = request({ host: "127.0.0.1", port, path, headers, rejectUnauthorized: false, agent: false });
  sent.end();
  const [answer] = await within("an answer", once(sent, "response"));
  return { status: answer.statusCode as number, retryAfter: answer.headers["retry-after"], body: await text(answer) };
}

test("without an authority the TLS listener answers 503 with a placeholder certificate, and the reason is reported everywhere", async (t) => {
  const gateway = await start(t, { ca: `http://127.0.0.1:${await freePort()}/dir` });
  const { port, socket } = gateway;

  const connection = await handshake(t, port, { servername: DOMAIN, rejectUnauthorized: false });
  assert.equal(connection.getPeerCertificate().subject.CN, "gateway without a certificate yet");
  await assert.rejects(handshake(t, port, { servername: DOMAIN }), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" });

  for (const [path, kind] of [
    ["/v1/models", "compat"],
    ["/v1/messages", "messages"],
  ] as const) {
    const headers = kind === "messages" ? { "anthropic-version": "2023-06-01" } : {};
    const { status, retryAfter, body } = await ask(port, path, headers);
    assert.deepEqual([status, retryAfter], [503, "10"]);
    const { type, error } = JSON.parse(body) as { type?: string; error: { message: string } };
    assert.equal(type, kind === "messages" ? "error" : undefined, body);
    assert.match(error.message, /^The gateway has no certificate yet and serves nothing until it has one\./);
    assert.match(body, /no_certificate/);
    assert.doesNotMatch(body, /127\.0\.0\.1/, "clients do not learn of the authority");
  }
  const upgrade = { connection: "upgrade", upgrade: "websocket", "sec-websocket-version": "13" };
  const key = { "sec-websocket-key": "MDEyMzQ1Njc4OWFiY2RlZg==" };
  assert.equal((await ask(port, "/v1/realtime?model=m", { ...upgrade, ...key })).status, 503);
  assert.equal((await ask(port, CHALLENGE, { host: DOMAIN })).status, 404);
  const plain = await exchange(t, port, `GET ${CHALLENGE} HTTP/1.1\r\nHost: ${DOMAIN}\r\n\r\n`);
  assert.deepEqual([plain.status, headerOf(plain, "connection")], [404, "close"]);
  const other = await exchange(t, port, "GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n");
  assert.match(other.body.toString(), /tls_required/);

  const line = await gateway.logged("no certificate could be obtained");
  assert.deepEqual([line.level, line["reason"], line["attempt"]], ["error", "ca_unreachable", 1]);
  assert.match(String(line["why"]), /cannot be reached: nothing listens there/);
  const [status, body] = await gateway.ready();
  assert.equal(status, 503);
  assert.match(body, /certificate pending/);
  const metrics = await (await fetch(gateway.metricsUrl ?? "")).text();
  assert.match(metrics, /^gateway_certificate_not_after_seconds 0$/m);
  assert.match(metrics, /^gateway_acme_attempts_total\{result="ca_unreachable"\} 1$/m);
  const row = await gateway.row();
  assert.deepEqual([row["state"], row["serial"], row["failures"]], ["pending", null, 1]);
  assert.match(String(row["last_error"]), /nothing listens there/);
  assert.ok(Date.parse(String(row["next_attempt"])) > Date.now());

  if (ptySkip !== false) return t.diagnostic(`no console: ${ptySkip}`);
  const screen = await openConsole(t, { socket });
  await screen.until(/no certificate yet: nothing is served/);
  await screen.command("certificates");
  await screen.until(/gw\.example\.com +pending/);
  await screen.until(/nothing listens there/);
});

const pebble = await peer("pebble");

test("the listener serves once the authority has validated it, without a restart", {
  skip: pebble.missing,
}, async (t) => {
  const port = await freePort();
  const held: Socket[] = [];
  let isOpen = false;
  const pass = (from: Socket): void => {
    const onward = connect(port, "127.0.0.1").on("error", () => undefined);
    from.pipe(onward).pipe(from);
  };
  const between = createServer((socket) => {
    socket.on("error", () => undefined);
    if (isOpen) pass(socket);
    else held.push(socket);
  });
  const httpPort = await listenLocally(between);
  atEnd(t, () => void between.close());
  const authority = await startPebble(pebble.path, { httpPort });
  atEnd(t, () => authority.close());
  const ca = { ca: authority.directory, trusted_roots: authority.roots };
  const gateway = await start(t, ca, `127.0.0.1:${port}`);
  await eventually("the validator", () => held.length > 0);
  assert.match((await gateway.ready())[1], /certificate pending/);
  assert.equal((await ask(port, "/v1/models")).status, 503);
  const { state, step, last_error: error, source } = await gateway.row();
  assert.deepEqual([state, step, error, source], ["pending", "respond", null, authority.directory]);

  isOpen = true;
  for (const socket of held) pass(socket);
  await gateway.logged("certificate issued");
  const trusting = { ca: await authority.issuer(), servername: DOMAIN };
  const served = await eventually("the certificate", () => handshake(t, port, trusting).catch(() => undefined));
  assert.equal(served.authorized, true);
  assert.equal((await gateway.ready())[0], 200);
  assert.equal((await ask(port, "/v1/models")).status !== 503, true);
  const row = await gateway.row();
  assert.deepEqual(
    [row["state"], row["step"], row["serial"], row["failures"]],
    ["valid", null, served.getPeerCertificate().serialNumber, 0],
  );
  assert.equal(gateway.log().filter(({ level }) => level === "error").length, 0);
});
