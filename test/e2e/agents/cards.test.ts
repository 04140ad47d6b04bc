/**
 * Agent cards through a running gateway: fetching, serving and signing. Source: specification document 3 (`a2a`,
 * `a2a_cards`); a2a reference, 8 and 9; design decisions, section 7; RFC 7515, 7638, 8785.
 */
import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync, type JsonWebKey, verify } from "node:crypto";
import { after, test } from "node:test";
import canonicalize from "canonicalize";
import { calculateJwkThumbprint, flattenedVerify, importJWK, type JWK } from "jose";
import { generatePrivateKey } from "../../../src/base/index.ts";
import { startGoverned } from "../governance/support/governed.ts";
import type { Document } from "../support/config.ts";
import { reply, type Script, scriptedUpstream } from "../support/upstream.ts";
import { eventually } from "../support/wait.ts";

const file = { after };
const PUBLIC_URL = "https://gw.example.com";
const AGENT_KEY = "the-agents-own-key";

const keyPair = () => generatePrivateKey("p-256");
const PKCS8 = keyPair().export({ type: "pkcs8", format: "pem" }).toString();
const SEC1 = keyPair().export({ type: "sec1", format: "pem" }).toString();

const upstream = await scriptedUpstream(file);
const elsewhere = await scriptedUpstream(file);
const HOST = `127.0.0.1:${upstream.port}`;

const own = (facts: Document = {}): Document => ({
  name: "Tickets",
  description: `Answers questions; found at http://${HOST}/rpc by those who may.`,
  version: "1.0.0",
  documentationUrl: `http://${HOST}/docs`,
  iconUrl: "https://icons.example.com/a.png",
  supportedInterfaces: [
    { url: `http://${HOST}/rpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
    { url: "http://internal.corp:9/rpc", protocolBinding: "GRPC", protocolVersion: "1.0" },
  ],
  capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [
    { id: "ask", name: "Größe", description: "Ask INTERNAL.corp anything", tags: ["t"], examples: [`curl ${HOST}`] },
  ],
  securitySchemes: { own: { apiKeySecurityScheme: { location: "header", name: "x-own" } } },
  signatures: [{ protected: "eyJhbGciOiJub25lIn0", signature: "AA" }],
  ...facts,
});

/** Scripts by path: each agent of the deployment has its own card path. */
const scripts = new Map<string, Script>();
upstream.script = (socket, request) =>
  (scripts.get(request.target) ?? ((it) => reply(it, { status: 404 })))(socket, request);

const json = (value: unknown, headers: readonly string[] = []): Script => {
  const body = typeof value === "string" ? value : JSON.stringify(value);
  return (socket) => reply(socket, { headers: ["Content-Type: application/json", ...headers], body });
};

const FAULTY: Readonly<Record<string, readonly [Script, RegExp, string]>> = {
  old: [json({ name: "a", url: `http://${HOST}/`, protocolVersion: "0.3.0" }), /A2A 0\.3/, "unsupported_version"],
  large: [json(own({ description: "x".repeat(1 << 20) })), /larger than 1048576 bytes/, "upstream_unreachable"],
  moved: [
    (socket) => reply(socket, { status: 302, headers: [`Location: ${elsewhere.url}/card.json`] }),
    /a redirect/,
    "upstream_unreachable",
  ],
  page: [
    (socket) => reply(socket, { headers: ["Content-Type: text/html"], body: "<p>{}" }),
    /not JSON/,
    "upstream_unreachable",
  ],
  torn: [json('{"name":"a"'), /not JSON/, "upstream_unreachable"],
  deep: [json(`${"[".repeat(100_000)}${"]".repeat(100_000)}`), /deeper than 64/, "upstream_unreachable"],
  huge: [json(JSON.stringify(own({ x: "N" })).replace('"N"', "1e999")), /number/, "upstream_unreachable"],
  nameless: [json(own({ name: "" })), /no `name`/, "upstream_unreachable"],
  packed: [json(own(), ["Content-Encoding: gzip"]), /compressed/, "upstream_unreachable"],
  leaky: [json(own({ description: `I got ${AGENT_KEY}` })), /credential/, "upstream_unreachable"],
  broken: [
    (socket) => void socket.end("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"),
    /ended unexpectedly/,
    "upstream_unreachable",
  ],
  absent: [(socket) => reply(socket, { status: 404 }), /answers 404/, "upstream_unreachable"],
};
for (const [name, [script]] of Object.entries(FAULTY)) scripts.set(`/${name}.json`, script);
scripts.set("/slow.json", () => undefined);
scripts.set("/untyped.json", (socket) =>
  reply(socket, { headers: ["Content-Type: application/octet-stream"], body: JSON.stringify(own()) }),
);
scripts.set("/.well-known/agent-card.json", json(own()));

const agents = [
  { name: "tickets", url: `${upstream.url}/rpc`, api_key: AGENT_KEY },
  ...[...Object.keys(FAULTY), "slow", "later", "untyped"].map((name) => ({
    name,
    url: `${upstream.url}/rpc`,
    api_key: AGENT_KEY,
    card_url: `${upstream.url}/${name}.json`,
  })),
  { name: "apart", url: "http://agent:9/rpc", api_key: AGENT_KEY, card_url: `${elsewhere.url}/card.json` },
];

const deployment = (version: number, facts: Document = {}): Document => ({
  version,
  public_url: PUBLIC_URL,
  a2a: agents,
  ...facts,
});

const { node } = await startGoverned(file, { deployment: {} });
await node.stop();
await node.writeDeployment({
  auth: { virtual_keys: true },
  ...deployment(2, { a2a_cards: { signing_keys: [PKCS8, SEC1] } }),
});
const gateway = await node.start();

const get = (name: string, headers: Readonly<Record<string, string>> = {}, method = "GET") =>
  fetch(`${gateway.url}/a2a/${name}/.well-known/agent-card.json`, { method, headers });

/** The other cards are requested meanwhile. */
const slow = get("slow");

interface Card {
  readonly signatures?: readonly { readonly protected: string; readonly signature: string }[];
  readonly [member: string]: unknown;
}

async function cardOf(name: string): Promise<Card> {
  const answer = await get(name, { "a2a-version": "1.0" });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return JSON.parse(text) as Card;
}

const keySet = async () =>
  ((await (await fetch(`${gateway.url}/.well-known/a2a-jwks.json`)).json()) as { readonly keys: readonly JWK[] }).keys;

/** Removes empty members of any type. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) {
    const kept = value.map(withoutEmpty).filter((one) => one !== undefined);
    return kept.length === 0 ? undefined : kept;
  }
  if (typeof value !== "object" || value === null) return value === "" || value === null ? undefined : value;
  const kept = Object.entries(value)
    .map(([name, member]) => [name, withoutEmpty(member)] as const)
    .filter(([, member]) => member !== undefined);
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

async function assertSigned({ signatures = [], ...card }: Card, keys: readonly JWK[]): Promise<void> {
  const payloads = [canonicalize(card), canonicalize(withoutEmpty(card))];
  assert.equal(signatures.length, 2);
  for (const [at, { protected: header, signature }] of signatures.entries()) {
    const { alg, kid, typ, jku } = JSON.parse(Buffer.from(header, "base64url").toString()) as Record<string, string>;
    assert.deepEqual([alg, typ, jku], ["ES256", "JOSE", `${PUBLIC_URL}/.well-known/a2a-jwks.json`]);
    const jwk = keys.find((one) => one.kid === kid);
    assert.ok(jwk !== undefined, "the key of the signature is published");
    assert.equal(await calculateJwkThumbprint(jwk), kid);
    const payload = Buffer.from(payloads[at] ?? "").toString("base64url");
    await flattenedVerify({ protected: header, payload, signature }, await importJWK(jwk, "ES256"));
    const key = createPublicKey({ key: jwk as JsonWebKey, format: "jwk" });
    const signed = Buffer.from(`${header}.${payload}`);
    const raw = Buffer.from(signature, "base64url");
    assert.equal(verify("sha256", signed, { key, dsaEncoding: "ieee-p1363" }, raw), true);
    assert.equal(
      verify("sha256", Buffer.concat([signed, Buffer.from("x")]), { key, dsaEncoding: "ieee-p1363" }, raw),
      false,
    );
  }
}

test("a card is served without a credential, with the gateway's address and only the gateway's sign-in scheme", async () => {
  const before = upstream.requests.length;
  const card = await cardOf("tickets");
  const text = JSON.stringify(card);
  assert.ok(!text.includes(HOST) && !/internal\.corp|x-own|eyJhbGciOiJub25lIn0/i.test(text), text);
  assert.deepEqual(card["supportedInterfaces"], [
    { url: `${PUBLIC_URL}/a2a/tickets`, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
  ]);
  assert.deepEqual(card["capabilities"], { streaming: true, pushNotifications: false, extendedAgentCard: false });
  assert.deepEqual(card["securitySchemes"], { bearer: { httpAuthSecurityScheme: { scheme: "Bearer" } } });
  assert.equal(card["documentationUrl"], undefined);
  assert.equal(card["iconUrl"], "https://icons.example.com/a.png");
  const cardRequests = upstream.requests.slice(before).filter(({ target }) => target.startsWith("/.well-known/"));
  assert.equal(cardRequests.length, 1);
  const sent = new Map(cardRequests[0]?.headers.map(([name, value]) => [name.toLowerCase(), value]));
  assert.equal(sent.get("authorization"), `Bearer ${AGENT_KEY}`);
  assert.equal(sent.get("a2a-version"), "1.0");
});

test("both forms of a card are signed by the first key, and both keys are published", async () => {
  const keys = await keySet();
  assert.equal(keys.length, 2);
  assert.ok(keys.every((key) => key.d === undefined && key.alg === "ES256" && key.use === "sig"));
  const card = await cardOf("tickets");
  await assertSigned(card, keys);
  const header = JSON.parse(Buffer.from(card.signatures?.[0]?.protected ?? "", "base64url").toString()) as {
    kid: string;
  };
  assert.equal(header.kid, keys[0]?.kid);
  await assert.rejects(assertSigned({ ...card, version: "1.0.1" }, keys));
});

test("one upstream request serves all concurrent and later readers, and a client with a current copy gets 304", async () => {
  scripts.set("/later.json", json(own()));
  const before = upstream.requests.length;
  const cards = await Promise.all(Array.from({ length: 20 }, () => cardOf("later")));
  assert.equal(upstream.requests.length, before + 1);
  // Each process signs for itself, and no two signatures are equal.
  assert.equal(new Set(cards.map(({ signatures: _, ...card }) => JSON.stringify(card))).size, 1);
  const first = await get("later");
  const etag = first.headers.get("etag") ?? "";
  assert.match(first.headers.get("cache-control") ?? "", /max-age=\d+/);
  const again = await get("later", { "if-none-match": etag });
  assert.deepEqual([again.status, await again.text(), again.headers.get("etag")], [304, "", etag]);
  const head = await get("later", {}, "HEAD");
  assert.deepEqual([head.status, await head.text()], [200, ""]);
  assert.ok(Number(head.headers.get("content-length")) > 0);
  assert.equal((await get("later", {}, "POST")).status, 405);
  const preflight = await get("later", {}, "OPTIONS");
  assert.equal(preflight.status, 204);
  assert.match(preflight.headers.get("access-control-allow-headers") ?? "", /A2A-Version/);
  assert.equal((await get("nobody")).status, 404);
});

test("a card is read as JSON if it is JSON, whatever type its server gives it", async () => {
  const answer = await get("untyped");
  assert.equal(answer.status, 200, await answer.text());
  assert.equal(answer.headers.get("content-type"), "application/json");
});

test("a card that is asked for without an agent's name, or at the path of older revisions, is answered with the right path", async () => {
  for (const path of [
    "/a2a/.well-known/agent-card.json",
    "/a2a/.well-known/agent.json",
    "/a2a/later/.well-known/agent.json",
  ]) {
    const answer = await fetch(gateway.url + path);
    const text = await answer.text();
    assert.equal(answer.status, 404, text);
    assert.match(text, /`\/a2a\/NAME\/.well-known\/agent-card.json`; give the client `\/a2a\/NAME\/`/, path);
  }
});

test("each node signs for itself, and all nodes agree on whether a card changed", async (t) => {
  const { nodes } = await startGoverned(t, {
    ids: ["n1", "n2"],
    deployment: deployment(1, { a2a_cards: { signing_keys: [PKCS8] } }),
  });
  const ask = async (at: number, headers: Readonly<Record<string, string>> = {}) => {
    const url = nodes[at]?.gateway.url;
    const answer = await fetch(`${url}/a2a/tickets/.well-known/agent-card.json`, { headers });
    return { status: answer.status, etag: answer.headers.get("etag") ?? "", text: await answer.text() };
  };
  const [one, two] = [await ask(0), await ask(1)];
  assert.notEqual(one.text, two.text, "a signature is another each time");
  const card = ({ text }: typeof one): unknown => ({ ...(JSON.parse(text) as Card), signatures: undefined });
  assert.deepEqual(card(one), card(two));
  // The bytes differ between nodes, so the tag must be weak. Source: RFC 9110, 8.8.1.
  assert.match(one.etag, /^W\/"[\w-]{43}"$/);
  assert.equal(one.etag, two.etag);
  assert.equal((await ask(1, { "if-none-match": one.etag })).status, 304);
});

for (const [name, [, problem, code]] of Object.entries(FAULTY)) {
  test(`a card that cannot be shown is refused and fetched again only later: ${name}`, async () => {
    const before = upstream.requests.length;
    for (let turn = 0; turn < 2; turn++) {
      const answer = await get(name);
      const text = await answer.text();
      assert.equal(answer.status, 502, text);
      const { error } = JSON.parse(text) as { readonly error: { readonly code: string; readonly message: string } };
      assert.equal(error.code, code);
      assert.match(error.message, problem);
      assert.ok(!text.includes(HOST) && !text.includes(AGENT_KEY), text);
    }
    assert.equal(upstream.requests.length, before + 1);
    assert.equal(elsewhere.requests.length, 0);
  });
}

test("an agent that does not answer is abandoned after ten seconds", async () => {
  const answer = await slow;
  assert.equal(answer.status, 502);
  assert.match(await answer.text(), /no answer within 10s/);
});

test("the agent's credential is sent only to the origin of its calls", async () => {
  elsewhere.script = json(own({ description: "An agent at http://agent/x", documentationUrl: "http://agent:9/docs" }));
  const card = await cardOf("apart");
  assert.deepEqual([card["description"], card["documentationUrl"]], ["An agent at http:[withheld]/x", undefined]);
  const [asked] = elsewhere.requests;
  assert.ok(asked !== undefined && !asked.headers.some(([header]) => header.toLowerCase() === "authorization"));
});

test("after a key rotation the new key signs and the old one stays published until it is removed", async () => {
  const before = await cardOf("tickets");
  const old = await keySet();
  const fresh = keyPair().export({ type: "pkcs8", format: "pem" }).toString();
  const put = async (version: number, keys: readonly string[] | undefined, published: number) => {
    const cards = keys === undefined ? undefined : { signing_keys: keys };
    await node.writeDeployment({ auth: { virtual_keys: true }, ...deployment(version, { a2a_cards: cards }) });
    await node.client.call("reload_config");
    await eventually("the keys", async () => {
      const answer = await fetch(`${gateway.url}/.well-known/a2a-jwks.json`);
      if (!answer.ok) return published === 0;
      const { keys: found } = (await answer.json()) as { readonly keys: readonly unknown[] };
      return found.length === published;
    });
  };
  await put(3, [fresh, PKCS8, SEC1], 3);
  await assertSigned(before, await keySet());
  const after = await cardOf("tickets");
  await assertSigned(after, await keySet());
  await assert.rejects(assertSigned(after, old), /published/);
  await put(4, [fresh], 1);
  await assertSigned(await cardOf("tickets"), await keySet());
  await put(5, undefined, 0);
  assert.equal((await cardOf("tickets")).signatures, undefined);
});

test("without `public_url` no card is served, and the error names the key", async () => {
  await node.writeDeployment({ auth: { virtual_keys: true }, ...deployment(6, { public_url: undefined }) });
  await node.client.call("reload_config");
  const answer = await eventually("the new configuration", async () => {
    const found = await get("tickets");
    return found.status === 503 ? found : undefined;
  });
  assert.match(await answer.text(), /"message":"[^"]*`public_url`.*"code":"no_public_url"/);
});

test("keys of other types are refused when they are loaded, by their path, and no key is ever shown", async () => {
  const p384 = generateKeyPairSync("ec", {
    namedCurve: "P-384",
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "sec1", format: "pem" },
  }).privateKey;
  const text = JSON.stringify({
    ...deployment(7),
    auth: { virtual_keys: true },
    a2a_cards: { signing_keys: [PKCS8, p384, "-----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY-----"] },
  });
  await node.writeDeployment(text);
  const refusal = await node.client.call("reload_config").then(
    (outcome) => JSON.stringify(outcome),
    (error: unknown) => `${String(error)} ${JSON.stringify(error)}`,
  );
  assert.match(refusal, /signing_keys\[1\].*P-256/);
  assert.match(refusal, /signing_keys\[2\].*not a PEM private key/);
  const output = refusal + node.output() + JSON.stringify(await node.client.call("list_sources"));
  for (const pem of [PKCS8, SEC1, p384.toString()]) {
    const [, line = ""] = pem.split("\n");
    assert.ok(line.length > 40 && !output.includes(line), "a private key is printed");
  }
  assert.doesNotMatch(output, /canary/);
});
