/**
 * MCP servers that fail, misdeclare their content or send too much, and clients that disconnect or try to bypass a
 * rule. Source: mcp reference, 6, 8 and 9; design decisions, sections 2, 6, 7 and 11. GATEWAY_TEST_MUTATIONS and
 * GATEWAY_TEST_STREAMS make the random tests longer.
 */
import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import { randomRuns } from "../../support/random-length.ts";
import { mint, startGoverned } from "../governance/support/governed.ts";
import { memoryOf } from "../support/machine.ts";
import { idle, readMetrics, sumOf } from "../support/metrics.ts";
import { rawClient } from "../support/raw.ts";
import { reply, scriptedUpstream, writeChunk } from "../support/upstream.ts";
import { eventually, within } from "../support/wait.ts";
import { mutated, nameIn, namesRm, randomFrom } from "./support/mutations.ts";
import { chunks, cutWithin, escaped, MARK, withBadByte } from "./support/unusual-bytes.ts";

const file = { after };
const CARD = "4111 1111 1111 1111";
const VERSION = "2026-07-28";
const META = { "io.modelcontextprotocol/protocolVersion": VERSION, "io.modelcontextprotocol/clientCapabilities": {} };
const MIB = 1 << 20;
const MAX_BODY_BYTES = 2 * MIB;
const MUTATIONS = Number(process.env["GATEWAY_TEST_MUTATIONS"] ?? randomRuns(1_000));
const STREAMS = Number(process.env["GATEWAY_TEST_STREAMS"] ?? 300);
const ABORT_LIMIT_MS = 1_000;
const HEARTBEAT_MS = 600;

const upstream = await scriptedUpstream(file);
const { node, gateway } = await startGoverned(file, {
  env: {
    GATEWAY_MAX_IN_FLIGHT: String(Math.max(4_096, STREAMS + 1_000)),
    GATEWAY_STREAM_HEARTBEAT: `${HEARTBEAT_MS}ms`,
  },
  deployment: {
    max_body_bytes: MAX_BODY_BYTES,
    mcp: [{ name: "tools", url: `${upstream.url}/rpc` }],
    profiles: [{ name: "open", guardrails: { detectors: [] } }],
    access_rules: [{ name: "no-rm", at: ["mcp"], condition: 'name == "rm"', action: "deny" }],
    guardrails: {
      detectors: [
        {
          type: "pii",
          name: "finder",
          prefilter: "pure",
          entities: ["CREDIT_CARD"],
          apply_to: ["tool_args", "tool_result"],
        },
      ],
      rules: [{ name: "cards", action: "redact", select: 'a.type == "pii/CREDIT_CARD"' }],
    },
  },
});
const guarded = await mint(node, "guarded");
const open = await mint(node, "open", { profile: "open" });

const bodyOf = (method: string, params: Readonly<Record<string, unknown>>): string =>
  JSON.stringify({ jsonrpc: "2.0", id: 7, method, params: { ...params, _meta: META } });

const headersOf = (key: string, method: string, name?: string): Readonly<Record<string, string>> => ({
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  authorization: `Bearer ${key}`,
  "mcp-protocol-version": VERSION,
  "mcp-method": method,
  ...(name !== undefined && { "mcp-name": name }),
});

async function call(key: string, method = "tools/call", name: string | undefined = "echo"): Promise<Response> {
  const params = method === "tools/call" ? { name, arguments: {} } : {};
  const named = method === "tools/call" ? name : undefined;
  const headers = headersOf(key, method, named);
  return await fetch(`${gateway.url}/mcp/tools`, { method: "POST", headers, body: bodyOf(method, params) });
}

interface Refusal {
  readonly id?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: { readonly code?: string } };
}

const result = (text: string): string =>
  JSON.stringify({ jsonrpc: "2.0", id: 7, result: { resultType: "complete", content: [{ type: "text", text }] } });

const JSON_TYPE = ["Content-Type: application/json"];
const WHOLE: Readonly<Record<string, (socket: Socket) => void>> = {
  "in the usual form": (socket) => reply(socket, { headers: JSON_TYPE, body: result(CARD) }),
  "in escapes": (socket) => reply(socket, { headers: JSON_TYPE, body: escaped(result(CARD)) }),
  "with a byte order mark": (socket) => reply(socket, { headers: JSON_TYPE, body: MARK + escaped(result(CARD)) }),
  "with a byte that is not UTF-8": (socket) =>
    reply(socket, { headers: JSON_TYPE, body: withBadByte(result(`|${CARD}`)) }),
  "compressed without a request for it": (socket) =>
    reply(socket, { headers: [...JSON_TYPE, "Content-Encoding: gzip"], body: gzipSync(result(CARD)) }),
  "without a content type": (socket) => reply(socket, { body: escaped(result(CARD)) }),
  "of another content type": (socket) => reply(socket, { headers: ["Content-Type: text/html"], body: result(CARD) }),
  "with a content type in capitals": (socket) =>
    reply(socket, { headers: ["CONTENT-TYPE: APPLICATION/JSON; CHARSET=UTF-8"], body: result(CARD) }),
};

for (const [how, script] of Object.entries(WHOLE)) {
  test(`an answer ${how} is inspected`, async () => {
    upstream.script = script;
    const answer = await call(guarded);
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
    assert.match(text, /<CREDIT_CARD>/);
    assert.ok(!text.includes("1111"), text);
    assert.equal((await call(open)).status, 200);
  });
}

const STREAMED: Readonly<Record<string, readonly (string | Buffer)[]>> = {
  "in the usual form": [`event: message\ndata: ${result(CARD)}\n\n`],
  "cut inside a character": cutWithin(`data: ${result(`地 ${CARD}`)}\n\n`, "地"),
  "byte by byte": [...Buffer.from(`data: ${escaped(result(CARD))}\n\n`)].map((byte) => Buffer.from([byte])),
  "with data on several lines": [`data: ${result(CARD).replace(',"result"', '\ndata: ,"result"')}\n\n`],
  "with CR line endings": [`event: message\rdata: ${result(CARD)}\r\r`],
  "with a byte order mark": [`${MARK}data: ${escaped(result(CARD))}\n\n`],
  "with a byte that is not UTF-8": [withBadByte(`data: ${result(`|${CARD}`)}\n\n`)],
  "after comments and unknown fields": [`: alive\n\nretry: 5\nfoo: ${"x"}\n`, `data:${result(CARD)}\n\n`],
};

for (const [how, pieces] of Object.entries(STREAMED)) {
  test(`a stream ${how} is inspected, and passes byte by byte if nothing inspects it`, async () => {
    upstream.script = (socket) => {
      chunks(socket, pieces);
      socket.write("0\r\n\r\n");
    };
    const text = await (await call(guarded)).text();
    assert.match(text, /<CREDIT_CARD>/);
    assert.ok(!text.includes("1111"), text);
    const passed = Buffer.from(await (await call(open)).arrayBuffer());
    assert.deepEqual(passed, Buffer.concat(pieces.map((piece) => Buffer.from(piece))));
  });
}

test("a list of tools is filtered in any framing, and nothing of it is shown before its end", async () => {
  const tools = ["echo", "rm"].map((name) => ({ name, inputSchema: { type: "object" } }));
  const list = JSON.stringify({ jsonrpc: "2.0", id: 7, result: { resultType: "complete", tools } });
  const scripts = [
    (socket: Socket) => reply(socket, { headers: JSON_TYPE, body: list }),
    (socket: Socket) => reply(socket, { headers: JSON_TYPE, body: MARK + list }),
    (socket: Socket) =>
      reply(socket, { headers: JSON_TYPE, body: withBadByte(list.replace('"type":"object"', '"type":"|object"')) }),
    (socket: Socket) => reply(socket, { body: list }),
    (socket: Socket) => {
      chunks(socket, [`data: ${list}\n\ndata: ${list}`]);
      socket.write("0\r\n\r\n");
    },
    (socket: Socket) => {
      chunks(socket, [`data: ${list.replace("{", `{"pad":"${"x".repeat(9 * MIB)}",`)}\n\n`]);
      socket.write("0\r\n\r\n");
    },
  ];
  for (const [at, script] of scripts.entries()) {
    upstream.script = script;
    const text = await (await call(open, "tools/list")).text();
    assert.ok(!text.includes('"rm"'), `${at}: ${text.slice(-500)}`);
  }
});

test("JSON that the gateway cannot read is not shown if it must be inspected", async () => {
  const bodies = [
    Buffer.from(result(CARD), "utf16le"),
    Buffer.from(result(CARD).replace("[{", `[${"[".repeat(5_000)}${"]".repeat(5_000)},{`)),
    Buffer.from(`${result(CARD)},`),
  ];
  for (const [at, body] of bodies.entries()) {
    for (const type of ["Content-Type: application/json", "Content-Type: text/plain"]) {
      upstream.script = (socket) => reply(socket, { headers: [type], body });
      const answer = await call(guarded);
      const text = await answer.text();
      assert.ok(!text.includes("1111") && !text.includes("1\x001"), `${at} ${type}: ${text.slice(0, 300)}`);
    }
  }
  upstream.script = (socket) => reply(socket, { status: 500, headers: ["Content-Type: text/html"], body: "<p>oops" });
  assert.deepEqual([(await call(guarded)).status, await (await call(guarded)).text()], [500, "<p>oops"]);
});

interface Fault {
  readonly script: (socket: Socket) => void;
  readonly code: string;
  /** Output that was shown before the fault. */
  readonly before?: string;
}

const PROGRESS = 'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}\n\n';
const FAULTS: Readonly<Record<string, Fault>> = {
  "resets at once": { script: (socket) => socket.resetAndDestroy(), code: "upstream_unreachable" },
  "speaks another protocol": { script: (socket) => socket.end("hello\r\n\r\n"), code: "upstream_invalid" },
  "breaks off inside a whole answer": {
    script: (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"'),
    code: "upstream_invalid",
  },
  "breaks off inside a frame": {
    script: (socket) => {
      chunks(socket, [`${PROGRESS}data: {"jsonrpc":"2.0","id":7,"res`]);
      setImmediate(() => socket.destroy());
    },
    code: "upstream_incomplete",
    before: PROGRESS,
  },
};

for (const [how, { script, code, before = "" }] of Object.entries(FAULTS)) {
  test(`a server that ${how} is reported to the client as an error of its protocol`, async () => {
    upstream.script = script;
    for (const key of [guarded, open]) {
      const answer = await call(key);
      const text = await answer.text();
      assert.ok(text.startsWith(before), text);
      const rest = text.slice(before.length);
      // A partial event is not an event, and the error is one.
      const output = before === "" ? rest : (rest.trim().match(/^data: (.*)$/)?.[1] ?? `not one event: ${rest}`);
      const { id, error } = JSON.parse(output) as Refusal;
      assert.deepEqual([id, error?.data?.code], [7, code], text);
      assert.match(error?.message ?? "", /MCP server tools/);
      assert.equal(answer.status, before === "" ? 502 : 200);
    }
  });
}

for (const status of [301, 302, 303, 307, 308]) {
  test(`a redirect ${status} of a server is refused and does not reach the client`, async () => {
    upstream.script = (socket) => reply(socket, { status, headers: ["LOCATION: http://evil.test/rpc"], body: "away" });
    for (const key of [guarded, open]) {
      const answer = await call(key);
      const text = await answer.text();
      const { id, error } = JSON.parse(text) as Refusal;
      assert.deepEqual([answer.status, id, error?.data?.code], [502, 7, "upstream_redirect"], text);
      assert.match(error?.message ?? "", new RegExp(`MCP server tools answered with a redirect \\(${status}\\)`));
      assert.equal(answer.headers.get("location"), null);
      assert.doesNotMatch(text, /evil/);
    }
  });
}

test("idle connections that a server closes fail no call", async () => {
  const idleMs = 60;
  upstream.script = (socket) => {
    reply(socket, { headers: JSON_TYPE, body: result("fine") });
    setTimeout(() => socket.end(), idleMs);
  };
  const statuses = new Set<number>();
  for (let round = 0; round < 8; round += 1) {
    for (const { status } of await Promise.all(Array.from({ length: 4 }, () => call(guarded)))) statuses.add(status);
    // The calls should coincide with the close of their connections.
    await new Promise((done) => setTimeout(done, idleMs - 3 + (round % 6)));
  }
  assert.deepEqual([...statuses], [200]);
});

test("an idle stream is kept alive if it is inspected, and passes unchanged if not", async () => {
  upstream.script = (socket) => {
    chunks(socket, [PROGRESS]);
    setTimeout(() => {
      writeChunk(socket, `data: ${result(CARD)}\n\n`);
      socket.write("0\r\n\r\n");
    }, HEARTBEAT_MS * 3.5);
  };
  const [kept, passed] = await Promise.all([guarded, open].map(async (key) => await (await call(key)).text()));
  assert.match(kept ?? "", /^data: .*\n\n(?:: keep-alive\n\n){2,3}data: .*<CREDIT_CARD>/);
  assert.equal(passed, `${PROGRESS}data: ${result(CARD)}\n\n`);
});

test("a body that is too large and a body that is not JSON are refused with an error of the protocol", async () => {
  const before = upstream.requests.length;
  const headers = headersOf(open, "tools/call", "echo");
  const body = bodyOf("tools/call", { name: "echo", arguments: { text: "x".repeat(MAX_BODY_BYTES) } });
  const large = await fetch(`${gateway.url}/mcp/tools`, { method: "POST", headers, body });
  const refusal = (await large.json()) as Refusal;
  assert.deepEqual([large.status, refusal.id, refusal.error?.code], [413, null, -31413]);
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  const nested = bodyOf("tools/call", { name: "echo", arguments: { deep: 1 } }).replace('"deep":1', `"deep":${deep}`);
  for (const broken of ["{", nested]) {
    const answer = await fetch(`${gateway.url}/mcp/tools`, { method: "POST", headers, body: broken });
    assert.deepEqual([answer.status, ((await answer.json()) as Refusal).error?.code], [400, -32700]);
  }
  assert.equal(upstream.requests.length, before);
});

test("a client that disconnects cancels its call, before the answer and during a stream", async () => {
  for (const begin of [
    () => undefined,
    (socket: Socket) => chunks(socket, [PROGRESS]),
    (socket: Socket) => reply(socket, { headers: ["Content-Length: 9999"], body: "{" }),
  ]) {
    const reached = new Promise<Socket>((done) => {
      upstream.script = (socket) => {
        begin(socket);
        done(socket);
      };
    });
    const leaving = new AbortController();
    const headers = headersOf(guarded, "tools/call", "echo");
    const body = bodyOf("tools/call", { name: "echo", arguments: {} });
    const asked = fetch(`${gateway.url}/mcp/tools`, { method: "POST", headers, body, signal: leaving.signal });
    asked.catch(() => undefined);
    const socket = await within("the call", reached);
    const closed = new Promise<void>((done) => socket.once("close", () => done()));
    const at = performance.now();
    leaving.abort();
    await within("the end of the call", closed);
    assert.ok(performance.now() - at < ABORT_LIMIT_MS, `${performance.now() - at} ms`);
  }
  await idle(gateway);
});

test("an answer of 50 MB passes without being buffered", async () => {
  const size = 50 * MIB;
  const piece = Buffer.alloc(MIB, "x");
  upstream.script = (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${size}\r\n\r\n`);
    let left = size / MIB;
    const more = (): void => {
      while (left-- > 0) if (!socket.write(piece)) return void socket.once("drain", more);
    };
    more();
  };
  const read = async (): Promise<number> => {
    let bytes = 0;
    for await (const chunk of (await call(open)).body ?? []) bytes += (chunk as Uint8Array).length;
    return bytes;
  };
  assert.equal(await read(), size);
  const before = memoryOf(gateway.pid, "VmHWM");
  for (let at = 0; at < 3; at++) assert.equal(await read(), size);
  await idle(gateway);
  const grown = (memoryOf(gateway.pid, "VmHWM") ?? 0) - (before ?? 0);
  assert.ok(grown < 40 * MIB, `${grown / MIB} MiB`);
});

test("idle streams cost little memory each, and none once they are closed", async (t) => {
  upstream.script = (socket) => chunks(socket, [": alive\n\n"]);
  const params = { notifications: { toolsListChanged: true } };
  const body = bodyOf("subscriptions/listen", params);
  const head = Object.entries(headersOf(guarded, "subscriptions/listen")).map(([name, value]) => `${name}: ${value}`);
  const lines = ["POST /mcp/tools HTTP/1.1", `Host: 127.0.0.1:${gateway.port}`, ...head];
  const request = `${[...lines, `Content-Length: ${Buffer.byteLength(body)}`, "", ""].join("\r\n")}${body}`;
  const before = memoryOf(gateway.pid, "VmRSS") ?? 0;
  const clients = await Promise.all(
    Array.from({ length: STREAMS }, async () => {
      const client = await rawClient(t, gateway.port);
      client.send(request);
      return client;
    }),
  );
  await eventually("the first bytes of all", () => clients.every((one) => one.received().includes(": alive")));
  const series = await readMetrics(gateway);
  assert.equal(sumOf(series, "gateway_in_flight_requests"), STREAMS);
  const each = ((memoryOf(gateway.pid, "VmRSS") ?? 0) - before) / STREAMS;
  t.diagnostic(`${STREAMS} idle streams, ${Math.round(each / 1_024)} KiB each`);
  assert.ok(each < 256 * 1_024, `${each} bytes each`);
  for (const { socket } of clients) socket.destroy();
  await idle(gateway);
  await eventually("the end of the calls", () => upstream.open() <= 2);
});

test("no mutation of a denied call reaches the server", async (t) => {
  upstream.script = (socket) => reply(socket, { headers: JSON_TYPE, body: result("ran") });
  const seed = Number(process.env["GATEWAY_TEST_SEED"] ?? Date.now() % 1_000_000);
  t.diagnostic(`GATEWAY_TEST_SEED=${seed}`);
  const random = randomFrom(seed);
  const plain = bodyOf("tools/call", { name: "rm", arguments: { path: "/" } });
  const before = upstream.requests.length;
  const statuses = new Map<number, number>();
  let left = MUTATIONS;
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      let body: Buffer = Buffer.from(plain);
      for (let times = 1 + (random() % 3); times > 0; times--) body = mutated(body, random);
      const name = random() % 4 === 0 ? OTHER_NAMES[random() % OTHER_NAMES.length] : nameIn(body);
      const headers = { ...headersOf(open, "tools/call", name), ...TYPES[random() % TYPES.length] };
      const answer = await fetch(`${gateway.url}/mcp/tools`, { method: "POST", headers, body: new Uint8Array(body) });
      await answer.arrayBuffer();
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  const sent = upstream.requests.slice(before);
  t.diagnostic(`${JSON.stringify([...statuses])}, ${sent.length} of other names reached the server`);
  assert.deepEqual(
    sent.filter(namesRm).map(({ body }) => body.toString()),
    [],
  );
  assert.equal(statuses.get(500), undefined);
  assert.ok(sent.length > 0, "calls of other names reach it");
});

const OTHER_NAMES = ["rm", "echo", "=?base64?cm0=?=", "RM", "rm "];

const TYPES = [
  {},
  {},
  {},
  { "content-type": "application/json; charset=utf-8" },
  { "content-type": "APPLICATION/JSON" },
];
