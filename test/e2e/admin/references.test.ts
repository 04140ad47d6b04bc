/**
 * Values behind configuration references are used in traffic and shown nowhere: values from the environment, from files
 * and from sealed secrets, at every place that allows them and at places that do not. Then every admin API operation,
 * every table, metrics, telemetry, log and audit trail are searched. Source: design decisions, section 6 (where
 * references resolve).
 */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { BASE_PATH, TABLES } from "../../../src/admin-api/index.ts";
import { type Collector, startCollector } from "../../server/telemetry/otlp/collector.ts";
import { provider } from "../config/support/nodes.ts";
import { post, exchange as rawExchange } from "../support/raw.ts";
import { reply, scriptedUpstream, type Upstream } from "../support/upstream.ts";
import { eventually } from "../support/wait.ts";
import { INPUTS, OPERATION_IDS, operationOf, sendingOf, targetOf } from "./support/inputs.ts";
import { type Plane, planeOf, preparePlane } from "./support/plane.ts";
import { exchange, type Received } from "./support/send.ts";
import { suiteOwner } from "./support/suite.ts";

/** No canary is part of another, and none is a word. Lower case, since host names are lowercased. */
const canary = (name: string): string => `cnry-${name}-${Buffer.from(name).toString("hex")}-x7qz`;

/** Values that the configuration reads and nothing shows. */
const READ = {
  FREE: canary("free"),
  NUMBER: canary("number"),
} as const;

/** Model name that the configuration reads and a caller requests, so that request records contain it. */
const ASKED = canary("model");

/** Secrets of the node file that no document of the admin API may read. */
const OWN = {
  GATEWAY_CLUSTER_SECRET: canary("cluster-secret"),
  NODE_OWN: canary("node-own"),
} as const;

const HELD = { file: canary("file"), sealed: canary("sealed") } as const;

const HIDDEN: ReadonlyMap<string, string> = new Map(Object.entries({ ...READ, ...OWN, ...HELD }));

describe("resolved references", () => {
  const owner = suiteOwner();
  /** Everything the process returned or wrote, with its place. */
  const outputs: { readonly where: string; readonly text: string }[] = [];
  let collector: Collector;
  let upstream: Upstream;
  let plane: Plane;

  const shown = (where: string, text: string): string => {
    outputs.push({ where, text });
    return text;
  };
  async function call(method: string, target: string, body?: string): Promise<Received> {
    const answer = await exchange(plane.local, method, target, body === undefined ? {} : { body });
    shown(`${method} ${target} of ${body ?? ""}`, answer.text);
    shown(`headers of ${method} ${target}`, JSON.stringify(answer.headers));
    return answer;
  }
  const put = (document: object, name = "used", query = "") =>
    call("PUT", `${BASE_PATH}/sources/${name}${query}`, JSON.stringify(document));

  before(async () => {
    [collector, upstream] = await Promise.all([startCollector(owner), scriptedUpstream(owner)]);
    const cluster = { node_id: "n1", data_dir: "data", secret: "${GATEWAY_CLUSTER_SECRET}", bootstrap: true };
    const node = await preparePlane(owner, {});
    const admin = { local_socket: "admin.sock", listen: "127.0.0.1:0" };
    const issuers = [{ name: "corp", url: "http://127.0.0.1:9", name_claim: "${NODE_OWN}" }];
    await node.writeNode({ issuers, admin, secrets_dir: "secrets", cluster }, cluster);
    await mkdir(join(node.dir, "secrets"));
    await writeFile(join(node.dir, "secrets", "held"), HELD.file, { mode: 0o600 });
    plane = await planeOf(node, {
      env: {
        ...READ,
        MODEL: ASKED,
        ...OWN,
        ADDRESS: upstream.url,
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
        OTEL_BSP_SCHEDULE_DELAY: "20",
        GATEWAY_LOG: "debug",
      },
    });
    const sealed = await call("PUT", `${BASE_PATH}/secrets/sealed`, JSON.stringify({ value: HELD.sealed }));
    assert.equal(sealed.status, 200, sealed.text);
  });

  const used = () => ({
    default_provider: "main",
    catalog_overlays: [
      {
        name: "o",
        providers: [{ op: "patch", name: "openai", base_url: "http://${secret:sealed}.invalid/${file:held}" }],
      },
    ],
    providers: [
      provider("main", "${ADDRESS}/${secret:sealed}", {
        api_key: "${secret:held}",
        models: ["${MODEL}", "${MODEL}-*", "open"],
        model_aliases: { alias: "${FREE}-upstream" },
        metadata: { team: "${FREE}" },
      }),
      provider("gone", "http://${FREE}.invalid/v1", { api_key: "${FREE}", models: ["gone"] }),
      { name: "patched", preset: "openai", api_key: "${secret:sealed}", models: ["patched"] },
    ],
    access_rules: [
      { name: "no", at: ["llm"], condition: "model == 'denied'", action: "deny", message: "never ${FREE}" },
      { name: "int", at: ["llm"], condition: "int(model + '${NUMBER}') > 0", action: "deny", on_error: "fail_open" },
      {
        name: "match",
        at: ["llm"],
        condition: "'a'.matches(model + '${NUMBER}(')",
        action: "deny",
        on_error: "fail_open",
      },
      { name: "wrong", at: ["llm"], condition: "int('${NUMBER}') > 0", action: "deny" },
    ],
    budgets: [{ name: "b", limit: 5, cost: { type: "CEL", cel: "model == '${FREE}' ? 1 : 2" } }],
    profiles: [{ name: "p", allowed_models: ["${MODEL}", "${FREE}-*"], budget: "b" }],
  });

  test("resolved values are used in traffic", async (t) => {
    const { access_rules: rules, ...rest } = used();
    const written = await put({ ...rest, access_rules: rules.slice(0, 3) });
    assert.equal(written.status, 200, written.text);
    assert.match(written.text, /"path":"providers\.main"/);
    upstream.script = (socket) => reply(socket, { status: 200, body: "{}" });
    const statusFor = async (model: string) => {
      const body = JSON.stringify({ model, messages: [] });
      return await rawExchange(
        t,
        plane.gateway.port,
        post("/v1/chat/completions", body, ["Content-Type: application/json"]),
      );
    };
    for (const model of [ASKED, `${ASKED}-2`, "alias", "open"]) {
      assert.equal((await statusFor(model)).status, 200, model);
    }
    const denied = await statusFor("denied");
    assert.equal(denied.status, 403);
    assert.match(denied.body.toString(), new RegExp(`never ${READ.FREE}`));
    const [first, , third] = upstream.requests;
    assert.ok(first?.target.startsWith(`/${HELD.sealed}/`), first?.target);
    assert.ok(first?.headers.some(([, value]) => value === `Bearer ${HELD.file}`));
    assert.match(third?.body.toString() ?? "", new RegExp(`"${READ.FREE}-upstream"`));
    for (const model of ["gone", "patched"]) {
      const answer = await statusFor(model);
      assert.ok(answer.status >= 500, `${model}: ${answer.status}`);
      shown(`the answer for ${model}`, answer.body.toString());
    }
  });

  test("a credential that no header can carry is refused by its path, and its value is not shown", async () => {
    const refused = await put({ providers: [provider("odd", "${ADDRESS}", { api_key: "a\u0001${FREE}" })] }, "odd");
    assert.equal(refused.status, 422);
    assert.match(refused.text, /providers\[0\]\.api_key: holds the control character/);
  });

  test("a reference that may not be read is refused by the reference, not by its value", async () => {
    for (const reference of [
      "${GATEWAY_CLUSTER_SECRET}",
      "${NODE_OWN}",
      "${secret:held}",
      "${secret:sealed}",
      "${file:held}",
    ]) {
      const documents = [
        { providers: [provider(reference, "http://127.0.0.1:9")] },
        { providers: [provider("a", "http://127.0.0.1:9", { models: [reference] })] },
        { providers: [provider("a", "http://127.0.0.1:9", { metadata: { a: reference } })] },
        { providers: [{ preset: reference }] },
        { profiles: [{ name: reference }] },
        { profiles: [{ name: "q", allowed_models: [reference] }] },
        { access_rules: [{ name: "r", condition: "true", action: "deny", message: reference }] },
        { auth: { issuers: [{ issuer: reference, audience: "a", subject: "user" }] } },
      ];
      for (const document of documents) {
        for (const query of ["?dry_run=true", ""]) {
          const refused = await put(document, "hostile", query);
          assert.equal(refused.status, 422, `${JSON.stringify(document)}: ${refused.text}`);
          assert.ok(refused.text.includes(reference), refused.text);
        }
      }
    }
    const own = await put({ credentials: [{ name: "c", api_key: "${GATEWAY_CLUSTER_SECRET}" }] }, "hostile");
    assert.match(own.text, /belong to the node/);
  });

  test("a problem caused by a resolved value is reported by its reference", async () => {
    const documents: readonly object[] = [
      used(),
      { providers: [{ preset: "${FREE}" }] },
      { providers: [{ name: "a", preset: "${FREE}" }] },
      { providers: [provider("a", "${FREE}")] },
      { providers: [provider("a", "http://${FREE}:x")] },
      { providers: [provider("a", "http://127.0.0.1:9", { failover: { to: ["${FREE}"] }, region: "${FREE}" })] },
      { default_provider: "${FREE}" },
      { default_provider: `${"x".repeat(60)}\${FREE}` },
      { budgets: [{ name: "c", limit: 1, window: "${FREE}" }] },
      { budgets: [{ name: "c", limit: 1, cost: { type: "CEL", cel: "${FREE}" } }] },
      { budgets: [{ name: "c", limit: 1, cost: { type: "CEL", cel: "backend == '${FREE}' ? 1 : 2" } }] },
      { profiles: [{ name: "q", require_caps: ["${FREE}"], budget: "${FREE}" }] },
      { access_rules: [{ name: "r", condition: "${FREE}", action: "deny" }] },
      { access_rules: [{ name: "r", condition: "'${FREE}' in [1, '${FREE}'", action: "deny" }] },
      { auth: { issuers: [{ issuer: "${FREE}", audience: "a", subject: "user", profile: "${FREE}" }] } },
      { public_url: "http://${FREE}/${FREE}?x" },
      { public_url: "${FREE}" },
    ];
    for (const document of documents) {
      const answer = await put(document, "wrong", "?dry_run=true");
      assert.ok([200, 422].includes(answer.status), answer.text);
    }
    const compared = { ...used(), access_rules: [], max_body_bytes: 7 };
    const differing = await put(compared, "used", "?dry_run=true");
    assert.match(differing.text, /"path":"max_body_bytes"/);
    const guess = JSON.parse(JSON.stringify(compared).replaceAll("${MODEL}", ASKED)) as object;
    const guessed = await exchange(plane.local, "PUT", `${BASE_PATH}/sources/used?dry_run=true`, {
      body: JSON.stringify(guess),
    });
    assert.match(guessed.text, /"path":"providers\.main"/, "a guess is not confirmed");
  });

  test("no answer of the admin API shows a resolved value", async () => {
    for (const table of Object.keys(TABLES)) {
      const rows = await call(
        "POST",
        `${BASE_PATH}/query`,
        JSON.stringify({ sql: `select * from ${table}`, params: [] }),
      );
      assert.equal(rows.status, 200, `${table}: ${rows.text}`);
    }
    const models = await call("GET", `${BASE_PATH}/models`);
    assert.match(models.text, /"model":"\$\{MODEL\}-\*"/);
    assert.match(models.text, /"upstream_model":"\$\{FREE\}-upstream"/);
    const profiles = await call("GET", `${BASE_PATH}/profiles`);
    assert.match(profiles.text, /"allowed_models":\["\$\{MODEL\}","\$\{FREE\}-\*"\]/);
    for (const id of OPERATION_IDS) {
      const { method } = operationOf(id);
      const { prepare } = INPUTS[id];
      const sending = await sendingOf(id, plane.node.client);
      await prepare?.(plane.node.client);
      const answer = await exchange(plane.local, method, targetOf(id), sending);
      assert.ok(answer.status < 500, `${id}: ${answer.text}`);
      const isArchive = answer.body[0] === 0x1f && answer.body[1] === 0x8b;
      shown(`${id} with ${answer.status}`, isArchive ? gunzipSync(answer.body).toString("latin1") : answer.text);
      if (sending.body === undefined) continue;
      const broken = await exchange(plane.local, method, targetOf(id), { ...sending, body: '{"a":"${FREE}","b":' });
      shown(`${id} with half a body`, broken.text);
    }
  });

  test("metrics, telemetry, log and audit trail do not show a resolved value either", async () => {
    const metrics = shown("metrics", await (await fetch(String(plane.gateway.metricsUrl))).text());
    assert.ok(metrics.includes(`model="${"$"}{MODEL}`), "metrics name the model");
    await eventually("spans of the attempts", () => collector.posted.some(({ path }) => path === "/v1/traces"));
    await plane.node.stop();
    const telemetry = collector.posted.map(({ body }) => body.toString()).join("\n");
    assert.match(shown("telemetry", telemetry), /\$\{ADDRESS\}/);
    shown("log and trail", plane.node.output());
    assert.match(plane.node.output(), /could not be evaluated and was skipped/);
    const found = outputs.flatMap(({ where, text }) =>
      [...HIDDEN].filter(([, value]) => text.includes(value)).map(([name]) => `${name} in ${where}`),
    );
    assert.deepEqual([...new Set(found)], []);
    const ofConfiguration = outputs.filter(({ where }) => /metrics|models|profiles|sources|openapi/.test(where));
    assert.ok(ofConfiguration.length > 20);
    assert.deepEqual(
      ofConfiguration.filter(({ text }) => text.includes(ASKED)).map(({ where }) => where),
      [],
    );
    const pieces = [READ.FREE, READ.NUMBER].map((value) => value.slice("cnry-".length, -"-x7qz".length));
    const cut = outputs.flatMap(({ where, text }) => (pieces.some((piece) => text.includes(piece)) ? [where] : []));
    assert.deepEqual([...new Set(cut)], []);
  });
});
