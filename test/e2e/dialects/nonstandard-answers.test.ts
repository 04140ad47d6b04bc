/**
 * Provider answers outside their dialect: redirects, errors within 200, unrequested encodings, silence. Each goes
 * through a governed gateway to a client of either dialect. Source: design decisions, section 20.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import { WebSocket } from "ws";
import { say } from "../governance/support/governed.ts";
import { endChunks, reply, type Script, startEvents, writeChunk } from "../support/upstream.ts";
import { eventually } from "../support/wait.ts";
import { ENCODINGS, ERRORS } from "./support/disguised-errors.ts";
import { completion, data, GOOD, json, MESSAGES, startProviders, stream } from "./support/scripted-providers.ts";

const { oc, am, spare, node, gateway, key, ask, asMessages, spent } = await startProviders({ after });

const JSON_500 = { status: 500, headers: ["Content-Type: application/json"] };

for (const status of [301, 302, 303, 307, 308]) {
  test(`a redirect ${status} is refused on every route and kind of upstream`, async () => {
    const away: Script = (socket) =>
      reply(socket, { status, headers: [`LOCATION: http://evil.test/v1`], body: "away" });
    oc.script = away;
    am.script = away;
    const rpc = { jsonrpc: "2.0", id: 1, params: {} };
    const requests = [
      () => ask("oc-1"),
      () => ask("oc-1", { stream: true }),
      () => asMessages(),
      () => ask("am-1", { max_tokens: 9 }, MESSAGES),
      () => say(gateway, { key, method: "GET", path: "/v1/files" }),
      () => say(gateway, { key, method: "GET", path: "/v1/files/f/content" }),
      () => say(gateway, { key, method: "DELETE", path: "/v1/files/f" }),
      () =>
        say(gateway, {
          key,
          path: "/a2a/agent",
          headers: { "a2a-version": "1.0" },
          body: { ...rpc, method: "GetTask", params: { id: "t" } },
        }),
    ];
    for (const [at, each] of requests.entries()) {
      const answer = await each();
      assert.equal(answer.status, 502, `${at}: ${answer.text}`);
      assert.equal(answer.headers.get("location"), null);
      assert.match(answer.text, /upstream_redirect/);
      assert.doesNotMatch(answer.text, /evil/);
    }
    const { items } = await node.client.call("list_backend_errors", { params: { name: "oc" } });
    assert.equal(items[0]?.kind, "redirect");
    assert.match(String(items[0]?.reason), new RegExp(String(status)));
  });
}

test("a redirected WebSocket handshake is refused", async () => {
  oc.script = (socket) => socket.end("HTTP/1.1 307 Away\r\nlocation: ws://evil.test/\r\ncontent-length: 0\r\n\r\n");
  const websocket = new WebSocket(`${gateway.url.replace("http", "ws")}/v1/realtime?model=oc-1`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const [, response] = (await once(websocket, "unexpected-response")) as [
    unknown,
    { statusCode: number; headers: object },
  ];
  assert.equal(response.statusCode, 502);
  assert.ok(!("location" in response.headers));
  websocket.on("error", () => undefined).terminate();
});

for (const [what, error, status, pattern] of ERRORS) {
  test(`an error within a 200, as ${what}, becomes that error, whole and as the first event`, async () => {
    for (const script of [json(error), stream(": waiting\n\n", data(error))]) {
      for (const facts of [{}, { stream: true }]) {
        oc.script = script;
        const units = await spent(async () => {
          const same = await ask("oc-1", facts);
          assert.equal(same.status, status);
          assert.equal(same.headers.get("content-type"), "application/json");
          assert.equal(same.text, JSON.stringify(error));
          const translated = await asMessages(facts);
          assert.equal(translated.status, status, translated.text);
          const parsed = JSON.parse(translated.text) as { type: string; error: { message: string } };
          assert.equal(parsed.type, "error");
          assert.ok(parsed.error.message.includes(pattern), parsed.error.message);
        });
        assert.equal(units, 0);
        spare.script = json(GOOD);
        const moved = await ask("moving", facts);
        const moves = status === 429 || status >= 500;
        assert.equal(moved.headers.get("x-gateway-provider"), moves ? "spare" : "moving");
      }
    }
  });
}

test("an error within a 200 becomes that error on the routes of either dialect, and other content passes", async () => {
  const error = { error: { message: "slow down", type: "rate_limit_error" } };
  const paths = ["/v1/embeddings", "/v1/completions", "/v1/responses", "/v1/images/generations"];
  for (const script of [json(error), json(error, "Content-Encoding: identity")]) {
    oc.script = script;
    for (const path of paths) {
      const answer = await say(gateway, { key, path, body: { model: "oc-1", input: "a", prompt: "a" } });
      assert.deepEqual([answer.status, answer.text], [429, JSON.stringify(error)], path);
    }
    const listed = await say(gateway, { key, method: "GET", path: "/v1/models" });
    assert.equal(listed.status, 429);
  }
  am.script = json({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } });
  for (const path of [MESSAGES, "/v1/messages/count_tokens"]) {
    assert.equal((await ask("am-1", { max_tokens: 9 }, path)).status, 529, path);
  }
  // The content of a file or a stored object is not an error of the provider; an object that reports its own failure is
  // not one either.
  oc.script = json(error);
  assert.equal((await say(gateway, { key, method: "GET", path: "/v1/files/f/content" })).status, 200);
  oc.script = json({ id: "r", object: "response", status: "failed", error: { code: "server_error", message: "m" } });
  assert.equal((await say(gateway, { key, path: "/v1/responses", body: { model: "oc-1", input: "a" } })).status, 200);
  for (const message of [{ content: '{"error":{"message":"m","code":500}}' }, { content: "error", error: null }]) {
    oc.script = json(completion(message));
    assert.equal((await ask("oc-1")).status, 200);
  }
});

test("usage reported with an error is charged, and an error within a stream costs what was received", async () => {
  oc.script = json({
    error: { message: "m", code: 500 },
    usage: { prompt_tokens: 7, completion_tokens: 0, total_tokens: 7 },
  });
  assert.equal(await spent(() => ask("oc-1")), 7);
  const piece = data({ choices: [{ index: 0, delta: { content: "a" } }] });
  oc.script = stream(piece, data({ error: { message: "m", code: 500 } }));
  assert.equal(await spent(() => ask("oc-1", { stream: true })), 0);
  assert.equal(await spent(() => asMessages({ stream: true })), 0);
});

test("an error with counts that are all zero is charged nothing", async () => {
  const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  const error = { error: { message: "m", type: "server_error", code: null }, usage };
  const failed = { id: "", choices: null, base_resp: { status_code: 1002, status_msg: "rate limit exceeded" }, usage };
  for (const script of [
    json(error),
    json(failed),
    (socket) => reply(socket, { ...JSON_500, body: JSON.stringify(error) }),
  ] satisfies Script[]) {
    oc.script = script;
    assert.equal(await spent(() => ask("oc-1")), 0);
    assert.equal(await spent(() => asMessages()), 0);
  }
});

test("an answer with an empty error beside its content is an answer, and an error beside null content is an error", async () => {
  for (const error of [{}, { message: "", type: "", param: "", code: null }, { code: 0, message: "" }, "", false]) {
    oc.script = json({ ...GOOD, error });
    assert.equal((await ask("oc-1")).status, 200, JSON.stringify(error));
    assert.match((await asMessages()).text, /"text":"fine"/);
  }
  for (const body of [
    { code: 20_012, message: "Model does not exist", data: null },
    { error_code: 18, error_msg: "rate limit", choices: null },
    { __type: "com.service#ThrottlingException", message: "slow down", usage: null },
  ]) {
    const status = "code" in body ? 502 : 429;
    for (const script of [json(body), stream(data(body))]) {
      oc.script = script;
      assert.equal((await ask("oc-1")).status, status, JSON.stringify(body));
    }
  }
});

test("an error that a stream has in a field of its own is that error, and in mid-stream its message is passed on", async () => {
  const field = 'error: {"code":400,"message":"too long","type":"invalid_request_error"}\n\n';
  oc.script = stream(field, "data: [DONE]\n\n");
  const units = await spent(async () => {
    const same = await ask("oc-1", { stream: true });
    assert.equal(same.status, 400);
    assert.deepEqual(JSON.parse(same.text), {
      error: { code: 400, message: "too long", type: "invalid_request_error" },
    });
    assert.equal((await asMessages({ stream: true })).status, 400);
  });
  assert.equal(units, 0);
  const piece = data({ choices: [{ index: 0, delta: { content: "a" } }] });
  oc.script = stream(piece, field);
  assert.equal((await ask("oc-1", { stream: true })).text, piece + field);
  assert.match((await asMessages({ stream: true })).text, /event: error\ndata: .*"message":"too long"/);
  oc.script = stream(piece, "event: error\ndata: upstream timed out\n\n");
  assert.match((await asMessages({ stream: true })).text, /event: error\ndata: .*"message":"upstream timed out"/);
  oc.script = stream(piece, "event: error\ndata: <html>secret</html>\n\n");
  assert.doesNotMatch((await asMessages({ stream: true })).text, /secret/);
});

for (const [what, name, encode] of ENCODINGS) {
  test(`an answer in ${what}, which was not requested, is decoded and metered`, async () => {
    const encoded = (plain: string, status = 200, type = "application/json"): Script => {
      const body = encode(Buffer.from(plain));
      return (socket) =>
        reply(socket, { status, headers: [`Content-Type: ${type}`, `Content-Encoding: ${name}`], body });
    };
    const long = JSON.stringify(completion({ content: "fine ".repeat(20_000) }));
    for (const plain of [JSON.stringify(GOOD), long]) {
      oc.script = encoded(plain);
      assert.equal(await spent(() => ask("oc-1").then(({ text }) => assert.equal(text, plain))), 15);
      const translated = await asMessages();
      assert.equal(translated.status, 200, translated.text);
      assert.match(translated.text, /"text":"fine/);
    }
    const events =
      data({ choices: [{ index: 0, delta: { role: "assistant", content: "fine" } }] }) +
      data({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: GOOD.usage }) +
      "data: [DONE]\n\n";
    oc.script = encoded(events, 200, "text/event-stream");
    assert.equal(await spent(() => ask("oc-1", { stream: true }).then(({ text }) => assert.equal(text, events))), 15);
    assert.match((await asMessages({ stream: true })).text, /"text":"fine".*message_stop/s);
    oc.script = encoded('{"error":{"message":"too many","type":"x"}}', 429);
    assert.match((await asMessages()).text, /too many/);
  });
}

for (const name of ["none", "UTF-8", "", "chunked", "identity"]) {
  test(`an answer whose content encoding is "${name}" is read and metered as it is`, async () => {
    oc.script = json(GOOD, `Content-Encoding: ${name}`);
    assert.equal(await spent(() => ask("oc-1").then(({ text }) => assert.equal(text, JSON.stringify(GOOD)))), 15);
    assert.match((await asMessages()).text, /"text":"fine"/);
    const choices = [{ index: 0, delta: { content: "fine" }, finish_reason: "stop" }];
    const events = `${data({ choices, usage: { ...GOOD.usage, total_tokens: 25 } })}data: [DONE]\n\n`;
    oc.script = (socket) =>
      reply(socket, { headers: ["Content-Type: text/event-stream", `Content-Encoding: ${name}`], body: events });
    assert.equal(await spent(() => ask("oc-1", { stream: true }).then(({ text }) => assert.equal(text, events))), 25);
  });
}

test("an error that a server answers as a stream with its own status keeps its message", async () => {
  const body = data({ error: { message: "too many", type: "rate_limit_error" } });
  oc.script = (socket) => reply(socket, { status: 429, headers: ["Content-Type: text/event-stream"], body });
  for (const facts of [{}, { stream: true }]) {
    const answer = await asMessages(facts);
    assert.deepEqual([answer.status, /too many/.test(answer.text)], [429, true]);
    assert.equal((await ask("oc-1", facts)).text, body);
  }
});

test("an encoding that is corrupt, truncated, unknown or a bomb ends with a reason and bounded memory", async () => {
  const whole = gzipSync(JSON.stringify(completion({ content: "x".repeat(5_000) })));
  const corrupt = Buffer.from(whole);
  corrupt.fill(0xff, 20, 40);
  const bodies: readonly (readonly [string, Buffer, RegExp])[] = [
    ["gzip", corrupt, /cannot be decompressed/],
    ["gzip", whole.subarray(0, whole.length - 12), /cannot be decompressed/],
    [
      "br",
      Buffer.from([0x1b, 0x03, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
      /cannot be decompressed/,
    ],
    ["gzip", gzipSync(Buffer.alloc(60 << 20, " ")), /unpacks to more than 100 times/],
    ["snappy", Buffer.from("sNaPpY"), /could not be read/],
  ];
  for (const [encoding, body, reason] of bodies) {
    oc.script = (socket) =>
      reply(socket, { headers: ["Content-Type: application/json", `Content-Encoding: ${encoding}`], body });
    const answer = await asMessages();
    assert.equal(answer.status, 502);
    assert.match(answer.text, /upstream_invalid/);
    assert.match(answer.text, reason);
  }
  await eventually("the reason is listed", async () => {
    const { items } = await node.client.call("list_backend_errors", { params: { name: "oc" } });
    return items.some(({ kind, reason }) => kind === "invalid" && /unpacks to more/.test(String(reason)));
  });
  await eventually("the log tells it", () =>
    gateway
      .log()
      .some(({ message, kind }) => message === "an answer of an upstream could not be used" && kind === "invalid"),
  );
});

test("answers without content are reported with their reason", async () => {
  for (const [body, reason] of [
    ["<html><body>Welcome</body></html>", /web page/],
    ["", /empty/],
    ['{"choices":[]}', /no message/],
    ["nonsense", /not JSON/],
  ] as const) {
    oc.script = (socket) => reply(socket, { headers: ["Content-Type: text/html"], body });
    const answer = await asMessages();
    assert.equal(answer.status, 502);
    assert.match(answer.text, /upstream_invalid/);
    assert.match(answer.text, /Provider oc's answer could not be read/);
    assert.match(answer.text, reason);
  }
});

test("an idle stream is kept alive only if the gateway writes it", async () => {
  const silent: Script = (socket) => {
    startEvents(socket);
    setTimeout(() => {
      writeChunk(socket, data({ choices: [{ index: 0, delta: { content: "fine" }, finish_reason: "stop" }] }));
      writeChunk(socket, "data: [DONE]\n\n");
      endChunks(socket);
    }, 1_500);
  };
  oc.script = silent;
  const translated = await asMessages({ stream: true });
  assert.match(translated.text, /^(?:: keep-alive\n\n){2,}event: message_start/);
  const passed = await ask("oc-1", { stream: true });
  assert.doesNotMatch(passed.text, /keep-alive/);
});

test("a wait in milliseconds alone reaches a client of another dialect in seconds too", async () => {
  const busy = (...headers: readonly string[]): Script => {
    const body = JSON.stringify({ error: { message: "Slow down.", type: "rate_limit_error" } });
    return (socket) => reply(socket, { status: 429, headers: ["Content-Type: application/json", ...headers], body });
  };
  const cases: readonly (readonly [headers: readonly string[], seconds: string | null])[] = [
    [["retry-after-ms: 1500"], "2"],
    [["Retry-After-Ms: 20"], "1"],
    [["retry-after-ms: 0"], "0"],
    [["retry-after-ms: soon"], null],
    [["retry-after-ms: 1500", "Retry-After: 7"], "7"],
    [[], null],
  ];
  for (const [headers, seconds] of cases) {
    oc.script = busy(...headers);
    am.script = busy(...headers);
    for (const answer of [await asMessages(), await asMessages({ stream: true }), await ask("am-1")]) {
      assert.equal(answer.status, 429);
      assert.equal(answer.headers.get("retry-after"), seconds, String(headers));
    }
  }
});

test("a timeout is charged its input, and an unreached upstream nothing", async () => {
  oc.script = () => undefined;
  const units = await spent(() => ask("slow").then(({ status }) => assert.equal(status, 504)));
  assert.ok(units > 0 && units < 200, `${units} units`);
  assert.equal(await spent(() => ask("closed")), 0);
});

test("idle connections that the server closes fail no call", async () => {
  oc.script = (socket) => {
    reply(socket, { headers: ["Content-Type: application/json"], body: JSON.stringify(GOOD) });
    setTimeout(() => socket.end(), 60);
  };
  const statuses = new Set<number>();
  for (let round = 0; round < 8; round += 1) {
    const answers = await Promise.all(Array.from({ length: 5 }, () => ask("oc-1")));
    for (const { status, headers } of answers) {
      statuses.add(status);
      assert.equal(headers.get("x-gateway-attempts"), "1");
    }
    await new Promise((done) => setTimeout(done, 57 + (round % 6)));
  }
  assert.deepEqual([...statuses], [200]);
});
