/** Reports fetched from the simulated APIs, and from servers with invalid answers. */
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, describe, it } from "node:test";
import { type GuardedDialer, openGuardedDialer } from "../../../../src/server/credentials/index.ts";
import { type FetchedReport, fetchReport } from "../../../../src/server/reconcile/fetch/fetch-report.ts";
import { DAY_MS, dayOf, startOfDayMs } from "../../../../src/server/reconcile/judge/days.ts";
import type { ReconciledProvider } from "../../../../src/server/snapshot/index.ts";
import { type Simulator, startSimulator } from "../../../../src/simulator/index.ts";

const ADMIN = "sk-admin-canary-7d1f";
const NOON = "2026-11-10T12:00:00Z";
const FROM = startOfDayMs("2026-11-05");
const TO = startOfDayMs("2026-11-12");

let simulator: Simulator;
let dialer: GuardedDialer;
const waits: number[] = [];

before(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0, adminKey: ADMIN });
  dialer = openGuardedDialer({ connectMs: 5_000, maxAnswerBytes: 100_000 });
});
after(async () => {
  dialer.close();
  await simulator.close();
});
beforeEach(async () => {
  waits.length = 0;
  await post("/sim/reset", {});
  await post("/sim/reports", { clock: NOON });
});

async function post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<unknown> {
  const answer = await fetch(`${simulator.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return JSON.parse(text);
}

const changeSettings = (settings: unknown): Promise<unknown> => post("/sim/reports", settings);

const audited = (over: Partial<ReconciledProvider> = {}): ReconciledProvider => ({
  provider: "acme",
  type: "compat",
  baseUrl: simulator.url,
  adminKey: ADMIN,
  keyIds: [],
  ...over,
});

const NEVER = new AbortController().signal;

function ask(
  over: Partial<ReconciledProvider> = {},
  window = { from: FROM, to: TO },
  signal = NEVER,
): Promise<FetchedReport> {
  const ports = {
    send: dialer.send,
    now: () => Date.parse(NOON),
    wait: async (ms: number) => void waits.push(ms),
  };
  return fetchReport(audited(over), window, ports, signal);
}

async function daysOf(over: Partial<ReconciledProvider> = {}, window = { from: FROM, to: TO }) {
  const report = await ask(over, window);
  assert.equal(report.kind, "reported", JSON.stringify(report));
  return report.kind === "reported" ? report : assert.fail();
}

async function problemOf(over: Partial<ReconciledProvider> = {}): Promise<string> {
  const report = await ask(over);
  const problem = report.kind === "failed" ? report.problem : assert.fail("it was reported");
  assert.ok(!problem.includes("canary") && !problem.includes("127.0.0.1") && !problem.includes(String(simulator.port)));
  return problem;
}

const chat = (key: string) =>
  post(
    "/v1/chat/completions",
    { model: "sim-small", messages: [{ role: "user", content: "One two three" }] },
    {
      authorization: `Bearer ${key}`,
    },
  ) as Promise<{ readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number } }>;

describe("reported usage", () => {
  it("of compat covers completions and embeddings, on their day, with the other days empty", async () => {
    const { usage } = await chat("a");
    const embedded = (await post("/v1/embeddings", { model: "sim-embed", input: "four five" })) as {
      readonly usage: { readonly prompt_tokens: number };
    };
    const { days, unreadableDays } = await daysOf();
    assert.deepEqual(
      [unreadableDays, [...days.keys()]],
      [[], [5, 6, 7, 8, 9, 10, 11].map((n) => dayOf(FROM + (n - 5) * DAY_MS))],
    );
    assert.deepEqual(days.get("2026-11-10"), {
      tokens: {
        input: usage.prompt_tokens + embedded.usage.prompt_tokens,
        cached_input: 0,
        cache_creation_input: 0,
        output: usage.completion_tokens,
      },
      joined: [],
    });
    assert.deepEqual(days.get("2026-11-09")?.tokens.output, 0);
  });

  it("of a provider with a later day boundary counts earlier answers on the previous day", async () => {
    const inputOn = async (day: string): Promise<number | null | undefined> =>
      (await daysOf()).days.get(day)?.tokens.input;
    await changeSettings({ clock: "2026-11-09T01:59:30Z" });
    const { usage: before } = await chat("a");
    await changeSettings({ clock: "2026-11-09T02:00:30Z" });
    const { usage: behind } = await chat("a");
    await changeSettings({ clock: NOON });
    assert.equal(await inputOn("2026-11-09"), before.prompt_tokens + behind.prompt_tokens);
    await changeSettings({ edge_hours: 2 });
    assert.deepEqual(
      [await inputOn("2026-11-08"), await inputOn("2026-11-09")],
      [before.prompt_tokens, behind.prompt_tokens],
    );
    await changeSettings({ edge_hours: -2 });
    assert.equal(await inputOn("2026-11-09"), before.prompt_tokens + behind.prompt_tokens);
    await changeSettings({ edge_hours: 0 });
  });

  it("of messages separates cache writes and reads", async () => {
    const text = "word ".repeat(2_000);
    const body = {
      model: "sim-small",
      max_tokens: 50,
      system: [{ type: "text", text, cache_control: { type: "ephemeral" } }],
      messages: [{ role: "user", content: "Hello" }],
    };
    const headers = { "x-api-key": "k", "anthropic-version": "2023-06-01" };
    type Reply = { readonly usage: Readonly<Record<string, number>> };
    const answers = [await post("/v1/messages", body, headers), await post("/v1/messages", body, headers)] as Reply[];
    const sum = (name: string): number => answers.reduce((total, { usage }) => total + (usage[name] ?? 0), 0);
    const { days } = await daysOf({ type: "messages" });
    assert.deepEqual(days.get("2026-11-10")?.tokens, {
      input: sum("input_tokens"),
      cached_input: sum("cache_read_input_tokens"),
      cache_creation_input: sum("cache_creation_input_tokens"),
      output: sum("output_tokens"),
    });
    assert.ok(sum("cache_read_input_tokens") > 0 && sum("cache_creation_input_tokens") > 0);
  });

  it("of selected keys is complete, even with more keys than one query takes", async () => {
    await chat("a");
    const { lines } = (await (await fetch(`${simulator.url}/sim/reports`)).json()) as {
      readonly lines: readonly { readonly keyId: string; readonly counters: { readonly output: number } }[];
    };
    await chat("b");
    const own = lines[0] ?? assert.fail();
    const others = Array.from({ length: 250 }, (_, n) => `key_other_${n}`);
    const { days } = await daysOf({ keyIds: [...others, own.keyId] });
    assert.equal(days.get("2026-11-10")?.tokens.output, own.counters.output);
  });

  it("excludes batches", async () => {
    for (const type of ["compat", "messages"] as const) {
      await changeSettings({ batches: [{ type, day: "2026-11-08", counter: "output", tokens: 777 }] });
      const { days } = await daysOf({ type });
      assert.equal(days.get("2026-11-08")?.tokens.output, 0);
    }
  });

  it("is read page by page over the whole reporting period", async () => {
    await changeSettings({
      adjust: [{ type: "messages", day: "2026-04-01", counter: "input", add: 12 }],
      page_days: 7,
    });
    const window = { from: TO - 248 * DAY_MS, to: TO };
    const { days } = await daysOf({ type: "messages" }, window);
    assert.equal(days.size, 248);
    assert.equal(days.get("2026-04-01")?.tokens.input, 12);
  });
});

describe("missing counters", () => {
  const all = { type: "compat", day: "2026-11-08" };
  beforeEach(() =>
    changeSettings({
      adjust: [
        { ...all, counter: "input", add: 100 },
        { ...all, counter: "cached", add: 30 },
        { ...all, counter: "written", add: 20 },
        { ...all, counter: "output", add: 7 },
      ],
    }),
  );
  const WRITES = "input_cache_write_tokens";
  const UNCACHED = "input_uncached_tokens";
  const CASES: readonly (readonly [string, readonly string[], readonly (number | null)[], readonly string[]])[] = [
    ["none", [], [100, 30, 20, 7], []],
    ["what is not cached is what the others leave", [UNCACHED], [100, 30, 20, 7], []],
    [
      "of an older answer, writes stand with the input",
      [UNCACHED, WRITES],
      [120, 30, null, 7],
      ["cache_creation_input"],
    ],
    ["writes alone are not compared", [WRITES], [100, 30, null, 7], []],
    ["the output", ["output_tokens"], [100, 30, 20, null], []],
    [
      "all of the input that is not the whole",
      [UNCACHED, WRITES, "input_cached_tokens"],
      [150, null, null, 7],
      ["cached_input", "cache_creation_input"],
    ],
    ["the whole and what is not cached", [UNCACHED, "input_tokens"], [null, 30, 20, 7], []],
  ];
  for (const [why, lacking, [input, cached, written, output], joined] of CASES) {
    it(why, async () => {
      await changeSettings({ lacking });
      const { days } = await daysOf();
      assert.deepEqual(days.get("2026-11-08"), {
        tokens: { input, cached_input: cached, cache_creation_input: written, output },
        joined,
      });
    });
  }

  it("a result without counters is not a day of zeros", async () => {
    await changeSettings({ lacking: [UNCACHED, WRITES, "input_cached_tokens", "input_tokens", "output_tokens"] });
    const { days, unreadableDays } = await daysOf();
    assert.deepEqual([unreadableDays, days.has("2026-11-08"), days.has("2026-11-09")], [["2026-11-08"], false, true]);
  });
});

describe("a failing provider", () => {
  it("is asked again after 429 and 5xx, at its stated time or with growing delay", async () => {
    await changeSettings({ errors: [{ status: 429, retry_after: 7 }, { status: 503 }, { status: 500 }] });
    await daysOf();
    assert.deepEqual(waits, [7_000, 2_000, 4_000]);
  });

  it("is abandoned after five retries, and at once if it asks for a long pause", async () => {
    await changeSettings({ errors: Array.from({ length: 9 }, () => ({ status: 502 })) });
    assert.equal(await problemOf(), "the report answers 502, after 5 retries");
    assert.deepEqual(waits, [1_000, 2_000, 4_000, 8_000, 16_000]);
    await changeSettings({ errors: [{ status: 429, retry_after: 3_600 }] });
    assert.equal(await problemOf(), "the report answers 429, and asks for no requests for 1h");
  });

  it("is not asked again with a key it refuses", async () => {
    assert.match(
      await problemOf({ adminKey: "sk-admin-canary-wrong" }),
      /^the report answers 401: `admin_key` is refused/,
    );
    assert.match(await problemOf({ type: "messages", adminKey: "sk-canary" }), /^the report answers 401/);
    await changeSettings({ errors: [{ status: 403 }] });
    assert.match(await problemOf(), /has no permission to read usage reports/);
    assert.deepEqual(waits, []);
  });

  it("is read from the first page again if a cursor expired, but not endlessly", async () => {
    await changeSettings({
      page_days: 3,
      expired: 2,
      adjust: [{ type: "compat", day: "2026-11-11", counter: "output", add: 5 }],
    });
    const { days } = await daysOf();
    assert.equal(days.get("2026-11-11")?.tokens.output, 5);
    await changeSettings({ page_days: 3, expired: 3 });
    assert.match(await problemOf(), /its cursor has expired/);
  });

  it("cannot cause an endless loop", async () => {
    await changeSettings({ page_days: 2, circle: true });
    assert.match(await problemOf(), /the day 2026-11-05 twice|circle/);
  });
});

describe("invalid reports", () => {
  let answer: (request: IncomingMessage, response: ServerResponse) => void = () => undefined;
  const server = createServer((request, response) => answer(request, response));
  let baseUrl = "";
  before(async () => {
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  const bucket = (start: number, results: unknown = []) => ({ start_time: start / 1_000, results });
  const page = (data: unknown, more: object = {}) =>
    JSON.stringify({ data, has_more: false, next_page: null, ...more });
  const CASES: readonly (readonly [why: string, body: string, problem: RegExp])[] = [
    ["a page for people", "<html>sk-admin-canary", /not a JSON object/],
    ["a list", "[]", /not a JSON object/],
    ["an object of something else", "{}", /no list `data`/],
    ["buckets without a time", page([{ results: [] }]), /bucket that cannot be read/],
    ["buckets without results", page([{ start_time: FROM / 1_000 }]), /bucket that cannot be read/],
    ["buckets that are no days", page([bucket(FROM + 3_600_000)]), /not UTC days/],
    ["a day twice", page([bucket(FROM), bucket(FROM)]), /the day 2026-11-05 twice/],
    ["a negative count", page([bucket(FROM, [{ output_tokens: -1 }])]), /`output_tokens` is not a count/],
    ["a count in words", page([bucket(FROM, [{ output_tokens: "12" }])]), /`output_tokens` is not a count/],
    ["a count past all counting", page([bucket(FROM, [{ output_tokens: 1e300 }])]), /`output_tokens` is not a count/],
    ["more pages without a cursor", page([], { has_more: true }), /does not say where/],
    ["cursors without end", page([], { has_more: true, next_page: "same" }), /loop/],
    ["more than anybody reads", page([], { filler: "x".repeat(200_000) }), /longer than 100000 bytes/],
  ];
  for (const [why, body, problem] of CASES) {
    it(why, async () => {
      answer = (_, response) => response.end(body);
      const report = await ask({ baseUrl });
      assert.ok(report.kind === "failed" && problem.test(report.problem), JSON.stringify(report));
    });
  }

  it("endless empty pages are abandoned after the page limit", async () => {
    let requestCount = 0;
    answer = (_, response) => {
      requestCount += 1;
      response.end(page([], { has_more: true, next_page: `c${requestCount}` }));
    };
    const report = await ask({ baseUrl });
    assert.deepEqual(report, { kind: "failed", problem: "the report has more than 9 pages for 7 days" });
    assert.equal(requestCount, 9);
  });

  it("days outside the window, batches and unknown fields are skipped", async () => {
    const results = [
      { output_tokens: 5, batch: false, new_thing: {} },
      { output_tokens: 900, batch: true },
    ];
    const data = [bucket(FROM - DAY_MS, results), bucket(FROM, results), bucket(TO, results)];
    answer = ({ url = "" }, response) => response.end(url.includes("embeddings") ? page([]) : page(data));
    const { days } = await daysOf({ baseUrl });
    assert.deepEqual([days.size, days.get("2026-11-05")?.tokens.output], [7, 5]);
  });

  it("a missing embeddings report is allowed, and a missing completions report is not", async () => {
    answer = ({ url = "" }, response) => {
      if (url.includes("embeddings")) response.statusCode = 404;
      response.end(url.includes("embeddings") ? "" : page([bucket(FROM, [{ output_tokens: 5 }])]));
    };
    assert.equal((await daysOf({ baseUrl })).days.get("2026-11-05")?.tokens.output, 5);
    answer = (_, response) => {
      response.statusCode = 404;
      response.end();
    };
    assert.match(await problemOf({ baseUrl }), /no usage report at `base_url`/);
  });

  it("redirects are not followed", async () => {
    const seen: string[] = [];
    answer = (request, response) => {
      seen.push(request.url ?? "");
      response.writeHead(302, { location: `${baseUrl}/elsewhere` }).end();
    };
    assert.match(await problemOf({ baseUrl }), /answers with a redirect/);
    assert.ok(seen.every((url) => !url.includes("elsewhere")));
  });

  it("link-local addresses and keys that no header can carry are refused", async () => {
    assert.match(await problemOf({ baseUrl: "http://169.254.169.254" }), /its address is link-local/);
    assert.match(await problemOf({ adminKey: "sk-canary\r\nx: y" }), /cannot be sent in a header/);
  });

  it("an aborted caller is not kept waiting", async () => {
    const end = new AbortController();
    answer = () => end.abort(new Error("gone"));
    await assert.rejects(ask({ baseUrl }, { from: FROM, to: TO }, end.signal), /gone/);
  });

  it("the key is sent as the dialect requires, and an organization's token as a bearer token", async () => {
    const seen: IncomingMessage["headers"][] = [];
    answer = (request, response) => {
      seen.push(request.headers);
      response.end(page([]));
    };
    await ask({ baseUrl, type: "messages" });
    await ask({ baseUrl, type: "messages", adminKey: "sk-ant-oat01-x" });
    await ask({ baseUrl });
    assert.deepEqual(
      seen.map((headers) => [headers["x-api-key"], headers.authorization, headers["anthropic-version"]]),
      [
        [ADMIN, undefined, "2023-06-01"],
        [undefined, "Bearer sk-ant-oat01-x", "2023-06-01"],
        [undefined, `Bearer ${ADMIN}`, undefined],
        [undefined, `Bearer ${ADMIN}`, undefined],
      ],
    );
  });
});
