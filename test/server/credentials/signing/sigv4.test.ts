/**
 * Signatures, value by value. Source: the published signature test suite of AWS (its values, in our own table); the
 * requests of the cloud's two surfaces in the credentials reference, 2.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { createSigner, payloadHashOf } from "../../../../src/server/credentials/signing/signing.ts";
import {
  canonicalHeaders,
  canonicalPath,
  canonicalQuery,
  canonicalRequest,
  derivedKey,
  EMPTY_PAYLOAD_HASH,
  encodedPath,
  payloadHash,
  type SignedHeader,
  signature,
  signingTime,
  stringToSign,
} from "../../../../src/server/credentials/signing/sigv4.ts";

const SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const SCOPE = { region: "us-east-1", service: "service" };
const TIME = "20150830T123600Z";

interface Row {
  readonly name: string;
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
  readonly normalized: boolean;
  readonly bodySigned: boolean;
  readonly token?: string;
  readonly tokenSigned?: boolean;
  /** Hex SHA-256 of the canonical request. */
  readonly digest: string;
  readonly signature: string;
}

const ROWS: readonly Row[] = JSON.parse(
  readFileSync(new URL("../../../data/credentials/sigv4.json", import.meta.url), "utf8"),
);

/** One character per byte, as on the wire. */
const wire = (text: string): string => Buffer.from(text).toString("latin1");

test("every request of the published suite has its signature", () => {
  assert.equal(ROWS.length, 38);
  for (const row of ROWS) {
    const hash = payloadHash(Buffer.from(row.body));
    const headers: SignedHeader[] = row.headers.map(([name, value]) => [name.toLowerCase(), wire(value)]);
    headers.push(["x-amz-date", TIME]);
    if (row.bodySigned) headers.push(["x-amz-content-sha256", hash]);
    if (row.token !== undefined && row.tokenSigned) headers.push(["x-amz-security-token", row.token]);
    const target = wire(row.target);
    const path = target.split("?")[0] ?? "";
    const canonical = canonicalRequest(
      { method: row.method, target, headers: canonicalHeaders(headers), payloadHash: hash },
      row.normalized ? undefined : encodedPath(path),
    );
    const text = stringToSign(canonical, TIME, SCOPE);
    assert.equal(text.split("\n").at(-1), row.digest, `${row.name}:\n${canonical}`);
    assert.equal(signature(derivedKey(SECRET, TIME.slice(0, 8), SCOPE), text), row.signature, row.name);
  }
});

test("the daily key is derived from secret, day, region and service", () => {
  assert.equal(
    derivedKey(SECRET, "20150830", SCOPE).toString("hex"),
    "938127b5336810ddb6a5d6af445fcac9e371f9ed418ed386b022aed82901be75",
  );
  assert.equal(
    derivedKey(SECRET, "20261123", { region: "us-east-1", service: "bedrock" }).toString("hex"),
    "0810651a958ef9849fcfbd1303e85b6381604aac54724fed4929aecdb566fbb1",
  );
});

const RUNTIME = "bedrock-runtime.us-east-1.amazonaws.com";
const JSON_TYPE = ["content-type", "application/json"];

/** Method, host, target, headers, body, token, scope; then the signed names and the signature. */
const SURFACES = [
  [
    "POST",
    RUNTIME,
    "/openai/v1/chat/completions",
    JSON_TYPE,
    '{"model":"openai.gpt-oss-20b-1:0","messages":[{"role":"user","content":"hi"}]}',
    undefined,
    { region: "us-east-1", service: "bedrock" },
    "content-type;host;x-amz-content-sha256;x-amz-date",
    "6101990052f2cf2690008cec06be7698d2c2396e01918b0500d8f2b1faf27915",
  ],
  [
    "POST",
    "bedrock-mantle.eu-west-1.api.aws",
    "/anthropic/v1/messages",
    ["anthropic-version", "2023-06-01", ...JSON_TYPE],
    '{"model":"anthropic.claude-haiku","max_tokens":1,"messages":[]}',
    "SESSION/TOKEN==",
    { region: "eu-west-1", service: "bedrock-mantle" },
    "anthropic-version;content-type;host;x-amz-content-sha256;x-amz-date;x-amz-security-token",
    "44bc744ea51307c0da3db088f230dcecca304094e1238164aed314bd263ccf89",
  ],
  [
    "GET",
    RUNTIME,
    "/openai/v1/models/openai.gpt-oss-20b-1%3A0",
    [],
    "",
    undefined,
    { region: "us-east-1", service: "bedrock" },
    "host;x-amz-content-sha256;x-amz-date",
    "61e7378b26093e08152b45e01fd0296d630feda35845417676924f8d04944f68",
  ],
  [
    "GET",
    RUNTIME,
    "/openai/v1/models/openai.gpt-oss-20b-1:0",
    [],
    "",
    undefined,
    { region: "us-east-1", service: "bedrock" },
    "host;x-amz-content-sha256;x-amz-date",
    "9f01dcd249ff541952402dd431237138cc54b5ff21f176473d5a156e1a669aaa",
  ],
  [
    "GET",
    "bedrock-mantle.us-east-1.api.aws",
    "/v1/models?limit=2&after=a%20b%2F%2B",
    [],
    "",
    undefined,
    { region: "us-east-1", service: "bedrock-mantle" },
    "host;x-amz-content-sha256;x-amz-date",
    "5453a92831e5702bf6d6b873f8b46cfe307be2f13472613253f6429085b0e9c1",
  ],
] as const;

test("requests of the cloud's surfaces are signed over type, host, version and body, and nothing else", () => {
  const at = Date.UTC(2026, 10, 23);
  for (const [method, host, path, headers, body, sessionToken, scope, names, signed] of SURFACES) {
    const keys = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: SECRET, sessionToken };
    const others = ["user-agent", "x", "X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD", "x_amz_date", "19700101T000000Z"];
    const sent = createSigner(scope).sign(
      { method, host, path, headers: [...headers, ...others], body: body === "" ? null : Buffer.from(body) },
      keys,
      at,
      payloadHash(Buffer.from(body)),
    );
    const proof = `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261123/${scope.region}/${scope.service}/aws4_request`;
    assert.equal(sent.at(-1), `${proof}, SignedHeaders=${names}, Signature=${signed}`, path);
    assert.ok(sent.includes("user-agent"), "what is not signed goes along");
    assert.ok(!sent.includes("UNSIGNED-PAYLOAD") && !sent.includes("x_amz_date"), "the client's own does not");
    assert.equal(sent.includes("x-amz-security-token"), sessionToken !== undefined);
  }
});

test("a changed session token, key or day causes another derived key", () => {
  const signer = createSigner(SCOPE);
  const request = { method: "GET", host: "h", path: "/", headers: [], body: null };
  const keys = { accessKeyId: "A", secretAccessKey: SECRET, sessionToken: undefined };
  const midnight = Date.UTC(2026, 0, 2);
  const signed = [
    signer.sign(request, keys, midnight - 1, EMPTY_PAYLOAD_HASH),
    signer.sign(request, keys, midnight, EMPTY_PAYLOAD_HASH),
    signer.sign(request, { ...keys, secretAccessKey: "other" }, midnight, EMPTY_PAYLOAD_HASH),
    signer.sign(request, keys, midnight, EMPTY_PAYLOAD_HASH),
  ].map((headers) => headers.at(-1) ?? "");
  assert.match(signed[0] ?? "", /\/20260101\//);
  assert.match(signed[1] ?? "", /\/20260102\//);
  assert.notEqual(signed[1], signed[2]);
  assert.equal(signed[1], signed[3]);
});

test("queries are sorted by name, then value, each decoded once and encoded", () => {
  const table = [
    ["", ""],
    ["a", "a="],
    ["b=2&a=1", "a=1&b=2"],
    ["Param-3=c&Param=b", "Param=b&Param-3=c"],
    ["a=b=c", "a=b%3Dc"],
    ["a=1&&b=2&", "a=1&b=2"],
    ["a=x%20y&a=x+y", "a=x%20y&a=x%2By"],
    ["k=%2f%2F/", "k=%2F%2F%2F"],
    ["k=100%&z=%zz", "k=100%25&z=%25zz"],
    ["k=!'()*~-._", "k=%21%27%28%29%2A~-._"],
  ] as const;
  for (const [query, expected] of table) assert.equal(canonicalQuery(query), expected, query);
});

test("a path loses empty and dot segments, and each of its bytes is encoded once more", () => {
  const table = [
    ["/", "/"],
    ["", "/"],
    ["//", "/"],
    ["/a/", "/a/"],
    ["//a//b/", "/a/b/"],
    ["/a/./b", "/a/b"],
    ["/a/../b", "/b"],
    ["/../../b", "/b"],
    ["/a/..", "/"],
    ["/a/b/..", "/a/"],
    ["/a/b/.", "/a/b/"],
    ["/a/.b/..c", "/a/.b/..c"],
    ["/m/a:b", "/m/a%3Ab"],
    ["/m/a%3Ab", "/m/a%253Ab"],
    ["/m/a%2Fb", "/m/a%252Fb"],
    ["/m/\u00e1", "/m/%E1"],
  ] as const;
  for (const [path, expected] of table) assert.equal(canonicalPath(path), expected, path);
});

test("a canonical path has only unreserved bytes and is idempotent", () => {
  const seed = Number(process.env["GATEWAY_SEED"] ?? Date.now() % 1e9);
  const byte = fc.integer({ min: 0x21, max: 0xff }).map((code) => String.fromCharCode(code));
  const paths = fc.array(fc.oneof(byte, fc.constantFrom("/", ".", "%", "..")), { maxLength: 40 });
  fc.assert(
    fc.property(paths, (parts) => {
      const path = canonicalPath(`/${parts.join("")}`);
      assert.match(path, /^\/(?:[A-Za-z0-9\-_.~/]|%[0-9A-F]{2})*$/);
      assert.ok(!/\/\/|\/\.\.?(?:\/|$)/.test(path), path);
    }),
    { seed },
  );
  console.log(`seed ${seed}`);
});

test("a large body is hashed in pieces, once for all attempts, with the same result", async () => {
  const small = Buffer.alloc(1 << 20, 7);
  assert.equal(payloadHashOf(small), payloadHash(small));
  for (const length of [(1 << 20) + 1, 5 << 20, (2 << 20) - 1]) {
    const body = Buffer.alloc(length, 9);
    const hash = payloadHashOf(body);
    assert.ok(hash instanceof Promise);
    assert.equal(payloadHashOf(body), hash);
    assert.equal(await hash, payloadHash(body));
  }
});

test("an empty body has its own hash, and times are UTC in seconds", () => {
  assert.equal(payloadHash(null), EMPTY_PAYLOAD_HASH);
  assert.equal(payloadHash(Buffer.alloc(0)), EMPTY_PAYLOAD_HASH);
  assert.equal(signingTime(Date.UTC(2015, 7, 30, 12, 36, 0, 999)), TIME);
});
