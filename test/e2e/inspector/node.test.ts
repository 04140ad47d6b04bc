// tier: test
/** An inspecting node for its operator. Source: specification document 2, `extproc`; design decisions, section 19. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { status } from "@grpc/grpc-js";
import { execute } from "../../../src/cli/main.ts";
import { bufferIo } from "../../cli/buffer-io.ts";
import { eventually, within } from "../support/wait.ts";
import {
  GUARDRAILS,
  KEY,
  MAIL,
  REDACTED,
  refusedInspector,
  startInspector,
  writeInspector,
} from "./support/inspecting.ts";
import { body, chat, connectFilter, headers, outcomeOf, verdictOf } from "./support/peer.ts";

const gateway = await startInspector({ after }, GUARDRAILS, { changes: { admin: { local_socket: "admin.sock" } } });
const filter = connectFilter(gateway.inspector);
after(() => filter.close());

async function isWell(on = filter): Promise<void> {
  const stream = on.openStream();
  assert.equal(await outcomeOf(stream, chat(MAIL)), chat(REDACTED));
  stream.end();
  assert.equal(await stream.ended, status.OK);
}

test("the node opens no data listener, stores nothing, and says so", async () => {
  const ready = await gateway.logged("ready");
  assert.equal(ready["listen"], "none");
  assert.ok(gateway.log().some(({ message }) => message.includes("this node keeps its state in memory")));
  const line = await gateway.logged("the inspector listens");
  assert.match(String(line["peers_filter"]), /request_body_mode: STREAMED.*allow_mode_override: true/);
  const start = gateway.log().find((it) => it["event"] === "chain.start");
  assert.equal((start?.["data"] as { ephemeral: boolean } | undefined)?.ephemeral, true);
});

test("a request is allowed, redacted or refused", async () => {
  const allowed = filter.openStream();
  assert.equal(await outcomeOf(allowed, chat("hello")), "allowed");
  allowed.end();
  await isWell();
  assert.equal(await outcomeOf(filter.openStream(), chat(KEY)), "guardrail_denied");
});

test("the status shows its listener and readiness, and its work is counted and recorded", async () => {
  const env = { GATEWAY_ADMIN_SOCKET: join(gateway.files.dir, "admin.sock") };
  const io = bufferIo({ env });
  assert.equal(await execute(["admin", "GET", "status"], io), 0, io.err());
  const shown = JSON.parse(io.out()) as { ready: boolean; listeners: { name: string; address: string }[] };
  assert.equal(shown.ready, true);
  assert.deepEqual(
    shown.listeners.find(({ name }) => name === "inspector"),
    { name: "inspector", address: gateway.inspector },
  );
  assert.ok(!shown.listeners.some(({ name }) => name === "data"));
  const text = await (await fetch(gateway.metricsUrl ?? "")).text();
  assert.match(text, /^gateway_inspector_requests_total\{peer="127\.0\.0\.1",outcome="refuse"\} 1$/m);
  assert.match(text, /^gateway_inspector_seconds_count\{outcome="rewrite"\} \d+$/m);
  await eventually("no stream open", async () => {
    return (await (await fetch(gateway.metricsUrl ?? "")).text()).includes("\ngateway_inspector_streams 0\n");
  });
  const record = gateway.log().find((it) => it["event"] === "guardrail.decision");
  assert.equal((record?.["data"] as { hop: string } | undefined)?.hop, "inspect");
  const saving = bufferIo({ env });
  assert.notEqual(await execute(["snapshot", "save", join(gateway.files.dir, "s.tgz")], saving), 0);
  assert.match(saving.err(), /keeps its state in memory/);
});

test("a reload applies to new streams and not to open ones", async () => {
  const open = Array.from({ length: 200 }, () => filter.openStream());
  for (const stream of open) stream.send(headers());
  await Promise.all(open.map((stream) => stream.nextAnswer()));
  const rules = [{ name: "mails", action: "deny" }];
  await gateway.files.writeDeployment({ version: 2, guardrails: { ...(GUARDRAILS["guardrails"] as object), rules } });
  const from = gateway.log().length;
  gateway.signal("SIGHUP");
  await gateway.logged("reloaded", from);
  const fates = await Promise.all(
    open.map(async (stream) => {
      stream.send(body(chat(MAIL)));
      const verdict = verdictOf(await stream.nextAnswer());
      stream.end();
      return `${verdict} ${await stream.ended}`;
    }),
  );
  assert.deepEqual(new Set(fates), new Set([`${chat(REDACTED)} ${status.OK}`]));
  assert.equal(await outcomeOf(filter.openStream(), chat(MAIL)), "guardrail_denied");

  // An empty set of guardrails would let everything pass.
  await gateway.files.writeDeployment({ version: 3 });
  const before = gateway.log().length;
  gateway.signal("SIGHUP");
  await gateway.logged("reloaded", before);
  assert.match(JSON.stringify(gateway.log().slice(before)), /needs `guardrails`/);
  assert.equal(await outcomeOf(filter.openStream(), chat(MAIL)), "guardrail_denied");
});

test("an unsupported setting is refused at startup with its place", async (t) => {
  const routed = { ...GUARDRAILS, providers: [{ name: "p", dialect: "compat", base_url: "http://127.0.0.1:1" }] };
  const cases = [
    [{}, {}, /deployment\.yaml:\d+:\d+: needs `guardrails`, since `extproc\.inspect_listen`/],
    [
      GUARDRAILS,
      { inspect_responses: "streamed" },
      /guardrails\.detectors: no detector has `output` in its `apply_to`/,
    ],
    [routed, {}, /providers: this node only inspects: its file names no `cluster\.data_dir`/],
  ] as const;
  for (const [deployment, extproc, pattern] of cases) {
    const program = await refusedInspector(t, deployment, { extproc });
    assert.deepEqual(await program.ended, { status: 10, signal: null });
    assert.match(program.stderr(), pattern);
  }
});

test("an address in use is named and ends the start", async (t) => {
  const taken = createServer().listen(0, "127.0.0.1");
  t.after(() => taken.close());
  await new Promise((resolve) => taken.once("listening", resolve));
  const { port } = taken.address() as { readonly port: number };
  const program = await refusedInspector(t, GUARDRAILS, { address: `127.0.0.1:${port}` });
  assert.deepEqual(await program.ended, { status: 12, signal: null });
  assert.match(program.stderr(), new RegExp(`another process uses the address .*127\\.0\\.0\\.1:${port}`));
});

test("check describes the node and the settings its proxies need", async (t) => {
  const files = await writeInspector(t, GUARDRAILS);
  const io = bufferIo({});
  assert.equal(await execute(["check", "-config", files.nodePath], io), 0, io.out());
  assert.match(io.out(), /^note {2}node: only inspects/m);
  assert.match(io.out(), /keeps its state only in memory/);
  assert.match(io.out(), /request_body_mode: STREAMED/);
  assert.doesNotMatch(io.out(), /serves plain HTTP/);
});

test("a stopping node answers streams in flight, accepts no others, and ends", async (t) => {
  const own = await startInspector(t, GUARDRAILS, { env: { GATEWAY_DRAIN: "20s" } });
  const peer = connectFilter(own.inspector);
  t.after(() => peer.close());
  const stream = peer.openStream();
  stream.send(headers());
  await stream.nextAnswer();
  own.signal("SIGTERM");
  await own.logged("stopping: waiting for requests in flight; a second signal ends the process at once");
  stream.send(body(chat(MAIL)));
  assert.equal(verdictOf(await stream.nextAnswer()), chat(REDACTED));
  stream.end();
  assert.equal(await stream.ended, status.OK);
  assert.deepEqual(await within("the end", own.ended), { status: 0, signal: null });
});

test("a stream that never ends is ended with an error at the end of the drain", async (t) => {
  const own = await startInspector(t, GUARDRAILS, { env: { GATEWAY_DRAIN: "100ms" } });
  const peer = connectFilter(own.inspector);
  t.after(() => peer.close());
  const stream = peer.openStream();
  stream.send(headers());
  await stream.nextAnswer();
  own.signal("SIGTERM");
  assert.equal(await stream.ended, status.UNAVAILABLE);
  assert.deepEqual(await within("the end", own.ended), { status: 0, signal: null });
});

test("a node that also routes has one memory account for both", async (t) => {
  const upstream = createServer(() => undefined).listen(0, "127.0.0.1");
  t.after(() => upstream.close());
  await new Promise((resolve) => upstream.once("listening", resolve));
  const { port } = upstream.address() as { readonly port: number };
  const dir = await mkdtemp(join(tmpdir(), "gateway-both-"));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const own = await startInspector(
    t,
    {
      ...GUARDRAILS,
      providers: [{ name: "p", dialect: "compat", base_url: `http://127.0.0.1:${port}`, api_key: "k" }],
    },
    {
      changes: { listen: "127.0.0.1:0", cluster: { node_id: "n1", bootstrap: true, data_dir: dir } },
      env: { GATEWAY_MAX_BUFFERED_BYTES: "300000" },
    },
  );
  const peer = connectFilter(own.inspector);
  t.after(() => peer.close());
  const held = peer.openStream();
  held.send(headers());
  await held.nextAnswer();
  held.send(body("x".repeat(250_000), false));
  await held.nextAnswer();
  const post = () =>
    fetch(`${own.url}/v1/chat/completions`, {
      method: "POST",
      body: chat("y".repeat(100_000)),
      signal: AbortSignal.timeout(10_000),
    });
  const refused = await post();
  assert.equal(refused.status, 503);
  assert.match(await refused.text(), /overloaded/);
  assert.match(await (await fetch(own.metricsUrl ?? "")).text(), /^gateway_buffered_bytes 250000$/m);
});
