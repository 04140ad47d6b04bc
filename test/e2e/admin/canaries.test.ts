/**
 * Secrets, each with a unique text, are put in at every input; then every output of the process is searched for them:
 * logs at debug level, audit records, refusals, lists, metrics, telemetry, files on the disk. Source: design decisions,
 * sections 3 and 4; specification document 1, Authentication.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { BASE_PATH } from "../../../src/admin-api/index.ts";
import { type Collector, startCollector } from "../../server/telemetry/otlp/collector.ts";
import { provider } from "../config/support/nodes.ts";
import { post, exchange as rawExchange } from "../support/raw.ts";
import { reply, scriptedUpstream, type Upstream } from "../support/upstream.ts";
import { eventually } from "../support/wait.ts";
import { OPERATION_IDS, operationOf, targetOf } from "./support/inputs.ts";
import { type Issuer, startIssuer } from "./support/issuer.ts";
import { type Plane, planeOf, preparePlane } from "./support/plane.ts";
import { exchange, type Received, refusedOf, type Sending } from "./support/send.ts";
import { suiteOwner } from "./support/suite.ts";

const POLICY = `
  permit(principal in Role::"local", action, resource);
  permit(principal in Role::"admin", action, resource);
`;

/** No canary is part of another, and none is a word. */
const canary = (name: string): string => `cnry-${name}-${Buffer.from(name).toString("hex")}-x7Qz`;

/** Secrets that no output and no file may contain. */
const SECRETS = {
  clusterSecret: canary("cluster-secret"),
  kekFile: `${canary("kek-file")}-with-thirty-two-bytes-and-more`,
  tokenFile: canary("token-file"),
  sealed: canary("sealed"),
  environment: canary("environment"),
  clientCredential: canary("client-credential"),
  clientKey: canary("client-key"),
  prompt: canary("prompt"),
  answer: canary("answer"),
  upstreamError: canary("upstream-error"),
  refusedValue: canary("refused-value"),
} as const;

/** Values that are stored in plain text by their authors; no log, record, refusal or measurement may contain them. */
const UNSPOKEN = {
  literal: canary("literal-credential"),
  idempotencyKey: canary("idempotency-key"),
  sqlLiteral: canary("sql-literal"),
  sqlParam: canary("sql-param"),
  query: canary("query"),
} as const;

const overTelemetry = (url: string) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
  OTEL_BSP_SCHEDULE_DELAY: "20",
  OTEL_BLRP_SCHEDULE_DELAY: "20",
  OTEL_METRIC_EXPORT_INTERVAL: "200",
});

describe("secrets", () => {
  const owner = suiteOwner();
  let collector: Collector;
  let issuer: Issuer;
  let upstream: Upstream;
  let plane: Plane;
  /** Tokens and keys that the test creates on the way. */
  const found = new Map<string, string>();
  /** Bodies of refusals, and of answers to operations that return no secret. */
  const answers: string[] = [];

  before(async () => {
    [collector, issuer, upstream] = await Promise.all([
      startCollector(owner),
      startIssuer(owner),
      scriptedUpstream(owner),
    ]);
    const changes = {
      issuers: [{ name: "corp", url: issuer.url, token_file: "token" }],
      cluster: {
        node_id: "n1",
        data_dir: "data",
        secret: "${GATEWAY_CLUSTER_SECRET}",
        kek_file: "kek",
        bootstrap: true,
      },
    };
    const options = { issuer: issuer.url, policy: POLICY };
    const node = await preparePlane(owner, options);
    const { admin } = JSON.parse(readFileSync(node.nodePath, "utf8")) as { readonly admin: object };
    await node.writeNode({ ...changes, admin }, changes.cluster);
    await writeFile(join(node.dir, "kek"), SECRETS.kekFile, { mode: 0o600 });
    await writeFile(join(node.dir, "token"), SECRETS.tokenFile, { mode: 0o600 });
    plane = await planeOf(node, {
      env: {
        ...overTelemetry(collector.url),
        GATEWAY_LOG: "debug",
        GATEWAY_CLUSTER_SECRET: SECRETS.clusterSecret,
        UPSTREAM_KEY: SECRETS.environment,
      },
    });
    const token = await issuer.tokenOf("alice", "admin");
    for (const part of token.split(".")) found.set(`token ${found.size}`, part);
  });

  async function call(method: string, target: string, sending: Sending = {}): Promise<Received> {
    const answer = await exchange(plane.local, method, target, sending);
    answers.push(answer.text);
    return answer;
  }
  const put = (source: string, document: string) => call("PUT", `${BASE_PATH}/sources/${source}`, { body: document });

  test("credentials reach their own providers", async (t) => {
    const headers = { "idempotency-key": UNSPOKEN.idempotencyKey };
    const sealed = await call("PUT", `${BASE_PATH}/secrets/s1`, {
      body: JSON.stringify({ value: SECRETS.sealed }),
      headers,
    });
    assert.equal(sealed.status, 200, sealed.text);
    assert.match(sealed.text, /"kek":"b:/, "the key file is in use");
    const keys = { sealed: "${secret:s1}", environment: "${UPSTREAM_KEY}", literal: UNSPOKEN.literal };
    const providers = Object.entries(keys).map(([name, api_key]) =>
      provider(name, upstream.url, { api_key, models: [`${name}-*`] }),
    );
    const written = await put("used", JSON.stringify({ providers }));
    assert.equal(written.status, 200, written.text);
    assert.match(written.text, /"path":"providers\[2\]\.api_key"/, "a literal credential is reported by its position");

    for (const status of [200, 400, 503]) {
      upstream.script = (socket) =>
        reply(socket, {
          status,
          body: JSON.stringify({ text: status === 200 ? SECRETS.answer : SECRETS.upstreamError }),
        });
      for (const name of Object.keys(keys)) {
        const body = JSON.stringify({ model: `${name}-1`, messages: [{ role: "user", content: SECRETS.prompt }] });
        const lines = [
          `Authorization: Bearer ${SECRETS.clientCredential}`,
          `X-Api-Key: ${SECRETS.clientKey}`,
          "Content-Type: application/json",
        ];
        const target = `/v1/chat/completions?key=${UNSPOKEN.query}`;
        assert.equal((await rawExchange(t, plane.gateway.port, post(target, body, lines))).status, status);
      }
    }
    const seen = upstream.requests.map(({ headers }) => headers.find(([name]) => /^authorization$/i.test(name))?.[1]);
    assert.deepEqual(
      new Set(seen),
      new Set([SECRETS.sealed, SECRETS.environment, UNSPOKEN.literal].map((key) => `Bearer ${key}`)),
    );
    assert.ok(upstream.requests.every(({ body }) => body.includes(SECRETS.prompt)));
  });

  test("keys are shown once, and tokens are for the gateway alone", async () => {
    const token = await issuer.tokenOf("alice", "admin");
    const made = await exchange(plane.network, "POST", `${BASE_PATH}/keys`, { token, body: '{"name":"k1"}' });
    const rotated = await exchange(plane.network, "POST", `${BASE_PATH}/keys/k1/rotate`, { token });
    for (const { status, text } of [made, rotated]) {
      assert.ok(status < 300, text);
      const { key = "" } = JSON.parse(text) as { readonly key?: string };
      assert.ok(key.length > 20);
      found.set(`key ${found.size}`, key);
    }
    assert.equal(issuer.presented, `Bearer ${SECRETS.tokenFile}`);
    const refused = [`${token.slice(0, -4)}AAAA`, issuer.unsigned(), issuer.signedWithPublicKey(), SECRETS.clientKey];
    for (const credential of refused) {
      const answer = await exchange(plane.network, "GET", `${BASE_PATH}/keys`, { token: credential });
      assert.equal(answer.status, 401);
      answers.push(answer.text);
      const [, claims, signature] = credential.split(".");
      for (const part of [claims, signature]) if (part) found.set(`refused token ${found.size}`, part);
    }
  });

  test("a refusal does not repeat the value that it refuses", async () => {
    const value = SECRETS.refusedValue;
    const secret = (body: string) => call("PUT", `${BASE_PATH}/secrets/s2`, { body });
    const documents = [
      `providers:\n  - {name: a, dialect: compat, base_url: "http://127.0.0.1:9", api_key: [${value}]}`,
      `providers:\n  - name: a\n    api_key: "${value}\n    dialect: compat`,
      `providers:\n  - {name: a, dialect: compat, base_url: "http://127.0.0.1:9", api_kei: ${value}}`,
      `providers:\n  - {name: a, dialect: compat, base_url: "http://u:${value}@127.0.0.1:9"}`,
      `providers:\n  - {name: a, dialect: compat, base_url: "http://u:${value} x@127.0.0.1:9"}`,
      `credentials:\n  - {name: a, oauth: {token_url: "http://127.0.0.1:9", client_id: a, client_secret: {b: ${value}}}}`,
      `{"providers": [{"name": "a", "api_key": "${value}"`,
      `providers:\n\t- api_key: ${value}`,
    ];
    const refusals = [
      await secret(JSON.stringify({ value, also: 1 })),
      await secret(JSON.stringify({ valeu: value })),
      await secret(JSON.stringify({ value: { value } })),
      await secret(JSON.stringify(value)),
      await secret(`{"value":"${value}`),
      await secret(JSON.stringify({ value: value.padEnd(70_000, "x") })),
      ...(await Promise.all(documents.map((document, at) => put(`refused-${at}`, document)))),
      await call("POST", `${BASE_PATH}/keys`, { body: JSON.stringify({ name: "k2", expires_in: value }) }),
      await call("GET", `${BASE_PATH}/keys`, { headers: { authorization: `Bearer ${value}`, "if-match": value } }),
      await call("GET", `${BASE_PATH}/keys?wait=${value}`),
      await call("POST", `${BASE_PATH}/snapshot`, { body: value }),
    ];
    // A list ignores headers that do not belong to it.
    assert.deepEqual(
      refusals.map(({ status }) => status).filter((status) => status < 400),
      [200],
    );
    for (const { text } of refusals) assert.ok(!text.includes(value), text);
  });

  test("a refused statement does not repeat its values", async () => {
    const { sqlLiteral: text, sqlParam } = UNSPOKEN;
    const run = (sql: string, params: readonly unknown[] = []) =>
      call("POST", `${BASE_PATH}/query`, { body: JSON.stringify({ sql, params }) });
    for (const sql of [
      `select '${text}' from`,
      `select * from keys where name = '${text}' and`,
      `select * from keys where name = '${text}`,
      `delete from keys where name = '${text}'`,
      `select '${text}' + 1 from keys`,
      `select sum('${text}') from keys`,
      `select * from keys limit '${text}'`,
      `select * from keys /* ${text} */ where`,
      `select cast('${text}' as integer) n from nothing`,
      `select nothing('${text}') from keys`,
      `select '{"${text}":1}' ->> `,
    ]) {
      const refused = await run(sql);
      assert.equal(refused.status, 400, `${sql}: ${refused.text}`);
      assert.equal(refusedOf(refused).code, "invalid");
      assert.ok(!refused.text.includes(text), refused.text);
    }
    const valid = await run("select count(*) n from keys where name = ?", [sqlParam]);
    assert.equal(valid.status, 200, valid.text);
    for (const params of [[sqlParam, sqlParam], [{ a: sqlParam }], [[sqlParam]]]) {
      const refused = await run("select * from keys where name = ?", params);
      assert.equal(refused.status, 400);
      assert.ok(!refused.text.includes(sqlParam), refused.text);
    }
  });

  test("no output of the process contains a secret", async () => {
    for (const id of OPERATION_IDS.filter((it) => operationOf(it).group === "read" && it !== "run_query")) {
      const { text } = await exchange(plane.local, operationOf(id).method, targetOf(id));
      answers.push(text);
    }
    const metrics = await (await fetch(String(plane.gateway.metricsUrl))).text();
    await eventually("telemetry of all kinds", () => {
      const paths = new Set(collector.posted.map(({ path }) => path));
      return ["/v1/traces", "/v1/metrics", "/v1/logs"].every((path) => paths.has(path));
    });
    const { sources } = JSON.parse((await call("GET", `${BASE_PATH}/config`)).text) as { sources: readonly unknown[] };
    assert.equal(sources.length, 2);
    await plane.node.stop();
    const outputs = new Map<string, string>([
      ["stdout and stderr", plane.node.output()],
      ["metrics", metrics],
      ["answers", answers.join("\n")],
      ["telemetry", collector.posted.map(({ body }) => body.toString()).join("\n")],
    ]);
    assert.match(outputs.get("stdout and stderr") ?? "", /"event":"auth\.failure"/);
    assert.match(outputs.get("telemetry") ?? "", /admin\.write/);
    const hidden = new Map([...Object.entries(SECRETS), ...Object.entries(UNSPOKEN), ...found]);
    // The header of a token is the same for all tokens and contains only the key id.
    hidden.delete("token 0");
    const reported = [...outputs].flatMap(([output, text]) =>
      [...hidden].filter(([, value]) => text.includes(value)).map(([name]) => `${name} in ${output}`),
    );
    assert.deepEqual(reported, []);
  });

  test("no file on the disk and no archive contains an unsealed secret", async () => {
    const { node } = plane;
    plane = await planeOf(node, { env: { GATEWAY_CLUSTER_SECRET: SECRETS.clusterSecret, UPSTREAM_KEY: "k" } });
    const archive = await exchange(plane.local, "GET", `${BASE_PATH}/snapshot`);
    assert.equal(archive.status, 200);
    await node.stop();
    const files = readdirSync(node.dataDir, { recursive: true, withFileTypes: true }).filter((it) => it.isFile());
    assert.ok(files.length > 3);
    const places = new Map<string, Buffer>([
      ["the archive", gunzipSync(archive.body)],
      ...files.map(({ parentPath, name }) => [name, readFileSync(join(parentPath, name))] as const),
    ]);
    assert.ok(
      [...places.values()].some((bytes) => bytes.includes(UNSPOKEN.literal)),
      "where a literal is kept is looked at",
    );
    const hidden = [...Object.entries(SECRETS), ...found].filter(([name]) => name !== "token 0");
    const kept = [...places].flatMap(([place, bytes]) =>
      hidden.filter(([, value]) => bytes.includes(value)).map(([name]) => `${name} in ${place}`),
    );
    assert.deepEqual(kept, []);
  });
});
