// tier: test
/**
 * Calls of A2A agents through a running gateway: what the agent receives, what the caller gets, and which callers may
 * send what. Source: specification document 3 (`a2a[]`); a2a reference; design decisions, sections 2, 7 and 11.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { recordsIn } from "../admin/support/trail.ts";
import { mint, startGoverned } from "../governance/support/governed.ts";
import { idle, readMetrics, sumOf } from "../support/metrics.ts";
import { type Recorded, reply, type Script, scriptedUpstream } from "../support/upstream.ts";
import { eventually } from "../support/wait.ts";

const file = { after };
const CARD = "4111 1111 1111 1111";
const SSN = "536-90-4399";
const AGENT_KEY = "the-agents-own-key";

const upstream = await scriptedUpstream(file);
const { node, gateway } = await startGoverned(file, {
  deployment: {
    a2a: [
      { name: "helper", url: `${upstream.url}/rpc?v=1`, api_key: AGENT_KEY, cost_per_call: 5 },
      { name: "keyless", url: `${upstream.url}/rpc` },
      { name: "gone", url: "http://127.0.0.1:9/rpc" },
    ],
    budgets: [{ name: "few", limit: 12, shared: true }],
    profiles: [{ name: "few", budget: "few" }],
    access_rules: [
      {
        name: "no-cancel",
        at: ["a2a"],
        condition: 'peer == "helper" && method == "CancelTask" && task_id == "t-1"',
        action: "deny",
        message: "t-1 stays",
      },
      { name: "no-files", at: ["a2a"], condition: 'parts.exists(p, p.kind == "file")', action: "deny" },
      { name: "no-agents", at: ["a2a"], condition: 'role == "ROLE_AGENT"', action: "deny" },
      { name: "no-context", at: ["a2a"], condition: 'context_id == "secret"', action: "deny" },
    ],
    guardrails: {
      detectors: [
        {
          type: "pii",
          name: "finder",
          prefilter: "pure",
          entities: ["CREDIT_CARD", "US_SSN"],
          apply_to: ["user", "tool_args", "output"],
        },
      ],
      rules: [
        { name: "no-ssn", when: '"pii/US_SSN" in labels && hop == "a2a" && peer == "helper"', action: "deny" },
        { name: "cards", action: "redact", select: 'a.type == "pii/CREDIT_CARD"' },
      ],
    },
  },
});
const key = await mint(node, "plain");
const frugal = await mint(node, "frugal", { profile: "few" });

type Facts = Readonly<Record<string, unknown>>;

interface Call {
  readonly path?: string;
  readonly key?: string | undefined;
  readonly method?: string;
  readonly params?: Facts;
  /** Fields of the message, used without `params`. */
  readonly message?: Facts;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly id?: number | string;
  /** `false` omits the version header. */
  readonly isVersioned?: boolean;
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: {
    readonly id?: unknown;
    readonly result?: Facts;
    readonly error?: {
      readonly code: number;
      readonly message: string;
      readonly data?: readonly { readonly reason?: string; readonly metadata?: { readonly code?: string } }[];
    };
  };
}

const MESSAGE = { messageId: "m-1", role: "ROLE_USER", parts: [{ text: "hello" }] };

async function call(options: Call = {}): Promise<Answer> {
  const { path = "/a2a/helper", method = "SendMessage", message = {}, headers = {}, id = 1 } = options;
  const credential = "key" in options ? options.key : key;
  const params = options.params ?? { message: { ...MESSAGE, ...message } };
  const response = await fetch(gateway.url + path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(options.isVersioned !== false && { "a2a-version": "1.0" }),
      ...(credential !== undefined && { authorization: `Bearer ${credential}` }),
      ...headers,
    },
    body: options.body ?? JSON.stringify({ jsonrpc: "2.0", id, method, params }),
  });
  const text = await response.text();
  const last = text.split("\n").findLast((line) => line.startsWith("data: "));
  const body = JSON.parse(last?.slice("data: ".length) ?? (text || "{}")) as Answer["body"];
  return { status: response.status, headers: response.headers, text, body };
}

const codeOf = ({ body }: Answer): string | undefined => body.error?.data?.[0]?.metadata?.code;

const idOf = ({ body }: Recorded): unknown => (JSON.parse(body.toString()) as { readonly id: unknown }).id;

const answering =
  (result: Facts): Script =>
  (socket, request) =>
    reply(socket, {
      headers: ["Content-Type: application/json"],
      body: JSON.stringify({ jsonrpc: "2.0", id: idOf(request), result }),
    });
const messageWith = (text: string): Script =>
  answering({ message: { messageId: "m-2", role: "ROLE_AGENT", parts: [{ text }] } });

const streaming =
  (results: readonly Facts[]): Script =>
  (socket, request) => {
    const events = results.map(
      (result) => `data: ${JSON.stringify({ jsonrpc: "2.0", id: idOf(request), result })}\n\n`,
    );
    socket.end(`HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n${events.join("")}`);
  };

const artifact = (text: string): Facts => ({
  artifactUpdate: { taskId: "t", contextId: "c", artifact: { artifactId: "a", parts: [{ text }] }, append: true },
});

test("a call is forwarded unchanged except for the agent's credential and one version, and its answer is returned", async () => {
  upstream.script = messageWith("hello");
  const before = upstream.requests.length;
  const answer = await call({
    headers: {
      cookie: "a=b",
      "x-api-key": "k",
      origin: gateway.url,
      "a2a-version": "1.0.3",
      "a2a-extensions": "https://example.com/ext",
    },
    id: "one",
  });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.text, `{"jsonrpc":"2.0","id":"one","result":${JSON.stringify(answer.body.result)}}`);
  const [sent] = upstream.requests.slice(before);
  assert.ok(sent !== undefined && upstream.requests.length === before + 1);
  assert.equal(sent.target, "/rpc?v=1");
  assert.equal(
    sent.body.toString(),
    JSON.stringify({ jsonrpc: "2.0", id: "one", method: "SendMessage", params: { message: MESSAGE } }),
  );
  const headers = sent.headers.map(([name, value]) => [name.toLowerCase(), value]);
  const valuesOf = (wanted: string) => headers.filter(([name]) => name === wanted).map(([, value]) => value);
  assert.deepEqual(valuesOf("authorization"), [`Bearer ${AGENT_KEY}`]);
  assert.deepEqual(valuesOf("a2a-version"), ["1.0"]);
  assert.deepEqual(valuesOf("a2a-extensions"), ["https://example.com/ext"]);
  for (const name of ["cookie", "x-api-key", "origin"]) assert.deepEqual(valuesOf(name), [], name);
  assert.ok(!JSON.stringify(sent.headers).includes(key));
});

test("the version may be given in the query, which is not forwarded", async () => {
  upstream.script = messageWith("hello");
  const answer = await call({ path: "/a2a/helper?A2A-Version=1.0", isVersioned: false });
  assert.equal(answer.status, 200, answer.text);
  const sent = upstream.requests.at(-1);
  assert.equal(sent?.target, "/rpc?v=1");
  assert.ok(sent?.headers.some(([name, value]) => name.toLowerCase() === "a2a-version" && value === "1.0"));
  const { error } = (await call({ isVersioned: false })).body;
  assert.equal(error?.code, -32009);
  assert.match(error?.message ?? "", /no header A2A-Version, .* Supported versions: 1\.0/);
});

test("version 0.3, its methods and every other version are refused with the errors that clients know", async () => {
  const before = upstream.requests.length;
  for (const version of ["", "0.3", "1", "1.1", "2.0", "1.0, 0.3"]) {
    const answer = await call({ headers: { "a2a-version": version }, id: 4 });
    const { error } = answer.body;
    assert.deepEqual(
      [answer.status, answer.body.id, error?.code, error?.data?.[0]?.reason],
      [200, 4, -32009, "VERSION_NOT_SUPPORTED"],
      version,
    );
    assert.match(error?.message ?? "", /Supported versions: 1\.0/);
  }
  assert.equal((await call({ method: "message/send" })).body.error?.code, -32601);
  assert.equal(upstream.requests.length, before);
});

test("push notifications are refused, as methods and as part of a message", async () => {
  const before = upstream.requests.length;
  const methods = ["Create", "Get", "Delete"].map((verb) => `${verb}TaskPushNotificationConfig`);
  for (const method of [...methods, "ListTaskPushNotificationConfigs"]) {
    const answer = await call({ method, params: { taskId: "t", id: "c" } });
    assert.equal(answer.body.error?.code, -32003, method);
  }
  const config = { url: "https://elsewhere.example/hook" };
  for (const name of ["taskPushNotificationConfig", "task_push_notification_config", "TaskPushNotificationConfig"]) {
    const answer = await call({ params: { message: MESSAGE, configuration: { [name]: config } } });
    assert.ok((answer.body.error?.code ?? 0) < 0, name);
  }
  // The card declares none. Source: A2A specification, 3.3.4.
  assert.equal((await call({ method: "GetExtendedAgentCard", params: {} })).body.error?.code, -32004);
  assert.equal(upstream.requests.length, before);
});

test("rules on method, task, context, role and parts refuse a call with an error for its request id", async () => {
  const before = upstream.requests.length;
  const off = await call({ method: "CancelTask", params: { id: "t-1" }, id: "c" });
  assert.deepEqual(
    [off.status, off.body.id, off.body.error?.code, off.body.error?.message, codeOf(off)],
    [403, "c", -31403, "t-1 stays", "policy_denied"],
  );
  const denied: readonly Call[] = [
    { message: { parts: [{ text: "a" }, { url: "https://files.example/x.pdf" }] } },
    { message: { parts: [{ raw: "aGk=" }] } },
    { message: { role: "ROLE_AGENT" } },
    { message: { contextId: "secret" } },
    { method: "ListTasks", params: { contextId: "secret" } },
    { method: "ListTasks", params: { context_id: "secret" } },
  ];
  for (const options of denied) assert.equal(codeOf(await call(options)), "policy_denied", JSON.stringify(options));
  assert.equal(upstream.requests.length, before);
  upstream.script = answering({ id: "t-2", status: { state: "TASK_STATE_CANCELED" } });
  assert.equal((await call({ method: "CancelTask", params: { id: "t-2" } })).status, 200);
  const record = await eventually("the record of the denial", () =>
    recordsIn(node.output()).find(({ event, data }) => event === "access.decision" && data["rule"] === "no-cancel"),
  );
  assert.deepEqual([record.data["hop"], record.data["to"], record.data["route"]], ["a2a", "helper", "CancelTask"]);
});

test("a call that agents parse differently from the rules is refused", async () => {
  const before = upstream.requests.length;
  const plain = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message: MESSAGE } });
  const bodies = [
    `[${plain}]`,
    plain.replace('"ROLE_USER"', "2"),
    plain.replace('"ROLE_USER"', '"agent"'),
    plain.replace('"role":"ROLE_USER"', '"role":"ROLE_USER","role":"ROLE_AGENT"'),
    plain.replace('"role":', '"Role":"ROLE_AGENT","role":'),
    plain.replace('"messageId"', '"context_id":"secret","messageId"'),
    plain.replace('{"text":"hello"}', '{"text":"hello","url":"https://files.example/x.pdf"}'),
    plain.replace('{"text":"hello"}', "{}"),
    plain.replace('[{"text":"hello"}]', "[]"),
    plain.replace('"SendMessage"', '"sendmessage"'),
    plain.replace('"SendMessage"', '"SendMe\u017fsage"'),
    plain.replace('"jsonrpc":"2.0",', ""),
  ];
  for (const body of bodies) {
    const answer = await call({ body });
    assert.ok(answer.status === 200 && answer.body.error !== undefined, `${body} ${answer.text}`);
  }
  const type = await call({ headers: { "content-type": "application/a2a+json" } });
  assert.deepEqual([type.status, type.body.error?.code], [415, -32005]);
  assert.equal(upstream.requests.length, before);
});

test("parts, answers and streamed artifacts are inspected", async () => {
  upstream.script = messageWith(`card ${CARD}`);
  const parts = [{ text: `with ${CARD}` }, { data: { deep: [`in ${CARD}`] } }];
  const answer = await call({ message: { parts } });
  assert.equal(answer.status, 200, answer.text);
  assert.match(answer.text, /"text":"card <CREDIT_CARD>"/);
  assert.match(
    String(upstream.requests.at(-1)?.body),
    /\[\{"text":"with <CREDIT_CARD>"\},\{"data":\{"deep":\["in <CREDIT_CARD>"\]\}\}\]/,
  );
  upstream.script = messageWith(`number ${SSN}`);
  assert.deepEqual([(await call()).status, codeOf(await call())], [403, "guardrail_denied"]);
  const updates = [{ task: { id: "t", status: { state: "TASK_STATE_WORKING" } } }, artifact(`seen ${CARD}`)];
  upstream.script = streaming([...updates, artifact("and more")]);
  const streamed = await call({ method: "SendStreamingMessage" });
  assert.equal(streamed.status, 200);
  assert.match(streamed.text, /seen <CREDIT_CARD>.*and more/s);
  upstream.script = streaming([...updates, artifact(SSN), artifact("never")]);
  const cut = await call({ method: "SendStreamingMessage", id: 9 });
  assert.match(cut.text, /seen <CREDIT_CARD>/);
  assert.deepEqual([cut.status, cut.body.id, codeOf(cut)], [200, 9, "guardrail_denied"]);
  assert.ok(!cut.text.includes("never") && !cut.text.includes(SSN));
  assert.ok(!node.output().includes(CARD) && !node.output().includes(SSN));
});

test("an agent that speaks 0.3 is refused, and a rejected agent credential is reported as the operator's problem", async () => {
  upstream.script = answering({ kind: "message", messageId: "m", role: "agent", parts: [] });
  const old = await call();
  assert.deepEqual([old.status, codeOf(old)], [502, "unsupported_version"], old.text);
  upstream.script = streaming([{ kind: "task", id: "t", status: { state: "working" } }]);
  const stream = await call({ method: "SendStreamingMessage" });
  assert.equal(codeOf(stream), "unsupported_version", stream.text);
  upstream.script = (socket) => reply(socket, { status: 401, headers: ["www-authenticate: Bearer"], body: "{}" });
  const unaccepted = await call();
  assert.deepEqual([unaccepted.status, unaccepted.headers.get("www-authenticate")], [502, null]);
  const keyless = await call({ path: "/a2a/keyless" });
  assert.deepEqual([keyless.status, codeOf(keyless)], [502, "upstream_invalid"], keyless.text);
  assert.match(keyless.text, /Agent keyless requires a credential, and none is configured for it/);
});

test("errors of the agent are returned unchanged", async () => {
  const error = { code: -32001, message: "Task not found: nope", data: [{ reason: "TASK_NOT_FOUND" }] };
  upstream.script = (socket, request) =>
    reply(socket, {
      headers: ["Content-Type: application/json; charset=utf-8"],
      body: JSON.stringify({ jsonrpc: "2.0", id: idOf(request), error }),
    });
  const answer = await call({ method: "GetTask", params: { id: "nope" } });
  assert.deepEqual([answer.status, answer.body.error], [200, error]);
});

test("a budget is charged per call, and an unreachable agent costs nothing", async () => {
  upstream.script = messageWith("hello");
  const statuses: number[] = [];
  for (let at = 0; at < 3; at++) {
    const { status, headers } = await call({ key: frugal });
    statuses.push(status);
    // Some clients read a body only with status 200, so the retry time is in the headers too.
    assert.equal(/^\d+$/.test(headers.get("retry-after") ?? ""), status === 429);
  }
  assert.deepEqual(statuses, [200, 200, 429]);
  const unreached = await call({ path: "/a2a/gone", key: frugal });
  assert.deepEqual([unreached.status, codeOf(unreached)], [502, "upstream_unreachable"], unreached.text);
  assert.match(unreached.body.error?.message ?? "", /Agent gone/);
});

test("another method than POST, an unknown agent and a call without a credential are refused", async () => {
  const before = upstream.requests.length;
  for (const method of ["GET", "DELETE", "PUT"]) {
    const answer = await fetch(`${gateway.url}/a2a/helper`, { method, headers: { authorization: `Bearer ${key}` } });
    assert.deepEqual([answer.status, answer.headers.get("allow")], [405, "POST"], method);
    assert.doesNotMatch(await answer.text(), /MCP/);
  }
  const unknown = await call({ key: undefined });
  assert.deepEqual([(await call({ path: "/a2a/nobody" })).status, unknown.status], [404, 401]);
  assert.match(unknown.headers.get("www-authenticate") ?? "", /^Bearer\b/);
  assert.equal((await call({ headers: { origin: "https://evil.example" } })).status, 403);
  assert.equal(upstream.requests.length, before);
});

test("a suspended agent is refused with the reason", async () => {
  await node.client.call("put_suspension", { params: { kind: "a2a", name: "helper" }, body: { reason: "it leaks" } });
  const answer = await eventually("the suspension", async () => {
    const one = await call();
    return one.status === 503 && one;
  });
  assert.match(answer.body.error?.message ?? "", /Agent helper is suspended: it leaks/i);
  const series = await readMetrics(gateway);
  assert.ok(sumOf(series, "gateway_requests_total", { route: "a2a", provider: "a2a:helper" }) > 10);
  await idle(gateway);
});

test("a client of the HTTP+JSON binding learns which binding an agent has here", async () => {
  for (const path of ["/a2a/helper/message:send", "/a2a/helper/v1/message:stream", "/a2a/helper/tasks/t1"]) {
    const answer = await call({ path });
    assert.deepEqual([answer.status, codeOf(answer)], [404, "not_found"], path);
    assert.match(answer.body.error?.message ?? "", /is served at `\/a2a\/NAME` alone, over JSON-RPC/, path);
  }
  assert.match((await call({ path: "/a2a/nobody/message:send" })).text, /No agent of this name is configured/);
});
