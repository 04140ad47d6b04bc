/**
 * Requests signed with platform keys: each source of the chain on loopback, failing in each way and recovering. Source:
 * specification document 3 (`cloudsig`); credentials reference, 1.6; design decisions, section 13.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { SigningKey } from "../../../src/simulator/index.ts";
import { createNodes, type TestNode } from "../config/support/nodes.ts";
import { type Gateway, ONE_PROCESS, runProgram } from "../support/gateway.ts";
import { readMetrics, sumOf } from "../support/metrics.ts";
import { simulated } from "../support/simulated.ts";
import { atEnd, eventually, within } from "../support/wait.ts";
import {
  ENDPOINT_TOKEN,
  type Mode,
  PLATFORM_SECRET,
  PLATFORM_TOKEN,
  type Platform,
  ROLE,
  startPlatform,
} from "./support/platform.ts";

const file = { after };
const temporary: SigningKey = { secret: PLATFORM_SECRET, sessionToken: PLATFORM_TOKEN };
const keys = new Map<string, SigningKey>([
  ["ASIAINSTANCE", temporary],
  ["ASIACONTAINER", temporary],
  ["ASIAWEBIDENTITY", temporary],
  ["AKIAENVIRONMENT", { secret: PLATFORM_SECRET }],
  ["AKIAFILEONE", { secret: PLATFORM_SECRET }],
]);
const cloud = await simulated(file, { requireSignature: { keyOf: (id) => keys.get(id) } });
const dir = await mkdtemp(join(tmpdir(), "gateway-platform-"));
atEnd(file, () => rm(dir, { recursive: true, force: true }));
const at = (name: string): string => join(dir, name);
await writeFile(at("web-token"), "CANARY.web.token");
await writeFile(at("endpoint-token"), ENDPOINT_TOKEN);
await writeFile(at("credentials"), fileOf("AKIAFILEONE"));
await writeFile(at("nothing"), "");

function fileOf(id: string): string {
  return `[default]\naws_access_key_id = ${id}\naws_secret_access_key = ${PLATFORM_SECRET}\n`;
}

const instance = await startPlatform(file, "ASIAINSTANCE");
const container = await startPlatform(file, "ASIACONTAINER");
const tokens = await startPlatform(file, "ASIAWEBIDENTITY");

type Env = Readonly<Record<string, string>>;
const NOTHING: Env = { AWS_CONFIG_FILE: at("nothing"), AWS_SHARED_CREDENTIALS_FILE: at("nothing") };
const INSTANCE: Env = { ...NOTHING, AWS_EC2_METADATA_SERVICE_ENDPOINT: instance.url };
const CONTAINER: Env = {
  ...INSTANCE,
  AWS_CONTAINER_CREDENTIALS_FULL_URI: `${container.url}/creds?secret=CANARY-IN-THE-QUERY`,
  AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: at("endpoint-token"),
};
const WEB: Env = {
  ...CONTAINER,
  AWS_WEB_IDENTITY_TOKEN_FILE: at("web-token"),
  AWS_ROLE_ARN: `arn:aws:iam::123456789012:role/${ROLE}`,
  AWS_ENDPOINT_URL_STS: tokens.url,
};
const FILES: Env = { ...WEB, AWS_SHARED_CREDENTIALS_FILE: at("credentials") };
const ENVIRONMENT: Env = { ...FILES, AWS_ACCESS_KEY_ID: "AKIAENVIRONMENT", AWS_SECRET_ACCESS_KEY: PLATFORM_SECRET };

const nodes = await createNodes(file, {
  ids: ["n1"],
  deployment: {
    credentials: [{ name: "cloud", cloudsig: {} }],
    providers: [
      { preset: "bedrock", base_url: `${cloud.url}/v1`, region: "us-east-1", credential: "cloud", models: ["sim-*"] },
    ],
  },
});
const [first] = nodes;
assert.ok(first);

interface GatewayAnswer {
  readonly status: number;
  readonly text: string;
}

async function ask({ url }: Pick<Gateway, "url">): Promise<GatewayAnswer> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer their-own" },
    body: JSON.stringify({ model: "sim-1", messages: [{ role: "user", content: "hi" }] }),
  });
  return { status: response.status, text: await response.text() };
}

const CANARIES = ["CANARY", PLATFORM_SECRET, PLATFORM_TOKEN, ENDPOINT_TOKEN];
const isQuiet = (text: string): void => {
  for (const canary of CANARIES) assert.ok(!text.includes(canary), canary);
};

test("keys come from the environment first, then files, web identity, the container and the instance; `check` says which", async () => {
  const answers = await Promise.all(
    [
      [ENVIRONMENT, "the environment", "MENT"],
      [FILES, "the shared files", "EONE"],
      [WEB, "web identity", "TITY"],
      [CONTAINER, "the container endpoint", "INER"],
      [INSTANCE, "the metadata service", "ANCE"],
    ].map(async ([env, source, end]) => {
      const program = runProgram(file, { args: ["check", "-config", first.nodePath], env: env as Env });
      const { status } = await within("the end of check", program.ended, 60_000);
      const stdout = program.stdout();
      const text = `ok    credential cloud: signs for bedrock in us-east-1 with keys of ${source}, id …${end}`;
      assert.ok(stdout.includes(text), stdout + program.stderr());
      assert.match(stdout, /ok {4}provider bedrock: .*answered 200/);
      assert.equal(status, 0);
      isQuiet(stdout + program.stderr());
    }),
  );
  assert.equal(answers.length, 5);
  assert.ok(instance.requests.includes("PUT /latest/api/token"));
});

test("if no source has keys, `check` says for each source why", async () => {
  const env = { ...NOTHING, AWS_EC2_METADATA_DISABLED: "true" };
  const program = runProgram(file, { args: ["check", "-config", first.nodePath], env });
  await within("the end of check", program.ended, 60_000);
  assert.match(program.stdout(), /fail {2}credential cloud: .*fromEnv.*EC2 Instance Metadata Service access disabled/);
  assert.match(
    program.stdout(),
    /fail {2}provider bedrock: no request was sent: The credential cloud is not available/,
  );
});

const MODES: readonly Mode[] = ["403", "v1", "garbage", "expired", "slow"];

/** Causes each failure, then recovers with one refresh and no restart. */
async function failsAndRecovers(node: TestNode, gateway: Gateway, source: Platform): Promise<void> {
  source.lifetime = 1;
  assert.equal((await ask(gateway)).status, 200, node.output());
  for (const mode of MODES) {
    // The library uses keys of an instance for some minutes longer, as the cloud requires: they may still be valid.
    if (mode === "expired" && source === instance) continue;
    if (mode === "v1" && source !== instance) continue;
    // Each takes a quarter of a minute.
    if (mode === "slow" && source !== instance && process.env["GATEWAY_PLATFORM_ALL"] === undefined) continue;
    source.mode = mode;
    const failed = await eventually(`the end of the keys (${mode})`, async () => {
      const asked = await ask(gateway);
      return asked.status !== 200 && asked;
    });
    assert.equal(failed.status, 502, failed.text);
    assert.match(failed.text, /"code":"credential_unavailable"/);
    assert.match(failed.text, /The credential cloud is not available: the platform returned no keys\./);
    isQuiet(failed.text);
    source.mode = "good";
    await eventually(`keys after ${mode}`, async () => (await ask(gateway)).status === 200);
  }
  const series = await readMetrics(gateway);
  assert.equal(sumOf(series, "gateway_credential_failing", { credential: "cloud" }), 0);
  assert.ok(sumOf(series, "gateway_credential_fetches_total", { credential: "cloud", outcome: "failed" }) >= 3);
  const found = gateway.log().filter(({ message }) => message === "a credential cannot be fetched");
  assert.ok(found.length >= 1 && found.length <= 8, String(found.length));
  assert.ok(gateway.log().some(({ message }) => message === "a credential can be fetched again"));
  isQuiet(node.output());
}

test("a failing instance, container or token service is reported, and recovers with one refresh", async (t) => {
  const sources = [
    [INSTANCE, instance],
    [CONTAINER, container],
    [WEB, tokens],
  ] as const;
  await Promise.all(
    sources.map(async ([env, source]) => {
      const [node] = await createNodes(t, {
        deployment: {
          credentials: [{ name: "cloud", cloudsig: {} }],
          providers: [{ preset: "bedrock", base_url: `${cloud.url}/v1`, region: "us-east-1", credential: "cloud" }],
        },
      });
      assert.ok(node);
      // With several processes each has its own pause after a failure.
      const gateway = await node.start({ ...ONE_PROCESS, ...env });
      await failsAndRecovers(node, gateway, source);
    }),
  );
});

test("a provider whose credential cannot be obtained fails over like an unreachable one", async (t) => {
  const spare = await simulated(t, { requireKey: "spare" });
  const [node] = await createNodes(t, {
    deployment: {
      credentials: [{ name: "cloud", cloudsig: {} }],
      providers: [
        {
          preset: "bedrock",
          base_url: `${cloud.url}/v1`,
          region: "us-east-1",
          credential: "cloud",
          models: ["sim-*"],
          failover: { to: ["spare"] },
        },
        { name: "spare", dialect: "compat", base_url: `${spare.url}/v1`, api_key: "spare" },
      ],
    },
  });
  assert.ok(node);
  const gateway = await node.start({ ...NOTHING, AWS_EC2_METADATA_DISABLED: "true" });
  assert.equal((await ask(gateway)).status, 200);
  assert.equal((await ask(gateway)).status, 200);
  assert.equal(spare.counts().requests, 2);
  const { items } = await node.client.call("list_backend_errors", { params: { name: "bedrock" } });
  assert.deepEqual(
    items.map(({ kind, error_code: code, moved_to: movedTo }) => [kind, code, movedTo]),
    [
      ["connect", "credential_unavailable", "spare"],
      ["connect", "credential_unavailable", "spare"],
    ],
  );
  const series = await readMetrics(gateway);
  assert.equal(sumOf(series, "gateway_failovers_total", { from: "bedrock", to: "spare" }), 2);
  assert.equal(sumOf(series, "gateway_credential_failing", { credential: "cloud" }), 1);
  assert.equal(sumOf(series, "gateway_credential_fetches_total", { credential: "cloud" }), 1, "no walk a request");
});

test("a rotated key file is read again once the cloud refuses the old keys", async () => {
  const gateway = await first.start({ ...FILES });
  assert.equal((await ask(gateway)).status, 200);
  await writeFile(at("credentials"), fileOf("AKIAFILETWO"));
  keys.set("AKIAFILETWO", { secret: PLATFORM_SECRET });
  keys.delete("AKIAFILEONE");
  const answers = await Promise.all(Array.from({ length: 10 }, () => ask(gateway)));
  assert.deepEqual(
    answers.map(({ status }) => status),
    answers.map(() => 200),
  );
  const series = await readMetrics(gateway);
  assert.equal(sumOf(series, "gateway_credential_fetches_total", { credential: "cloud", outcome: "fetched" }), 2);
  isQuiet(first.output());
});
