/** Fetching of discovery and keys by `gateway check` and the verifier: addresses, trust, credentials, limits. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type IssuerOptions, type IssuerProbe, probeIssuer } from "../../../src/server/auth/index.ts";
import { testCertificates } from "./support/certificates.ts";
import { DISCOVERY_PATH, goodClaims, KEYS_PATH, sign, startIssuer, type TestKey, testKey } from "./support/issuer.ts";
import { testVerifier } from "./support/verify.ts";

let key: TestKey;
let folder: string;

before(async () => {
  key = await testKey("ES256", "k1");
  folder = await mkdtemp(join(tmpdir(), "issuer-"));
});

after(() => rm(folder, { recursive: true, force: true }));

const probe = (issuer: IssuerOptions, timeoutMs = 5_000): Promise<IssuerProbe> =>
  probeIssuer(issuer, { timeoutMs, signal: new AbortController().signal });

/** Returns `ok`, or the failed step with the reason. */
async function probeText(issuer: IssuerOptions, timeoutMs?: number): Promise<string> {
  const found = await probe(issuer, timeoutMs);
  return found.kind === "ok" ? "ok" : `${found.step}: ${found.message}`;
}

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

const redirectTo =
  (location: string) =>
  (response: ServerResponse): true => {
    response.writeHead(302, { location }).end();
    return true;
  };

test("an issuer that answers is reported with its key address and the number of usable keys", async () => {
  await using issuer = await startIssuer({ keys: [key] });
  issuer.keys = [key.jwk, { ...key.jwk, use: "enc" }];
  assert.deepEqual(await probe(issuer.options()), { kind: "ok", jwksUrl: issuer.jwksUrl, keys: 1 });
  assert.deepEqual(await probe(issuer.options({ jwksUrl: issuer.jwksUrl })), {
    kind: "ok",
    jwksUrl: issuer.jwksUrl,
    keys: 1,
  });
});

test("discovery keeps the path of the issuer's url and drops one trailing slash", async () => {
  await using issuer = await startIssuer({ keys: [key] });
  for (const path of ["/realms/corp", "/realms/corp/"]) {
    issuer.discovery = { issuer: issuer.origin + path };
    issuer.intercept = (asked, _request, response) => {
      if (asked !== `/realms/corp${DISCOVERY_PATH}`) return false;
      response.end(JSON.stringify({ issuer: issuer.origin + path, jwks_uri: issuer.jwksUrl }));
      return true;
    };
    assert.equal(await probeText(issuer.options({ url: issuer.origin + path })), "ok");
  }
});

test("failed discovery is reported with the reason, without the document's text", async () => {
  await using issuer = await startIssuer({ keys: [key] });
  const at = issuer.origin + DISCOVERY_PATH;
  const rows: readonly [Readonly<Record<string, unknown>>, string][] = [
    [{ issuer: "https://evil.example" }, `discovery: ${at}: the document is of another issuer`],
    [{ issuer: `${issuer.url}/` }, `discovery: ${at}: the document is of another issuer`],
    [{ issuer: undefined }, `discovery: ${at}: the document is of another issuer`],
    [{ jwks_uri: undefined }, `discovery: ${at}: the document names no jwks_uri`],
    [{ jwks_uri: 7 }, `discovery: ${at}: the document names no jwks_uri`],
    [{ jwks_uri: "file:///etc/passwd" }, `discovery: ${at}: its jwks_uri is not an http(s) address`],
    [{ jwks_uri: "keys" }, `discovery: ${at}: its jwks_uri is not an http(s) address`],
  ];
  for (const [members, message] of rows) {
    issuer.discovery = members;
    assert.equal(await probeText(issuer.options()), message);
  }
  assert.equal(issuer.fetches(KEYS_PATH), 0);
});

test("an answer that is not the expected document is reported as such", async () => {
  await using issuer = await startIssuer();
  const rows: readonly [string, number, string, string][] = [
    [DISCOVERY_PATH, 404, "canary", "status 404"],
    [DISCOVERY_PATH, 200, "<html>canary", "the answer is not JSON"],
    [DISCOVERY_PATH, 200, "[]", "the answer is not a discovery document"],
    [KEYS_PATH, 500, "canary", "status 500"],
    [KEYS_PATH, 204, "", "status 204"],
    [KEYS_PATH, 200, "", "the answer is not JSON"],
    [KEYS_PATH, 200, "canary", "the answer is not JSON"],
    [KEYS_PATH, 200, "null", "the answer is not a key set, or has too many keys"],
    [KEYS_PATH, 200, '{"keys":{}}', "the answer is not a key set, or has too many keys"],
    [KEYS_PATH, 200, '{"keys":[]}', "no key of the set can verify a token"],
    [
      KEYS_PATH,
      200,
      JSON.stringify({ keys: Array(257).fill(key.jwk) }),
      "the answer is not a key set, or has too many keys",
    ],
    [KEYS_PATH, 200, JSON.stringify({ keys: Array(256).fill(key.jwk) }), "ok"],
    [KEYS_PATH, 200, JSON.stringify({ keys: [key.jwk], x: "x".repeat(1 << 20) }), "over 1048576 bytes"],
  ];
  for (const [path, status, body, message] of rows) {
    issuer.intercept = (asked, _request, response) => {
      if (asked !== path) return false;
      response.writeHead(status).end(body);
      return true;
    };
    const step = path === KEYS_PATH ? "keys" : "discovery";
    assert.equal(
      await probeText(issuer.options()),
      message === "ok" ? "ok" : `${step}: ${issuer.origin}${path}: ${message}`,
    );
  }
});

test("an endless answer is abandoned at the limit, or at its headers if the body is not needed", async () => {
  await using issuer = await startIssuer();
  let sent = 0;
  let status = 200;
  const ended: Promise<unknown>[] = [];
  issuer.intercept = (_path, _request, response) => {
    ended.push(once(response, "close"));
    response.writeHead(status, { location: "https://elsewhere.example/" });
    const chunk = Buffer.alloc(64 << 10, " ");
    const send = (): void => {
      while (!response.destroyed && response.write(chunk)) sent += chunk.length;
      response.once("drain", send);
    };
    send();
    return true;
  };
  assert.match(await probeText(issuer.options()), /over 1048576 bytes/);
  status = 503;
  assert.match(await probeText(issuer.options()), /status 503/);
  status = 302;
  assert.match(await probeText(issuer.options()), /redirects to another origin/);
  await Promise.all(ended);
  assert.equal(ended.length, 3);
  assert.ok(sent < 64 << 20, `${sent} bytes`);
});

test("a refused connection, silence and a broken answer are reported within the timeout", async (t) => {
  await using issuer = await startIssuer({ keys: [key] });
  issuer.intercept = () => true;
  assert.equal(
    await probeText(issuer.options(), 100),
    `discovery: ${issuer.origin}${DISCOVERY_PATH}: no answer within 100 ms`,
  );
  issuer.intercept = (_path, _request, response) => {
    response.writeHead(200, { "content-length": "100" }).write("{");
    response.socket?.end();
    return true;
  };
  assert.match(await probeText(issuer.options()), /^discovery: .*openid-configuration: /);
  const { options } = issuer;
  await issuer.close();
  assert.match(await probeText(options()), /^discovery: .*ECONNREFUSED/);

  const mute = createServer().listen(0, "127.0.0.1");
  t.after(() => mute.close());
  await once(mute, "listening");
  const address = mute.address();
  const port = typeof address === "object" ? address?.port : undefined;
  assert.match(await probeText(options({ url: `https://127.0.0.1:${port}` }), 100), /no answer within 100 ms/);
});

test("a caller can abort its probe", async () => {
  await using issuer = await startIssuer();
  const asked = new AbortController();
  issuer.intercept = () => {
    asked.abort(new Error("interrupted"));
    return true;
  };
  const left = await probeIssuer(issuer.options(), { timeoutMs: 30_000, signal: asked.signal });
  assert.ok(left.kind === "failed" && left.message.endsWith(": interrupted"));
  const before = await probeIssuer(issuer.options(), { timeoutMs: 30_000, signal: asked.signal });
  assert.equal(before.kind, "failed");
  assert.equal(issuer.seen.length, 1);
});

test("at most three redirects within the origin are followed, and none to another origin", async () => {
  await using other = await startIssuer({ keys: [key] });
  await using issuer = await startIssuer({ keys: [key] });
  const hops = (count: number) => {
    issuer.intercept = (path, _request, response) => {
      const at = path === KEYS_PATH ? 0 : Number(/^\/hop(\d)$/.exec(path)?.[1] ?? Number.NaN);
      if (Number.isNaN(at) || at >= count) {
        if (!path.startsWith("/hop")) return false;
        response.end(JSON.stringify({ keys: issuer.keys }));
        return true;
      }
      return redirectTo(`/hop${at + 1}`)(response);
    };
  };
  hops(3);
  assert.equal(await probeText(issuer.options()), "ok");
  hops(4);
  assert.match(await probeText(issuer.options()), /more than 3 redirects/);

  const tokenFile = await file("redirect-token", "canary");
  for (const location of [
    other.jwksUrl,
    `//127.0.0.1:${new URL(other.origin).port}/keys`,
    "https://127.0.0.1/",
    "http://",
  ]) {
    issuer.intercept = (path, _request, response) => path === KEYS_PATH && redirectTo(location)(response);
    assert.match(await probeText(issuer.options({ tokenFile })), /redirects to another origin/, location);
  }
  assert.equal(other.seen.length, 0);
});

test("an issuer with a private certificate authority is trusted only with ca_file", async () => {
  const { authority, server } = await testCertificates();
  const otherAuthority = (await testCertificates()).authority;
  await using issuer = await startIssuer({ keys: [key], tls: server });
  const caFile = await file("ca.pem", authority);
  assert.match(await probeText(issuer.options()), /^discovery: .*(?:UNABLE_TO_VERIFY|SELF_SIGNED)/);
  assert.equal(await probeText(issuer.options({ caFile })), "ok");
  assert.equal(
    await probeText(issuer.options({ caFile: await file("both.pem", `${otherAuthority}\n${authority}`) })),
    "ok",
  );
  assert.match(
    await probeText(issuer.options({ caFile: await file("other.pem", otherAuthority) })),
    /^discovery: .*VERIFY|SIGN/,
  );
  assert.match(
    await probeText(issuer.options({ caFile: await file("empty.pem", "") })),
    /ca_file contains no certificate/,
  );
  assert.match(await probeText(issuer.options({ caFile: join(folder, "none.pem") })), /ca_file cannot be read: ENOENT/);
  // The name on the certificate is checked as well as its signer.
  const url = issuer.url.replace("127.0.0.1", "localhost");
  assert.match(await probeText(issuer.options({ url, caFile })), /ERR_TLS_CERT_ALTNAME_INVALID/);
  // Metadata read over TLS must not lead to an address without it.
  issuer.discovery = { jwks_uri: issuer.jwksUrl.replace("https:", "http:") };
  assert.match(await probeText(issuer.options({ caFile })), /its jwks_uri is not https/);
});

test("a replaced ca_file is read at the next fetch", async () => {
  const { authority, server } = await testCertificates();
  await using issuer = await startIssuer({ keys: [key], tls: server });
  const caFile = await file("replaced.pem", (await testCertificates()).authority);
  await using tokens = testVerifier([issuer.options({ caFile })]);
  const token = await sign(key, goodClaims(issuer.url));
  assert.equal(await tokens.outcome(token), "keys_unavailable");
  await writeFile(caFile, authority);
  tokens.clock.advance(60_000);
  assert.equal(await tokens.outcome(token), "verified");
});

test("the bearer token is read at each fetch and sent only to the issuer's origin or the configured address", async () => {
  await using issuer = await startIssuer({ keys: [key] });
  await using elsewhere = await startIssuer({ keys: [key] });
  const tokenFile = await file("token", "first\n");
  const shown = async (changes: Partial<IssuerOptions>) => {
    const from = [issuer.seen.length, elsewhere.seen.length];
    assert.equal(await probeText(issuer.options({ tokenFile, ...changes })), "ok");
    return [...issuer.seen.slice(from[0]), ...elsewhere.seen.slice(from[1])].map((it) => it.authorization);
  };
  assert.deepEqual(await shown({}), ["Bearer first", "Bearer first"]);
  await writeFile(tokenFile, "second");
  assert.deepEqual(await shown({}), ["Bearer second", "Bearer second"]);
  assert.deepEqual(await shown({ jwksUrl: elsewhere.jwksUrl }), ["Bearer second"]);
  assert.deepEqual(await shown({ tokenFile: undefined }), [undefined, undefined]);
  issuer.discovery = { jwks_uri: elsewhere.jwksUrl };
  assert.deepEqual(await shown({}), ["Bearer second", undefined]);
});

test("a token file that is missing, empty or invalid stops the fetch and is not quoted", async () => {
  await using issuer = await startIssuer({ keys: [key] });
  const rows = [
    ["", /token_file contains no bearer token/],
    ["canary\r\nx: y", /token_file contains no bearer token/],
    ["canary \u00e9", /token_file contains no bearer token/],
  ] as const;
  for (const [text, expected] of rows) {
    const message = await probeText(issuer.options({ tokenFile: await file("bad-token", text) }));
    assert.match(message, expected);
    assert.doesNotMatch(message, /canary/);
  }
  assert.match(
    await probeText(issuer.options({ tokenFile: join(folder, "none") })),
    /token_file cannot be read: ENOENT/,
  );
  assert.match(await probeText(issuer.options({ tokenFile: folder })), /token_file cannot be read: EISDIR/);
  assert.equal(issuer.seen.length, 0);
});
