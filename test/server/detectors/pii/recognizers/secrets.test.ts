import assert from "node:assert/strict";
import test from "node:test";
import { mintKey } from "../../../../../src/server/auth/virtual-key.ts";
import { compileScan, engineOf } from "../../../../../src/server/detectors/pii/index.ts";
import { SECRETS } from "../../../../../src/server/detectors/pii/recognizers/secrets/index.ts";
import { bitsPerCharacter } from "../../../../../src/server/detectors/pii/recognizers/secrets/text.ts";

// Tokens are assembled here, so that no file contains one.
const scan = compileScan(SECRETS, { engine: engineOf("pure")!, usesContext: true });
const found = (text: string) => scan(text).map(({ start, end, label }) => [label, text.slice(start, end)]);

const MIXED = "q7Rk2ZpX9vLm4TsB8nWc3HdY6fJg1KxQ5aUe0MoViP";
const join = (...parts: string[]) => parts.join("");
const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
const github = join("ghp", "_", "AbCdEfGhIjKlMnOpQrStUvWxYz0123", "2piBxe");
const jwt = join(base64url({ alg: "HS256" }), ".", base64url({ sub: "a-caller" }), ".", MIXED);
const pem = (body: string) => join("-----BEGIN ", "PRIVATE KEY-----", body, "-----END ", "PRIVATE KEY-----");
const lines = [MIXED, MIXED, MIXED, ""].join("\n");

test("a token is found whole in any surroundings", () => {
  for (const token of [github, jwt]) {
    const label = token === github ? "GITHUB_TOKEN" : "JWT";
    for (const text of [
      token,
      `"${token}"`,
      `https://example.net/?t=${token}&u=1`,
      `https://example.net/?t%3D${token}%26u`,
      `{"a":"{\\"t\\":\\"${token}\\"}"}`,
      `"line\\n${token}\\nmore"`,
      `t: ${token}.`,
    ]) {
      const hit = found(text).filter(([type]) => type === label);
      assert.deepEqual(hit, [[label, token]], label);
    }
  }
  const hidden = `${github.slice(0, 9)}\u200b${github.slice(9)}`;
  assert.deepEqual(found(`x ${hidden} y`), [["GITHUB_TOKEN", hidden]]);
});

test("a wrong checksum, a part of a longer word and a placeholder are not found", () => {
  for (const text of [
    `export TOKEN=${github.slice(0, -1)}f`,
    `a${github}`,
    `${github}9`,
    `token=${"$"}{API_TOKEN_12}`,
    "token=<your-token-here1a2>",
    "password=changeme1a2b3c4",
    join("postgres", "://app:***@db/prod"),
    join("postgres", "://app:<password>@db/prod"),
    "postgres://localhost:5432/dev",
    join("https", "://user:pass@host.test/"),
    pem("..."),
  ]) {
    assert.deepEqual(found(text), [], text);
  }
});

test("a virtual key of the gateway is validated by its checksum", () => {
  const { text } = mintKey((length) => new Uint8Array(length).map((_, at) => (at * 37 + 11) % 248));
  assert.deepEqual(
    scan(`key ${text}`).map(({ label, score }) => [label, score]),
    [["GATEWAY_KEY", 1]],
  );
  assert.deepEqual(found(`key ${text.slice(0, -1)}${text.endsWith("0") ? "1" : "0"}`), []);
});

test("a private key is found with line breaks, with escaped ones, and truncated", () => {
  for (const body of [`\n${lines}`, `\\n${lines.replaceAll("\n", "\\n")}`]) {
    assert.deepEqual(found(`k: ${pem(body)};`), [["PRIVATE_KEY", pem(body)]]);
  }
  const cut = join("-----BEGIN ", "RSA PRIVATE KEY-----\n", lines);
  assert.deepEqual(
    found(cut).map(([type]) => type),
    ["PRIVATE_KEY"],
  );
});

test("a generated value beside a word for a secret is found in code, JSON, YAML, shells and addresses", () => {
  const value = MIXED.slice(0, 24);
  for (const text of [
    `const apiKey = "${value}";`,
    `{"client_secret": "${value}"}`,
    `{\\"password\\": \\"${value}\\"}`,
    `db_password: ${value}\n`,
    `export AUTH_TOKEN='${value}'`,
    `?access_token=${value}&x=1`,
  ]) {
    assert.deepEqual(found(text), [["GENERIC_SECRET", value]], text);
  }
  for (const text of [
    "const token = request2.headers.get",
    "key: user-profile-settings-2024",
    "password = getPassword1a2b3()",
  ]) {
    assert.deepEqual(found(text), [], text);
  }
});

test("a secret key of AWS is found only beside its name", () => {
  const value = MIXED.slice(0, 40);
  for (const text of [`AWS_SECRET_ACCESS_KEY=${value}`, `[default]\naws_secret_access_key = ${value}\nregion = x`]) {
    assert.deepEqual(found(text), [["AWS_SECRET_ACCESS_KEY", value]], text);
  }
  assert.deepEqual(found(`digest ${value}`), []);
});

test("entropy is measured in bits per character", () => {
  assert.equal(bitsPerCharacter(""), 0);
  assert.equal(bitsPerCharacter("aaaa"), 0);
  assert.equal(bitsPerCharacter("abcd"), 2);
});
