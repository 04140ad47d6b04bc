/**
 * Servers and agents called with tokens of an authorization server: the gateway's own, and each caller's. The called
 * upstream checks what came with a call. Source: specification document 3 (`oauth`, `token_exchange`); design
 * decisions, section 13; RFC 6749, RFC 8693.
 */
import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { randomRuns } from "../../support/random-length.ts";
import { createOne, led } from "../config/support/nodes.ts";
import { runProgram } from "../support/gateway.ts";
import { readMetrics, sumOf } from "../support/metrics.ts";
import { eventually, within } from "../support/wait.ts";
import { EXCHANGE, GATEWAY, ON_BEHALF_OF, startAuthorizationServer, TOOLS } from "./support/authorization-server.ts";
import { type Called, callAgent, callTool, startTools } from "./support/tools.ts";

const file = { after };
/** A long run uses 5,000. */
const CALLS = Number(process.env["GATEWAY_CREDENTIAL_CALLS"] ?? randomRuns(1_500, 600));
const SECRET = "canary-secret-of-the-client/+ %:~";
const ASCII_SECRET = "canary-secret:of/+the %client";

const corp = await startAuthorizationServer(file, {
  clients: {
    poster: SECRET,
    "8c1f-40.b_er~": ASCII_SECRET,
    exchanger: SECRET,
    hasty: SECRET,
    rotating: "canary-first",
    unknown: "x",
  },
});
const other = await startAuthorizationServer(file, { clients: {} });
const unbound = await startAuthorizationServer(file, { clients: {} });
const tools = await startTools(file, { keys: corp.keys, issuer: corp.issuer, audience: TOOLS });

const oauth = (client_id: string, client_secret: string, more: object = {}) => ({
  oauth: { token_url: corp.tokenUrl, client_id, client_secret, ...more },
});
const exchange = (facts: object = {}) => ({
  token_exchange: { issuer: "corp", client_id: "exchanger", client_secret: "${CLIENT_SECRET}", ...facts },
});

const document = (version: number, rotating: string) => ({
  version,
  auth: {
    virtual_keys: true,
    issuers: [
      { issuer: "corp", audience: GATEWAY, subject: "user" },
      { issuer: "other", audience: GATEWAY, subject: "user" },
    ],
  },
  providers: [{ name: "none", dialect: "compat", base_url: "http://127.0.0.1:9", api_key: "k" }],
  credentials: [
    { name: "own", ...oauth("poster", "${CLIENT_SECRET}", { scopes: ["read"] }) },
    { name: "second", ...oauth("8c1f-40.b_er~", "${ASCII_SECRET}") },
    { name: "rotating", ...oauth("rotating", rotating) },
    { name: "hasty", ...oauth("hasty", "${CLIENT_SECRET}") },
    { name: "exchanged", ...exchange({ audience: TOOLS, scopes: ["read"] }) },
    { name: "by-resource", ...exchange({ resource: TOOLS }) },
    { name: "behalf", ...exchange({ grant: "on_behalf_of", scopes: [`${TOOLS}/.default`] }) },
    { name: "nobody", ...exchange({ audience: TOOLS, client_id: "unknown", client_secret: "wrong" }) },
    { name: "stale", ...oauth("poster", "long-gone") },
    { name: "uncalled", ...exchange({ issuer: "unbound", audience: TOOLS }) },
  ],
  mcp: [
    { name: "own", url: `${tools.url}/mcp`, credential: "own" },
    { name: "rotating", url: `${tools.url}/mcp`, credential: "rotating" },
    { name: "hasty", url: `${tools.url}/mcp`, credential: "hasty" },
    { name: "stale", url: `${tools.url}/mcp`, credential: "stale" },
    { name: "exchanged", url: `${tools.url}/mcp`, credential: "exchanged" },
    { name: "nobody", url: `${tools.url}/mcp`, credential: "nobody" },
  ],
  a2a: [
    { name: "second", url: `${tools.url}/a2a`, credential: "second" },
    { name: "by-resource", url: `${tools.url}/a2a`, credential: "by-resource" },
    { name: "behalf", url: `${tools.url}/a2a`, credential: "behalf" },
  ],
});

const node = await createOne(file, {
  deployment: document(1, "canary-first"),
  changes: {
    issuers: [
      { name: "corp", url: corp.issuer },
      { name: "other", url: other.issuer },
      { name: "unbound", url: unbound.issuer },
    ],
  },
});
const gateway = await node.start({ CLIENT_SECRET: SECRET, ASCII_SECRET });
const { url } = gateway;
await led(node);
const { key = "" } = await node.client.call("create_key", { body: { name: "a-key" } });

/** Every token of a caller; none of them may be shown. */
const tokens: string[] = [];
async function tokenOf(
  subject: string,
  facts: Readonly<Record<string, unknown>> = {},
  seconds?: number,
): Promise<string> {
  const token = await corp.callerToken(subject, facts, seconds);
  tokens.push(token);
  return token;
}

beforeEach(() => {
  corp.requests.length = 0;
  corp.requestCount = 0;
  corp.outage = "up";
  corp.lifetime = 3_600;
  corp.wrongAudience = undefined;
  corp.refused.clear();
  tools.seen.length = 0;
});

const answered = (called: Called, subject: string): void => {
  assert.equal(called.status, 200, called.text);
  assert.ok(called.text.includes(`called as ${subject}"`), called.text);
  assert.equal(called.headers.get("x-debug"), null, "what bears the token is not shown");
};

test("the gateway's own token is fetched once for all concurrent requests", async () => {
  const calls = Array.from({ length: 40 }, () => [callTool(url, "own", key, "x"), callAgent(url, "second", key, "x")]);
  const all = await Promise.all(calls.flat());
  for (const [at, called] of all.entries()) answered(called, at % 2 === 0 ? "poster" : "8c1f-40.b_er~");
  assert.deepEqual(corp.requests.map(({ client }) => client).sort(), ["8c1f-40.b_er~", "poster"]);
  assert.equal(corp.requestCount, 2);
});

test("60 concurrent callers cause one exchange each, and no caller gets another's token", async () => {
  /** Three calls each. All exchanges begin at once, and a token endpoint has five seconds to answer, on a busy machine too. */
  const CALLERS = 60;
  const callers = await Promise.all(Array.from({ length: CALLERS }, (_, at) => tokenOf(`user-${at}`)));
  const calls = callers.flatMap((token, at) => [
    callTool(url, "exchanged", token, `user-${at}`),
    callTool(url, "exchanged", token, `user-${at}`),
    callTool(url, "exchanged", token, `user-${at}!`),
  ]);
  const all = await Promise.all(calls);
  for (const [at, called] of all.entries()) answered(called, `user-${Math.floor(at / 3)}`);
  assert.equal(corp.requests.length, CALLERS);
  assert.equal(new Set(corp.requests.map(({ subject }) => subject)).size, CALLERS);
  assert.ok(corp.requests.every(({ grant }) => grant === EXCHANGE));
  const series = await readMetrics(gateway);
  // Each process keeps the tokens of its own callers.
  assert.ok(sumOf(series, "gateway_exchanged_tokens") >= CALLERS);
  assert.equal(
    sumOf(series, "gateway_credential_fetches_total", { credential: "exchanged", outcome: "fetched" }),
    CALLERS,
  );
});

test("50 callers with thousands of interleaved calls and revoked tokens each send their own caller's token", async () => {
  const CALLERS = 50;
  /** Fewer than callers, since a token endpoint has five seconds to answer, on a busy machine too. */
  const CONCURRENT = 12;
  const callers = await Promise.all(Array.from({ length: CALLERS }, (_, at) => tokenOf(`person-${at}`)));
  let begun = 0;
  let revoked = 0;
  const worker = async (): Promise<void> => {
    for (let at = begun++; at < CALLS; at = begun++) {
      const subject = `person-${(at * 7) % CALLERS}`;
      const token = callers[(at * 7) % CALLERS];
      const last = at % 61 === 0 ? tools.seen.findLast((it) => it.subject === subject && it.status === 200) : undefined;
      if (last !== undefined && !tools.revoked.has(last.token)) {
        tools.revoked.add(last.token);
        revoked++;
      }
      const called = await [
        () => callTool(url, "exchanged", token, subject),
        () => callTool(url, "exchanged", token, `${subject}!`),
        () => callAgent(url, "by-resource", token, subject),
        () => callAgent(url, "behalf", token, subject, true),
      ][at % 4]?.();
      assert.ok(called);
      answered(called, subject);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT }, worker));
  assert.ok(revoked > CALLS / 200, String(revoked));
  const refused = tools.seen.filter(({ status }) => status === 401);
  assert.ok(refused.length > 0);
  assert.equal(tools.seen.length, CALLS + refused.length, "a call that was refused is sent once more");
  for (const { subject, caller } of tools.seen) assert.equal(subject, caller.replace("!", ""));
  assert.ok(corp.requests.some(({ grant }) => grant === ON_BEHALF_OF));
  const series = await readMetrics(gateway);
  assert.ok(sumOf(series, "gateway_credential_repeats_total", { reason: "token" }) >= refused.length);
});

test("a rotated secret takes effect with its configuration, and the token of the old one is discarded", async () => {
  answered(await callTool(url, "rotating", key, "x"), "rotating");
  corp.setSecret("rotating", "canary-second");
  tools.seen.length = 0;
  // A token fetched with the old secret is valid until it is refused; afterwards there is none to send.
  tools.refuses = 1;
  const refused = await callTool(url, "rotating", key, "x");
  assert.deepEqual([refused.status, refused.code], [502, "credential_unavailable"], refused.text);
  await node.writeDeployment(document(2, "canary-second"));
  node.program.signal("SIGHUP");
  await eventually(
    "a call with the new secret",
    async () => (await callTool(url, "rotating", key, "x")).status === 200,
  );
  assert.equal(tools.seen.at(-1)?.subject, "rotating");
});

test("tokens that expire under load are renewed without a failed call", async () => {
  corp.lifetime = 2;
  const token = await tokenOf("hasty");
  const fetched = () => {
    const own = corp.requests.filter(({ grant }) => grant === "client_credentials").length;
    return { own, exchanged: corp.requests.length - own };
  };
  const isRenewedTwice = () => Math.min(...Object.values(fetched())) >= 3;
  const begunAt = performance.now();
  const worker = async (): Promise<void> => {
    while (!isRenewedTwice()) {
      answered(await callTool(url, "hasty", key, "x"), "hasty");
      answered(await callTool(url, "exchanged", token, "hasty"), "hasty");
    }
  };
  await within("two renewals of each token", Promise.all(Array.from({ length: 4 }, worker)), 60_000);
  // A token is used for at least half of its lifetime.
  const most = 2 + (performance.now() - begunAt) / 1_000;
  const { own, exchanged } = fetched();
  assert.ok(own <= most && exchanged <= most, `${own} and ${exchanged}`);
});

test("a caller without a token of the issuer is refused before any upstream is asked", async () => {
  const foreign = await other.callerToken("user-1");
  const bound = await tokenOf("bound", { cnf: { jkt: "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I" } });
  for (const [token, pattern] of [
    [key, "can only be called with a token of the issuer corp"],
    [foreign, "can only be called with a token of the issuer corp"],
    [bound, "is bound to a key of the caller and"],
  ] as const) {
    for (const called of [await callTool(url, "exchanged", token, "x"), await callAgent(url, "behalf", token, "x")]) {
      assert.equal(called.status, 403, called.text);
      assert.equal(called.code, "token_exchange_refused");
      assert.ok(called.text.includes(pattern), called.text);
    }
  }
  assert.equal(corp.requestCount + tools.seen.length, 0);
});

test("the issuer's refusal reaches the caller by its code alone; a required user action is passed on", async () => {
  const claims = '{"access_token":{"acrs":{"essential":true,"value":"c1"}}}';
  corp.refused.set("denied", { error: "access_denied" });
  corp.refused.set("strange", { error: "<b>CANARY-CODE</b>" });
  corp.refused.set("step-up", { error: "interaction_required", claims });
  corp.refused.set("expired", { error: "invalid_grant" });
  corp.refused.set("our-fault", { error: "unauthorized_client" });
  const table = [
    ["denied", 403, "token_exchange_refused", /its issuer refused: access_denied\./],
    ["strange", 403, "token_exchange_refused", /its issuer refused: unreadable\./],
    ["step-up", 401, "unauthenticated", /sign in again/],
    ["our-fault", 502, "credential_unavailable", /credential exchanged is not available/],
  ] as const;
  for (const [subject, status, code, pattern] of table) {
    const token = await tokenOf(subject);
    const called = await callTool(url, "exchanged", token, subject);
    assert.deepEqual([called.status, called.code], [status, code], called.text);
    assert.match(called.text, pattern);
    const challenge = called.headers.get("www-authenticate");
    const wanted = `Bearer realm="", error="insufficient_claims", claims="${Buffer.from(claims).toString("base64")}"`;
    assert.equal(challenge, subject === "step-up" ? wanted : null);
    const asked = corp.requestCount;
    if (status < 500) {
      assert.equal((await callTool(url, "exchanged", token, subject)).status, status);
      assert.equal(corp.requestCount, asked, "and the issuer is left alone for a moment");
    }
  }
  // Within the gateway's leeway but not its issuer's.
  const late = await callTool(url, "exchanged", await tokenOf("expired", {}, -5), "expired");
  assert.deepEqual([late.status, late.code], [401, "unauthenticated"], late.text);
  assert.equal(late.headers.get("www-authenticate"), 'Bearer error="invalid_token"');
  assert.equal(tools.seen.length, 0);
  const nobody = await callTool(url, "nobody", await tokenOf("user-1"), "user-1");
  assert.deepEqual([nobody.status, nobody.code], [502, "credential_unavailable"], nobody.text);
});

test("a token for another audience than the target's is never sent", async () => {
  corp.wrongAudience = GATEWAY;
  const called = await callTool(url, "exchanged", await tokenOf("confused"), "confused");
  assert.deepEqual([called.status, called.code], [403, "token_exchange_refused"], called.text);
  assert.equal(tools.seen.length, 0);
});

test("while the issuer is down, exchanged tokens keep working, other callers get an error in time, and all recover afterwards", async () => {
  const known = await tokenOf("known");
  answered(await callTool(url, "exchanged", known, "known"), "known");
  for (const outage of ["refuses", "503", "garbage", "hangs"] as const) {
    corp.outage = outage;
    answered(await callTool(url, "exchanged", known, "known"), "known");
    const begun = performance.now();
    const called = await callTool(url, "exchanged", await tokenOf(`stranger-${outage}`), "x");
    assert.deepEqual([called.status, called.code], [502, "credential_unavailable"], called.text);
    assert.ok(performance.now() - begun < 8_000, outage);
    assert.ok(!called.text.includes("CANARY"));
    corp.outage = "up";
    const token = await tokenOf(`later-${outage}`);
    const later = await eventually("an exchange", async () => {
      const again = await callTool(url, "exchanged", token, `later-${outage}`);
      return again.status === 200 && again;
    });
    answered(later, `later-${outage}`);
  }
  const line = gateway
    .log()
    .find(({ message, credential }) => message === "a credential cannot be fetched" && credential === "exchanged");
  assert.deepEqual([line?.level, line?.["kind"]], ["error", "token_exchange"]);
});

test("an upstream that refuses every token is reported as our failure, and is asked only once more", async () => {
  answered(await callTool(url, "exchanged", await tokenOf("known-2"), "known-2"), "known-2");
  tools.seen.length = 0;
  tools.refuses = 2;
  const called = await callTool(url, "exchanged", await tokenOf("unlucky"), "unlucky");
  assert.deepEqual([called.status, called.code], [502, "upstream_invalid"], called.text);
  assert.match(called.text, /does not accept the gateway's credential/);
  assert.equal(called.headers.get("www-authenticate"), null);
  assert.equal(tools.seen.length, 2);
});

test("check says for each credential whether one is available, and what only a caller can prove", async () => {
  const env = { CLIENT_SECRET: SECRET, ASCII_SECRET };
  const program = runProgram(file, { args: ["check", "-config", node.nodePath], env });
  await within("the end of check", program.ended, 60_000);
  const text = program.stdout();
  for (const line of [
    /^ok {4}credential own: its token endpoint returned a token$/m,
    /^fail {2}credential stale: the endpoint answers 40[01] invalid_client$/m,
    /^note {2}credential exchanged: the token endpoint of corp is known; whether it exchanges only a caller can prove$/m,
    /^note {2}MCP server exchanged: .* answered 401: it requires a caller's credential, which this check does not have$/m,
    /^note {2}configuration: .*credentials\[\d+\]\.token_exchange\.issuer: warning: this credential cannot be used/m,
  ]) {
    assert.match(text, line);
  }
  for (const secret of [SECRET, ASCII_SECRET, "CANARY", "eyJ"]) assert.ok(!text.includes(secret));
});

test("no secret, no token and no text of the issuer is logged or stored", async () => {
  const metrics = await (await fetch(String(gateway.metricsUrl))).text();
  const shown = [
    node.output(),
    metrics,
    JSON.stringify(await node.client.call("list_mcp_servers")),
    JSON.stringify(await node.client.call("list_backends")),
  ];
  const secrets = [SECRET, ASCII_SECRET, "canary", "CANARY", ...tokens, ...tools.seen.map(({ token }) => token)];
  for (const text of shown) for (const secret of secrets) assert.ok(!text.includes(secret), secret.slice(0, 12));
});
