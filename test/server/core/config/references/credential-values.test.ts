/**
 * Every place of a credential or header value: surrounding whitespace is trimmed, and values that no header can carry
 * are refused.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  formatProblem,
  type References,
  readDeployment,
  readNodeFile,
} from "../../../../../src/server/core/config/index.ts";

type Json = Readonly<Record<string, unknown>>;
const V = "$" + "{V}";

const provider = { name: "p", dialect: "compat", base_url: "https://api.test/v1", models: ["*"] };
const nlp = (remote: Json): Json => ({
  guardrails: { detectors: [{ type: "nlp", nlp: { tokenizer: "/t.json", labels: ["O"], remote } }] },
});
const cloudsig = { access_key_id: "id", secret_access_key: "key" };
const oauth = { token_url: "https://t.test", client_id: "id", client_secret: "secret" };
const exchange = { issuer: "corp", client_id: "id", client_secret: "secret", audience: "a" };
const credential = (kind: Json): Json => ({ credentials: [{ name: "c", ...kind }] });
const overlay = (facts: Json): Json => ({
  name: "o",
  providers: [{ op: "add", name: "x", schema: { name: "compat" }, base_url: "https://x.test", ...facts }],
});

const PLACES: readonly (readonly [path: string, document: Json])[] = [
  ["providers[0].api_key", { providers: [{ ...provider, api_key: V }] }],
  ["mcp[0].api_key", { mcp: [{ name: "m", url: "https://m.test", api_key: V }] }],
  ["a2a[0].api_key", { a2a: [{ name: "a", url: "https://a.test", api_key: V }] }],
  ["credentials[0].api_key", credential({ api_key: V })],
  ["credentials[0].cloudsig.access_key_id", credential({ cloudsig: { ...cloudsig, access_key_id: V } })],
  ["credentials[0].cloudsig.secret_access_key", credential({ cloudsig: { ...cloudsig, secret_access_key: V } })],
  ["credentials[0].cloudsig.session_token", credential({ cloudsig: { ...cloudsig, session_token: V } })],
  ["credentials[0].oauth.client_id", credential({ oauth: { ...oauth, client_id: V } })],
  ["credentials[0].oauth.client_secret", credential({ oauth: { ...oauth, client_secret: V } })],
  ["credentials[0].token_exchange.client_id", credential({ token_exchange: { ...exchange, client_id: V } })],
  ["credentials[0].token_exchange.client_secret", credential({ token_exchange: { ...exchange, client_secret: V } })],
  [
    "reconcile.providers[0].admin_key",
    { providers: [provider], reconcile: { providers: [{ provider: "p", type: "compat", admin_key: V }] } },
  ],
  [
    "catalog_overlays[0].providers[0].set_request_headers.x-key",
    { catalog_overlays: [overlay({ set_request_headers: { "x-key": V } })] },
  ],
  [
    "guardrails.detectors[0].remote.headers.x-key",
    {
      guardrails: { detectors: [{ type: "remote", remote: { endpoint: "https://r.test", headers: { "x-key": V } } }] },
    },
  ],
  [
    "guardrails.detectors[0].nlp.remote.headers.x-key",
    nlp({ endpoint: "https://r.test", model: "m", headers: { "x-key": V } }),
  ],
];

const referencesOf = (value: string): References => ({
  env: () => value,
  secret: () => ({ kind: "value", value }),
  file: () => ({ kind: "value", value }),
});

const read = (document: Json, value: string, form = V) => {
  const text = JSON.stringify(document).replaceAll(JSON.stringify(V), JSON.stringify(form));
  return readDeployment({ name: "deployment.yaml", text }, referencesOf(value));
};

test("surrounding whitespace is trimmed everywhere, whatever its source", () => {
  for (const [path, document] of PLACES) {
    for (const around of ["canary\n", "canary\r\n", " canary", "\tcanary \n\n", "\ufeffcanary", "\u00a0canary\u2028"]) {
      for (const form of [V, "$" + "{secret:V}", "$" + "{file:V}", around]) {
        const { document: found, asWritten, problems } = read(document, around, form);
        const errors = problems.filter(({ severity }) => severity === "error").map(formatProblem);
        assert.deepEqual(errors, [], `${path} ${JSON.stringify(around)}`);
        assert.ok(JSON.stringify(found).includes(`"canary"`), `${path} ${JSON.stringify(around)}`);
        if (form !== around) assert.ok(JSON.stringify(asWritten).includes(form), "shown as written");
      }
    }
  }
});

test("a value with a control or non-Latin-1 character is refused with its path and never its value", () => {
  const rows = [
    ["ca\u200bnary", "a zero-width space (U+200B)"],
    ["canary\u200b", "a zero-width space (U+200B)"],
    ["ca\u2014nary", "an em dash (U+2014)"],
    ["ca\u2013nary", "an en dash (U+2013)"],
    ["ca\u2019nary", "the character U+2019"],
    ["ca\u00adx\u202enary", "the character U+202E"],
    ["ca\nnary", "a line break"],
    ["ca\r\nnary", "a line break"],
    ["ca\u0000nary", "the control character U+0000"],
    ["ca\u001bnary", "the control character U+001B"],
    ["ca\u007fnary", "the control character U+007F"],
    ["ca\u0085nary", "the control character U+0085"],
    ["ca\u043fnary", "a character outside Latin-1"],
    ["ca\ud83d\ude00nary", "a character outside Latin-1"],
    ["ca\ud800nary", "a character outside Latin-1"],
  ] as const;
  for (const [path, document] of PLACES) {
    for (const [value, what] of rows) {
      const forms = [
        V,
        "$" + "{secret:V}",
        "$" + "{file:V}",
        `Bearer ${V}`,
        ...(value.includes("\ud800") ? [] : [value]),
      ];
      for (const form of forms) {
        const { document: found, problems } = read(document, value, form);
        assert.equal(found, undefined, `${path} ${JSON.stringify(value)}`);
        const lines = problems.filter(({ severity }) => severity === "error");
        assert.ok(
          lines.some(
            (line) => line.path === path && line.message.startsWith(`holds ${what}, which is not allowed in a header`),
          ),
          `${path}: ${lines.map(formatProblem).join("\n")}`,
        );
        for (const line of problems.map(formatProblem)) assert.doesNotMatch(line, /nary/);
      }
    }
  }
});

test("Latin-1 is accepted, and a value of whitespace alone counts as empty", () => {
  for (const [path, document] of PLACES) {
    assert.notEqual(read(document, "ca\u00e9 \u00fcnary").document, undefined, path);
    const { problems } = read(document, " \n ");
    if (!/eaders|cloudsig/.test(path))
      assert.ok(
        problems.some((each) => each.path === path),
        path,
      );
  }
});

test("in the node file the tokens of DNS and ACME are trimmed, and the cluster secret is kept exactly", () => {
  const node = (tls: Json, secret = "a-secret-that-is-long-enough\n"): Json => ({
    cluster: { node_id: "n1", data_dir: "/d", secret, bootstrap: true, raft_addr: "n1:1", forward_addr: "n1:2" },
    tls: { domains: ["a.test"], ...tls },
  });
  const dns = { dns: { provider: "hosted_api", api_token: V } };
  const readAs = (value: string) =>
    readNodeFile({ name: "node.yaml", text: JSON.stringify(node(dns)) }, referencesOf(value));
  const { document } = readAs("canary\n");
  assert.equal(document?.tls?.dns?.api_token, "canary");
  assert.equal(document?.cluster.secret, "a-secret-that-is-long-enough\n");
  assert.ok(readAs("can\u200bary").problems.some(({ path }) => path === "tls.dns.api_token"));
});

const WRAPPED: readonly (readonly [value: string, message: RegExp | undefined])[] = [
  ['"canary"', /^is in quotes, which become part of the value; remove them$/],
  ["'canary'\n", /^is in quotes/],
  ["`canary`", /^is in quotes/],
  ["Bearer canary", /^begins with `Bearer`, which the gateway adds itself where it is needed; keep only what follows$/],
  ["bearer\tcanary", undefined],
  ["BEARER canary\r\n", /^begins with `Bearer`/],
  ["OPENAI_API_KEY=canary", /^begins with a variable name and `=`, as in an environment file; keep only the value$/],
  ['export OPENAI_API_KEY="canary"', /^begins with a variable name/],
  ["canary\r\n", undefined],
  ["QUJD", undefined],
  ["QUJDRA==", undefined],
  ["QUJDREU=", undefined],
  ['can"ary', undefined],
  ['"canary', undefined],
  ["bearer-canary", undefined],
  ["AKIA/can=ary", undefined],
];

test("a credential in quotes, after `Bearer` or after the name of its variable is a warning in every place", () => {
  for (const [path, document] of PLACES) {
    if (/header|client_id/.test(path)) continue;
    for (const [value, message] of WRAPPED) {
      for (const form of [V, "$" + "{secret:V}", "$" + "{file:V}"]) {
        const { problems } = read(document, value, form);
        const found = problems.filter((it) => it.path === path && it.severity === "warning").map((it) => it.message);
        assert.deepEqual([path, value, found.length], [path, value, message === undefined ? 0 : 1]);
        if (message !== undefined) assert.match(found[0] ?? "", message);
        for (const line of problems.map(formatProblem)) assert.doesNotMatch(line, /canary/);
      }
    }
  }
});

test("a header may begin with `Bearer` and be in quotes", () => {
  for (const [path, document] of PLACES) {
    if (!/header/.test(path)) continue;
    for (const value of ["Bearer canary", '"canary"']) assert.deepEqual(read(document, value).problems, [], path);
  }
});
