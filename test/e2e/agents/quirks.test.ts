/**
 * Every named misbehavior of a simulated server or agent, through a gateway with rules and guardrails: the client gets
 * what it would get directly, or an error of its protocol that says why. Source: mcp reference, 6, 8 and 9; a2a
 * reference, 6, 7 and 10; design decisions, section 2.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { QUIRKS } from "../../../src/simulator/index.ts";
import { mint, startGoverned } from "../governance/support/governed.ts";
import { idle, readMetrics, sumOf } from "../support/metrics.ts";
import { eventually } from "../support/wait.ts";
import { GUARDRAILS } from "./support/fronting.ts";

const file = { after };
const SERVER_KEY = "the-servers-own/key";
const PROTOCOLS = ["mcp", "a2a"] as const;
type Protocol = (typeof PROTOCOLS)[number];
const SHAPES = ["whole", "streamed"] as const;
type Shape = (typeof SHAPES)[number];

/** Faults of delivery, in addition to the quirks. */
const DELIVERED = [
  ...["drop-before-headers", "drop-mid-stream", "drop-mid-body", "reset", "reset-mid-stream", "bad-http", "garbage"],
  ...["empty", "gzip", "401", "403", "429", "503", "big-2048k", "error-first-event", "error-mid-stream"],
].map((name) => `sim-${name}`);
const JOINED = ["sim-stream+cr", "sim-split+bom", "sim-malformed+cr", "sim-leak+html"];
const STUCK = ["sim-never", "sim-stall-mid-stream"];

const namesOf = (protocol: Protocol): readonly string[] => [
  ...QUIRKS.filter(({ of }) => of === "both" || of === protocol).map(({ name }) => name),
  ...DELIVERED,
  ...JOINED.filter((name) => protocol === "mcp" || !name.includes("sim-stream")),
  ...STUCK,
];

/** Expected result for a stream that breaks after some output. */
const BROKEN = {
  "mcp whole": "upstream_invalid",
  "mcp streamed": "upstream_incomplete",
  "a2a whole": "upstream_invalid",
  "a2a streamed": "upstream_invalid",
};

/** Error codes that clients get, by shape; all other shapes give the direct result. */
const EXPECTED: Readonly<Record<string, string | Readonly<Partial<Record<`${Protocol} ${Shape}`, string>>>>> = {
  "sim-malformed": "upstream_invalid",
  "sim-malformed+cr": "upstream_invalid",
  "sim-deep": "upstream_invalid",
  "sim-leak": "upstream_invalid",
  "sim-leak+html": "upstream_invalid",
  "sim-401": "upstream_invalid",
  "sim-drop-before-headers": "upstream_unreachable",
  "sim-reset": "upstream_unreachable",
  "sim-bad-http": "upstream_invalid",
  "sim-drop-mid-stream": BROKEN,
  "sim-drop-mid-body": BROKEN,
  "sim-reset-mid-stream": BROKEN,
  "sim-old-session": "unsupported_version",
  "sim-old-result": {
    "mcp whole": "unsupported_version",
    "mcp streamed": "unsupported_version",
    "a2a whole": "unsupported_version",
  },
};

function expected(name: string, protocol: Protocol, shape: Shape): string {
  const result = EXPECTED[name];
  return (typeof result === "string" ? result : result?.[`${protocol} ${shape}`]) ?? "same";
}

const fronted = (protocol: Protocol, url: string) =>
  namesOf(protocol).map((name, at) => ({
    name: `s${at}`,
    url: `${url}/${protocol}/${encodeURIComponent(name)}`,
    api_key: SERVER_KEY,
  }));

const { simulator, node, gateway } = await startGoverned(file, {
  simulator: { requireKey: SERVER_KEY },
  deployment: ({ url }) => ({
    mcp: fronted("mcp", url),
    a2a: fronted("a2a", url),
    guardrails: GUARDRAILS,
    budgets: [{ name: "much", limit: 1_000_000 }],
    profiles: [{ name: "governed", budget: "much" }],
  }),
});
const key = await mint(node, "client", { profile: "governed" });

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

function callOf(
  protocol: Protocol,
  shape: Shape,
): { readonly headers: Readonly<Record<string, string>>; readonly body: string } {
  const of = (method: string, params: object): string => JSON.stringify({ jsonrpc: "2.0", id: 7, method, params });
  if (protocol === "a2a") {
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "hello" }] };
    return {
      headers: { "a2a-version": "1.0", accept: shape === "whole" ? "application/json" : "text/event-stream" },
      body: of(shape === "whole" ? "SendMessage" : "SendStreamingMessage", { message }),
    };
  }
  const report = { name: "report", arguments: { topic: "cats", steps: 3, step_ms: 1 } };
  const params =
    shape === "whole"
      ? { name: "search", arguments: { query: "cats" }, _meta: META }
      : { ...report, _meta: { ...META, progressToken: "p" } };
  return {
    headers: {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": params.name,
      accept: "application/json, text/event-stream",
    },
    body: of("tools/call", params),
  };
}

interface Got {
  readonly status: number;
  readonly type: string;
  /** One character per byte. */
  readonly text: string;
  readonly isWhole: boolean;
}

async function ask(url: string, credential: string, protocol: Protocol, shape: Shape): Promise<Got> {
  const { headers, body } = callOf(protocol, shape);
  const own = { "content-type": "application/json", authorization: `Bearer ${credential}` };
  let text = "";
  let got = { status: 0, type: "" };
  try {
    const answer = await fetch(url, { method: "POST", headers: { ...headers, ...own }, body });
    got = { status: answer.status, type: answer.headers.get("content-type") ?? "" };
    for await (const chunk of answer.body ?? []) text += Buffer.from(chunk as Uint8Array).toString("latin1");
    return { ...got, text: plain(text), isWhole: true };
  } catch {
    return { ...got, text: plain(text), isWhole: false };
  }
}

/** Replaces everything that differs from call to call. */
const plain = (text: string): string =>
  text.replaceAll(/\bsim\d{8}\b|\d{4}-\d\d-\d\dT[\d:.]+Z/g, "*").replaceAll(/"text":"\w+ came first"/g, "*");

interface Refusal {
  readonly id: unknown;
  readonly error?: { readonly message: string; readonly data?: unknown };
}

/** Returns `same`, or the code of the error that is the whole result or ends the direct result. */
function outcomeOf(direct: Got, got: Got): string {
  assert.ok(got.isWhole, `it ends as HTTP does: ${got.text.slice(-300)}`);
  if (got.status === direct.status && got.type === direct.type && got.text === direct.text) return "same";
  const at = got.text.lastIndexOf('{"jsonrpc":"2.0","id":7,"error":');
  assert.ok(at >= 0, got.text.slice(-300));
  const before = got.text.slice(0, at).replace(/(?:^|[\r\n])data: $/, "");
  assert.ok(direct.text.startsWith(before.trimEnd()), before);
  const { id, error } = JSON.parse(got.text.slice(at)) as Refusal;
  assert.equal(id, 7);
  assert.match(error?.message ?? "", /^(?:MCP server|Agent) s\d+\b.{10,}\.$/);
  return /"code":"([a-z_]+)"/.exec(JSON.stringify(error?.data))?.[1] ?? "none";
}

for (const protocol of PROTOCOLS) {
  test(`${protocol}: the client sees what it would see directly, or an error that says why`, async (t) => {
    const found: string[] = [];
    const wanted: string[] = [];
    for (const [at, name] of namesOf(protocol).entries()) {
      if (STUCK.includes(name)) continue;
      for (const shape of SHAPES) {
        const direct = await ask(
          `${simulator.url}/${protocol}/${encodeURIComponent(name)}`,
          SERVER_KEY,
          protocol,
          shape,
        );
        assert.notEqual(direct.status, 404, `${name} is a name of the simulator`);
        const got = await ask(`${gateway.url}/${protocol}/s${at}`, key, protocol, shape);
        assert.ok(!got.text.includes(SERVER_KEY) && !got.text.includes(SERVER_KEY.replace("/", "\\/")), name);
        found.push(`${name} ${shape}: ${outcomeOf(direct, got)}`);
        wanted.push(`${name} ${shape}: ${expected(name, protocol, shape)}`);
      }
    }
    assert.deepEqual(found, wanted);
    t.diagnostic(`${found.length} answers, ${found.filter((one) => one.endsWith("same")).length} as directly`);
    await idle(gateway);
  });

  test(`${protocol}: a client can leave a server that hangs, and nothing is left behind`, async () => {
    const names = namesOf(protocol);
    const leaving = new AbortController();
    const asked = STUCK.flatMap((name) =>
      SHAPES.map(async (shape) => {
        const { headers, body } = callOf(protocol, shape);
        const own = { "content-type": "application/json", authorization: `Bearer ${key}` };
        const url = `${gateway.url}/${protocol}/s${names.indexOf(name)}`;
        const answer = await fetch(url, {
          method: "POST",
          headers: { ...headers, ...own },
          body,
          signal: leaving.signal,
        });
        return await answer.text();
      }),
    );
    const ended = Promise.allSettled(asked);
    await eventually(
      "all under way",
      async () => sumOf(await readMetrics(gateway), "gateway_in_flight_requests") === 4,
    );
    leaving.abort();
    assert.ok((await ended).every(({ status }) => status === "rejected"));
    await idle(gateway);
  });
}
