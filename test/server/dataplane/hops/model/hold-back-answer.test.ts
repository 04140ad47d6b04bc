/**
 * Requests with detectors that answer beside the call or after it, over real sockets: no part of the answer reaches the
 * client before the verdict, which replaces it if it refuses; buffering is limited; findings are recorded.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import type { Socket } from "node:net";
import { after, afterEach, test } from "node:test";
import { createInstruments, GatewayError, nullLog, systemClock } from "../../../../../src/base/index.ts";
import {
  createMetrics,
  createOwnCards,
  createResponses,
  type DecisionRecord,
  type GovernancePorts,
  listen,
} from "../../../../../src/server/dataplane/index.ts";
import { createAdmission, DEFAULT_ADMISSION } from "../../../../../src/server/memory/index.ts";
import { compileSources } from "../../../../../src/server/node/configuration/compile-sources.ts";
import { openOrigins } from "../../../../../src/server/upstream/index.ts";
import { endChunks, reply, scriptedUpstream, startEvents, writeChunk } from "../../../../e2e/support/upstream.ts";
import { atEnd, eventually } from "../../../../e2e/support/wait.ts";
import { staticKeyPresenter } from "../../../credentials/static-key-presenter.ts";
import { lateGuard } from "./late.ts";

const file = { after };
const LARGE_BYTES = 8 << 20;
/** Maximum buffer of an answer before its upstream waits, plus the chunk that exceeded it. */
const MAX_READY_BYTES = 128 << 10;

const first = await scriptedUpstream(file);
const spare = await scriptedUpstream(file);
const NO_SECRET = { kind: "problem", message: "none", missing: true } as const;
const sim = (name: string, url: string) => ({ name, dialect: "compat", base_url: url });
const document = {
  providers: [
    { ...sim("first", first.url), models: ["m"], failover: { to: ["spare"], when: ["5xx"] } },
    sim("spare", spare.url),
  ],
};
const { compiled } = compileSources({
  sources: [{ name: "test", text: JSON.stringify(document) }],
  env: {},
  secrets: { secret: () => NO_SECRET, file: () => NO_SECRET },
  fileOverlays: [],
});
assert.ok(compiled.kind === "compiled", JSON.stringify(compiled));
const { snapshot } = compiled;

const detectors = [
  { type: "pii", name: "now" },
  { type: "pii", name: "beside", schedule: "overlap", on_error: "fail_closed", timeout: "20s" },
  { type: "pii", name: "later", schedule: "async" },
] as const;
const rules = [
  { name: "no-beside", action: "deny", when: '"custom/BESIDE" in labels', message: "not that", controls: ["C-1"] },
  { name: "no-later", action: "deny", when: '"custom/LATER" in labels' },
  { name: "note", action: "annotate", when: '"custom/NOW" in labels' },
];
const { guard, of } = lateGuard({ detectors, rules });

/** Guardrails of every request from now on. */
let guarded: typeof guard | undefined = guard;
let isTrailFull = false;
const records: DecisionRecord[] = [];
const governancePorts = {
  suspensions: { any: false, of: () => undefined },
  onWithdrawal: () => () => undefined,
  isRemoved: () => false,
  trail: {
    record(record: DecisionRecord) {
      if (isTrailFull) throw new GatewayError("audit_unavailable", "The audit queue is full.");
      records.push(record);
    },
    recordFailedAuthentication: () => undefined,
  },
} as unknown as GovernancePorts;
const origins = openOrigins();
const presenter = staticKeyPresenter();
const admission = createAdmission(DEFAULT_ADMISSION);
const listener = await listen("127.0.0.1:0", {
  snapshot: () => {
    const own = guarded;
    return { ...snapshot, guardrails: { ...snapshot.guardrails, of: () => own } };
  },
  origins,
  presenter,
  ownCards: createOwnCards({ origins, presenter, now: systemClock.monotonic, log: nullLog }),
  responses: createResponses({
    nodeId: "",
    keys: undefined,
    memoryBytes: 0,
    now: systemClock.monotonic,
    instruments: createInstruments(),
  }),
  admission,
  metrics: createMetrics(createInstruments(), { warn: () => undefined }),
  governancePorts,
  log: nullLog,
});
atEnd(file, () => origins.close());
atEnd(file, () => listener.drain(1_000));

const reset = (): void => {
  guarded = guard;
  isTrailFull = false;
  records.length = 0;
  of("beside").failure = undefined;
  first.script = (socket) => reply(socket);
  spare.script = (socket) => reply(socket);
};
reset();
afterEach(async () => {
  reset();
  await eventually("nothing to be held any more", () => admission.inFlight() === 0 && admission.bufferedBytes() === 0);
});

interface Answer {
  readonly status: number;
  readonly body: Buffer;
  readonly code: string | undefined;
  readonly acted: string | null;
}

/** A cached text is not inspected again, so each one is different. */
let texts = 0;
const bodyOf = (text: string, more: object = {}): string =>
  JSON.stringify({ model: "m", messages: [{ role: "user", content: `${text} ${++texts}` }], ...more });

async function send(body: string, signal?: AbortSignal): Promise<Answer> {
  const url = `http://127.0.0.1:${listener.port}/v1/chat/completions`;
  const response = await fetch(url, { method: "POST", body, ...(signal !== undefined && { signal }) });
  const answer = Buffer.from(await response.arrayBuffer());
  const { error } = (response.status < 400 ? {} : JSON.parse(answer.toString())) as { error?: { code?: string } };
  const acted = response.headers.get("x-gateway-guardrails");
  return { status: response.status, body: answer, code: error?.code, acted };
}

const ask = (text: string): Promise<Answer> => send(bodyOf(text));

/** Whether it has settled once everything ready has run. */
async function isOver(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol("pending");
  for (let turn = 0; turn < 20; turn++) await new Promise((done) => setImmediate(done));
  return (await Promise.race([promise, Promise.resolve(pending)])) !== pending;
}

const asked = (count: number) => eventually("the upstream to be asked", () => first.requests.length === count);

test("the upstream is called meanwhile, and the answer waits for the verdict and lists every rule's effect", async () => {
  const before = first.requests.length;
  let isAnswered = false;
  first.script = (socket) => {
    reply(socket, { body: '{"a":1}' });
    isAnswered = true;
  };
  const release = of("beside").hold();
  const answer = ask("NOW and then");
  await asked(before + 1);
  await eventually("the upstream to have answered", () => isAnswered);
  assert.equal(await isOver(answer), false);
  release();
  const { status, body, acted } = await answer;
  assert.deepEqual([status, body.toString(), acted], [200, '{"a":1}', "note=annotate"]);
  assert.deepEqual(
    records.map(({ data }) => data["matched"]),
    [[{ rule: "note", action: "annotate", types: { "custom/NOW": 1 }, kinds: ["user"] }]],
  );
});

const UPSTREAMS: readonly (readonly [what: string, script: (socket: Socket) => void, ended: boolean])[] = [
  ["has not answered yet", () => undefined, false],
  [
    "is in the middle of a stream",
    (socket) => {
      startEvents(socket);
      writeChunk(socket, 'data: {"choices":[]}\n\n');
    },
    false,
  ],
  ["has answered whole", (socket) => reply(socket), true],
  ["has failed", (socket) => socket.destroy(), true],
  ["answered with an error", (socket) => reply(socket, { status: 400, body: '{"error":{"code":"theirs"}}' }), true],
];

for (const [what, script, ended] of UPSTREAMS) {
  test(`a denial is the answer and aborts the call: the upstream ${what}`, async () => {
    const before = first.requests.length;
    let used: Socket | undefined;
    first.script = (socket) => {
      used = socket;
      script(socket);
    };
    const release = of("beside").hold();
    const answer = ask("NOW and BESIDE");
    await asked(before + 1);
    assert.equal(await isOver(answer), false);
    release();
    const { status, code, acted, body } = await answer;
    assert.deepEqual([status, code, acted], [403, "guardrail_denied", "note=annotate, no-beside=deny"]);
    assert.match(body.toString(), /not that/);
    if (!ended) await eventually("the call to be ended", () => used?.destroyed === true);
    const denial = records.at(-1);
    assert.deepEqual(
      [denial?.controls, denial?.data["decision"], denial?.data["rule"]],
      [["C-1"], "deny", "no-beside"],
    );
    assert.equal(records.length, 2);
  });
}

test("a failing detector that fails closed is the answer too", async () => {
  of("beside").failure = new Error("broken");
  const before = first.requests.length;
  const release = of("beside").hold();
  const answer = ask("nothing");
  await asked(before + 1);
  release();
  const { status, code } = await answer;
  assert.deepEqual([status, code], [503, "guardrail_error"]);
});

test("a detector that answers at once decides before anything is forwarded", async () => {
  const before = first.requests.length;
  const { status, acted } = await ask("NOW and BESIDE");
  assert.deepEqual([status, acted, first.requests.length], [403, "note=annotate, no-beside=deny", before]);
});

test("a stream passes as it comes once the verdict is there", async () => {
  const before = first.requests.length;
  let socket: Socket | undefined;
  first.script = (upstream) => {
    startEvents(upstream);
    writeChunk(upstream, "data: 1\n\n");
    socket = upstream;
  };
  const release = of("beside").hold();
  const asking = request(`http://127.0.0.1:${listener.port}/v1/chat/completions`, { method: "POST" });
  asking.end(bodyOf("nothing", { stream: true }));
  const responded = once(asking, "response");
  await asked(before + 1);
  assert.ok(socket);
  assert.equal(await isOver(responded), false);
  release();
  const [response] = (await responded) as [NodeJS.ReadableStream];
  const chunks = response[Symbol.asyncIterator]();
  const next = async () => String((await chunks.next()).value);
  assert.equal(await next(), "data: 1\n\n");
  writeChunk(socket, "data: 2\n\n");
  assert.equal(await next(), "data: 2\n\n");
  endChunks(socket);
  assert.equal((await chunks.next()).done, true);
});

test("a long answer is buffered up to a limit, its upstream waits, and none of it is lost", async () => {
  const body = Buffer.alloc(LARGE_BYTES, "0123456789abcdef");
  let sender: Socket | undefined;
  first.script = (socket) => {
    sender = socket;
    reply(socket, { body });
  };
  const release = of("beside").hold();
  const answer = send(bodyOf("nothing"));
  await eventually("an answer to be held", () => admission.bufferedBytes() > 64 << 10);
  assert.equal(await isOver(answer), false);
  // Its texts are still being inspected, which is counted too.
  assert.ok(admission.bufferedBytes() <= 2 * MAX_READY_BYTES, String(admission.bufferedBytes()));
  assert.ok((sender?.writableLength ?? 0) > LARGE_BYTES / 2, "the upstream waits");
  release();
  assert.ok((await answer).body.equals(body));
});

test("a failover upstream is awaited likewise, and texts are inspected once", async () => {
  const before = of("beside").callCount;
  first.script = (socket) => reply(socket, { status: 503 });
  const release = of("beside").hold();
  const answered = spare.requests.length;
  const answer = ask("nothing");
  await eventually("the spare to be asked", () => spare.requests.length === answered + 1);
  assert.equal(await isOver(answer), false);
  release();
  assert.equal((await answer).status, 200);
  assert.equal(of("beside").callCount, before + 1);
});

test("the request of a client that disconnects is still judged and recorded", async () => {
  const before = first.requests.length;
  let used: Socket | undefined;
  first.script = (socket) => {
    used = socket;
  };
  const release = of("beside").hold();
  const leaving = new AbortController();
  const answer = send(bodyOf("BESIDE"), leaving.signal);
  await asked(before + 1);
  leaving.abort();
  await assert.rejects(answer);
  await eventually("the call to be ended", () => used?.destroyed === true);
  assert.equal(records.length, 0);
  release();
  await eventually("the record", () => records.length === 1);
  assert.equal(records[0]?.data["rule"], "no-beside");
});

test("a finding made behind the request counts at the next one", async () => {
  const body = bodyOf("LATER");
  const before = of("later").callCount;
  const release = of("later").hold();
  assert.equal((await send(body)).status, 200);
  await eventually("the detector to be asked", () => of("later").callCount === before + 1);
  assert.equal((await send(body)).status, 200, "nobody waits for it");
  release();
  const denied = await eventually("the finding to count", async () => {
    const answer = await send(body);
    return answer.status === 403 ? answer : undefined;
  });
  assert.deepEqual([denied.code, denied.acted], ["guardrail_denied", "no-later=deny"]);
});

test("a request is judged by the guardrails it began with, whatever is configured meanwhile", async () => {
  const other = lateGuard({ detectors: [{ type: "pii", name: "other" }], rules: [{ name: "all", action: "deny" }] });
  const before = first.requests.length;
  const releases = [of("now").hold(), of("beside").hold()];
  const answer = ask("NOW and BESIDE");
  await eventually("the first detector to be asked", () => admission.inFlight() === 1);
  guarded = other.guard;
  releases[0]?.();
  await asked(before + 1);
  guarded = undefined;
  assert.equal((await ask("NOW and BESIDE")).status, 200, "who comes now is exempt");
  releases[1]?.();
  assert.equal((await answer).acted, "note=annotate, no-beside=deny");
  assert.equal(other.of("other").callCount, 0);
});

test("a full trail refuses requests that a rule acted on, immediately or beside the call, and no others", async () => {
  isTrailFull = true;
  assert.equal((await ask("nothing")).status, 200);
  const before = first.requests.length;
  const noted = await ask("NOW");
  assert.deepEqual([noted.status, noted.code, first.requests.length], [503, "audit_unavailable", before]);
  const release = of("beside").hold();
  const denied = ask("BESIDE");
  await asked(before + 1);
  release();
  const { status, code } = await denied;
  assert.deepEqual([status, code], [503, "audit_unavailable"]);
});
