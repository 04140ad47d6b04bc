/**
 * However a request ends, its resources are released exactly once: its place among the requests in flight, its bytes,
 * and its budget units. A fault, or the client's disconnect, is injected at each call that serving makes to the rest of
 * the node, one after the other, until there are no more such calls.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type ClientRequest, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { createInstruments, nullLog, systemClock } from "../../../src/base/index.ts";
import { createCallers, mintKey, type StoredKey } from "../../../src/server/auth/index.ts";
import { openPresenter } from "../../../src/server/credentials/index.ts";
import { Exchange } from "../../../src/server/dataplane/exchange.ts";
import {
  createMetrics,
  createOwnCards,
  createResponses,
  DEFAULT_MEMORY_BYTES,
  type GovernancePorts,
} from "../../../src/server/dataplane/index.ts";
import type { Ports } from "../../../src/server/dataplane/ports.ts";
import { serve } from "../../../src/server/dataplane/serve.ts";
import { createAdmission } from "../../../src/server/memory/index.ts";
import { compileWithoutNode } from "../../../src/server/node/configuration/compile-document.ts";
import { openOrigins } from "../../../src/server/upstream/index.ts";
import { eventually } from "../../e2e/support/wait.ts";
import { openCountedBudgets } from "./support/charges.ts";

type Fault = "throws" | "client leaves";

/** Injected event, and the call of the node at which it happens, counted from 1 per request; `undefined` for none. */
let fault: { readonly kind: Fault; readonly at: number } | undefined;
let calls = 0;
let client: ClientRequest | undefined;

function called(): void {
  calls++;
  if (calls !== fault?.at) return;
  if (fault.kind === "throws") throw new Error("a fault that was put here");
  client?.destroy();
}

/** Wraps a port so that an event may happen at each of these calls. */
function struck<Port extends object>(port: Port, names: readonly (keyof Port)[]): Port {
  const made: Port = Object.create(port);
  for (const name of names) {
    const method = port[name] as (...args: unknown[]) => unknown;
    const value = (...args: unknown[]): unknown => {
      called();
      return method.apply(port, args);
    };
    Object.defineProperty(made, name, { value });
  }
  return made;
}

const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const JSON_TYPE = { "content-type": "application/json" };

const upstream = createServer((asked, answer) => {
  const chunks: Buffer[] = [];
  asked.on("data", (chunk: Buffer) => chunks.push(chunk));
  asked.on("end", () => {
    const body = Buffer.concat(chunks);
    const isZipped = asked.headers["content-encoding"] === "gzip";
    answerAs(JSON.parse((isZipped ? gunzipSync(body) : body).toString()), asked, answer);
  });
});

function answerAs(
  { model, stream }: { model: string; stream?: boolean },
  asked: IncomingMessage,
  answer: ServerResponse,
) {
  const id = { id: "c", object: "chat.completion", created: 1, model };
  if (model === "failing") answer.writeHead(500, JSON_TYPE).end('{"error":{"message":"no"}}');
  else if (model === "breaking") {
    answer.writeHead(200, { ...JSON_TYPE, "content-length": "900" });
    answer.write('{"id":', () => asked.socket.destroy());
  } else if (stream === true) {
    answer.writeHead(200, { "content-type": "text/event-stream" });
    const chunk = JSON.stringify({ ...id, choices: [{ index: 0, delta: { content: "word " } }] });
    for (let at = 0; at < 3; at++) answer.write(`data: ${chunk}\n\n`);
    answer.end(`data: ${JSON.stringify({ ...id, choices: [], usage: USAGE })}\n\ndata: [DONE]\n\n`);
  } else {
    const choices = [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "hello" } }];
    const text = JSON.stringify({ ...id, choices, usage: USAGE });
    answer.writeHead(200, { ...JSON_TYPE, "content-length": text.length }).end(text);
  }
}

const front = createServer((asked, answer) => {
  calls = Number.NEGATIVE_INFINITY;
  const exchange = new Exchange(asked, answer, ports);
  calls = 0; // from here on
  serve(exchange, ports);
});

const key = mintKey(randomBytes);
const guardedKey = mintKey(randomBytes);
const admission = createAdmission({ maxInFlight: 100, maxBufferedBytes: 64 << 20 });
const counted = openCountedBudgets();
const origins = openOrigins();
const instruments = createInstruments();
const presenter = openPresenter({
  issuer: () => undefined,
  env: {},
  clock: systemClock,
  instruments,
  log: nullLog,
});
let ports: Ports;

before(async () => {
  await once(upstream.listen(0, "127.0.0.1"), "listening");
  await once(front.listen(0, "127.0.0.1"), "listening");
  const at = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const rule = { at: ["llm"], condition: 'model != ""', action: "allow" };
  const document = {
    version: 1,
    auth: { virtual_keys: true },
    budgets: [{ name: "shared", limit: 1_000_000_000, window: "day", shared: true, cost: { type: "TotalToken" } }],
    profiles: [
      { name: "team", budget: "shared" },
      { name: "guarded", budget: "shared" },
    ],
    access_rules: [{ ...rule, name: "noted" }],
    guardrails: {
      detectors: [{ type: "pii", prefilter: "pure" }],
      rules: [{ name: "no-secrets", when: 'annotations.exists(a, a.category == "secret")', action: "deny" }],
    },
    providers: [
      {
        name: "first",
        dialect: "compat",
        base_url: `${at}/v1`,
        api_key: "k",
        models: ["plain", "breaking", "failing"],
        retry: { attempts: 2, when: ["5xx"], backoff: "1ms" },
        failover: { to: ["second"], when: ["5xx"] },
      },
      { name: "second", dialect: "compat", base_url: `${at}/v1`, api_key: "k", models: ["other"] },
    ],
  };
  const { compiled } = await compileWithoutNode({ name: "d", text: JSON.stringify(document) }, {});
  if (compiled.kind !== "compiled") throw new Error(JSON.stringify(compiled));
  const { snapshot } = compiled;
  const row = (minted: typeof key, profile: string): StoredKey => ({
    id: minted.id,
    name: profile,
    profile,
    metadata: {},
    digest: minted.digest,
    expires_at: null,
  });
  const rows = new Map([key, guardedKey].map((minted, at) => [minted.id, row(minted, at === 0 ? "team" : "guarded")]));
  const callers = createCallers({
    keys: { findById: (id) => rows.get(id) },
    verifier: () => ({ verify: () => Promise.reject(new Error("there are no tokens here")) }) as never,
    clock: systemClock,
  });
  const governancePorts: GovernancePorts = {
    callers: struck(callers, ["identify", "isUnchanged"]),
    issuerUrl: () => undefined,
    suspensions: struck({ any: true, of: () => undefined, now: () => 0 }, ["of"]),
    isRemoved: () => false,
    onWithdrawal: () => () => undefined,
    budgets: struck(counted.budgets, ["reserve"]),
    trail: struck({ record: () => undefined, recordFailedAuthentication: () => undefined }, ["record"]),
    ledger: struck({ add: () => undefined }, ["add"]),
  };
  const metrics = createMetrics(instruments, nullLog);
  ports = {
    snapshot: () => snapshot,
    origins: struck(origins, ["route"]),
    presenter: struck(presenter, ["present"]),
    admission: struck(admission, ["enter", "hold"]),
    metrics: struck(metrics, ["labels", "observeOverhead", "observeFirstByte", "countAttempt"]),
    ownCards: createOwnCards({ origins, presenter, now: systemClock.monotonic, log: nullLog }),
    responses: createResponses({
      nodeId: "n1",
      keys: undefined,
      memoryBytes: DEFAULT_MEMORY_BYTES,
      others: undefined,
      now: systemClock.monotonic,
      instruments,
    }),
    governancePorts,
    log: nullLog,
  };
});

after(async () => {
  front.closeAllConnections();
  upstream.closeAllConnections();
  front.close();
  upstream.close();
  await origins.close();
  presenter.close();
  await counted.close();
});

interface RequestOptions {
  readonly path?: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly isZipped?: boolean;
  /** No length is declared. */
  readonly isChunked?: boolean;
}

const CHAT = { model: "plain", messages: [{ role: "user", content: "hello there" }] };
const LONG = { ...CHAT, messages: [{ role: "user", content: "hello there ".repeat(20_000) }] };
const GUARDED = { authorization: `Bearer ${guardedKey.text}` };

const REQUESTS: Readonly<Record<string, RequestOptions>> = {
  "an answer in one piece": { body: CHAT },
  "a stream": { body: { ...CHAT, stream: true } },
  "a body without a length": { body: CHAT, isChunked: true },
  "a long body": { body: LONG },
  "a compressed body": { body: CHAT, isZipped: true },
  "two attempts and another provider": { body: { ...CHAT, model: "failing" } },
  "an answer that breaks off": { body: { ...CHAT, model: "breaking" } },
  "a model without a provider": { body: { ...CHAT, model: "unknown" } },
  "a response": { path: "/v1/responses", body: { model: "plain", input: "hello" } },
  "the models": { path: "/v1/models" },
  guardrails: { body: CHAT, headers: GUARDED },
  "a stream with guardrails": { body: { ...CHAT, stream: true }, headers: GUARDED },
};

/** Returns the status, or 0 if the connection ended without or during an answer. */
function ask({ path = "/v1/chat/completions", body, headers, isZipped, isChunked }: RequestOptions): Promise<number> {
  const text = body && Buffer.from(JSON.stringify(body));
  const sent = text && isZipped === true ? gzipSync(text) : text;
  return new Promise((resolve) => {
    const { port } = front.address() as AddressInfo;
    client = request({
      port,
      path,
      method: sent === undefined ? "GET" : "POST",
      agent: false,
      headers: {
        authorization: `Bearer ${key.text}`,
        ...headers,
        ...(sent !== undefined && JSON_TYPE),
        ...(sent !== undefined && isChunked !== true && { "content-length": sent.length }),
        ...(isZipped === true && { "content-encoding": "gzip" }),
      },
    });
    client.on("response", (response) => {
      response.resume();
      response.on("error", () => undefined);
      response.on("close", () => resolve(response.complete ? (response.statusCode ?? 0) : 0));
    });
    client.on("error", () => resolve(0));
    client.on("close", () => resolve(0));
    client.end(sent);
  });
}

const held = () => ({ inFlight: admission.inFlight(), bytes: admission.bufferedBytes(), charges: counted.open() });
const NOTHING = { inFlight: 0, bytes: 0, charges: 0 };

for (const [name, options] of Object.entries(REQUESTS)) {
  test(`${name}: everything is released wherever the request fails or its client disconnects`, async (t) => {
    const usual = await ask(options);
    let most = 0;
    for (const kind of ["throws", "client leaves"] as const) {
      for (let at = 1; ; at++) {
        fault = { kind, at };
        const status = await ask(options);
        fault = undefined;
        await eventually(`nothing is held after "${kind}" at call ${at}`, () =>
          held().inFlight === 0 && held().bytes === 0 && held().charges === 0 ? true : undefined,
        );
        if (calls < at) break;
        most = Math.max(most, at);
        if (kind === "throws")
          assert.ok(status === usual || status === 0 || status >= 400, `status ${status} at call ${at}`);
      }
    }
    assert.deepEqual(held(), NOTHING);
    assert.ok(most >= 5, `only ${most} calls`);
    assert.equal(await ask(options), usual);
    t.diagnostic(`${most} calls, status ${usual}`);
  });
}
