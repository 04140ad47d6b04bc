/**
 * The model hub, the ACME authority and the token service of a cloud behind a forward proxy, by the program's verbs;
 * only the proxy resolves their names. Source: design decisions, section 20, "Forward proxies".
 */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { request } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { join } from "node:path";
import { after, test } from "node:test";
import { openHub } from "../../server/models/support/hub.ts";
import { testAuthority } from "../../server/tls/support/authority.ts";
import { PLATFORM_SECRET, ROLE, startPlatform } from "../credentials/support/platform.ts";
import { writeFiles } from "../support/config.ts";
import { runProgram } from "../support/gateway.ts";
import { listenLocally } from "../support/ports.ts";
import { atEnd, within } from "../support/wait.ts";
import { testProxy } from "./support.ts";

const file = { after };
const PASSWORD = "canary-p:ss";
const LIMIT_MS = 60_000;
const NAMES = ["hub.test", "acme.test", "sts.test"];
const authority = await testAuthority();
const serving = await authority.issue({ names: [...NAMES, "localhost"] });

const hub = await openHub();
atEnd(file, () => hub.close());
const commit = hub.commit("own/graph", { "model.onnx": Buffer.from("graph"), "config.json": Buffer.from("{}") });
const tokens = await startPlatform(file, "ASIAWEBIDENTITY");
/** Terminates TLS for all names, and forwards a request by its host. */
const front = createTlsServer({ cert: serving.chain, key: serving.key }, (incoming, outgoing) => {
  if (incoming.headers.host === "acme.test") {
    const at = (name: string) => `https://acme.test/${name}`;
    const directory = { newNonce: at("nonce"), newAccount: at("account"), newOrder: at("order") };
    outgoing.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(directory));
    return;
  }
  const base = incoming.headers.host === "hub.test" ? hub.endpoint : tokens.url;
  const { method, headers } = incoming;
  const onward = request(new URL(incoming.url ?? "/", base), { method, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
    answer.pipe(outgoing);
  });
  incoming.pipe(onward);
});
const port = await listenLocally(front);
atEnd(file, () => {
  front.close();
  front.closeAllConnections();
});

const names = Object.fromEntries(NAMES.map((it) => [it, port]));
const refused = { "login.test": 407, "forbidden.test": 403, "broken.test": 1 };
const proxy = await testProxy(file, { names, refused });
const [PLAIN, KNOWN] = ["", `user:${encodeURIComponent(PASSWORD)}@`].map(
  (who) => `http://${who}127.0.0.1:${proxy.port}`,
);
assert.ok(PLAIN !== undefined && KNOWN !== undefined);
const files = await writeFiles(file, {});
const roots = join(files.dir, "roots.pem");
await writeFile(roots, authority.root);

type Env = Readonly<Record<string, string>>;

async function run(args: readonly string[], env: Env) {
  const before = proxy.requests.length;
  const program = runProgram(file, { args, env: { ...env, NODE_EXTRA_CA_CERTS: roots } });
  const { status } = await within(args.join(" "), program.ended, LIMIT_MS);
  const text = program.stdout() + program.stderr();
  for (const secret of [PASSWORD, encodeURIComponent(PASSWORD)]) assert.ok(!text.includes(secret));
  return { status, text, asked: proxy.requests.slice(before), credentials: proxy.credentials.slice(before) };
}

const pin = (name: string, env: Env) => run(["models", "pin", "-endpoint", `https://${name}`, "own/graph"], env);

test("a model is pinned through the proxy named in either letter case, with and without credentials", async () => {
  const basic = `Basic ${Buffer.from(`user:${PASSWORD}`).toString("base64")}`;
  for (const [env, credential] of [
    [{ HTTPS_PROXY: KNOWN }, basic],
    [{ https_proxy: KNOWN }, basic],
    [{ HTTPS_PROXY: PLAIN }, undefined],
    [{ https_proxy: PLAIN, NO_PROXY: "other.test", no_proxy: "" }, undefined],
  ] as const) {
    const { status, text, asked, credentials } = await pin("hub.test", env as Env);
    assert.equal(status, 0, text);
    assert.match(text, new RegExp(commit));
    assert.doesNotMatch(text, /warning/);
    assert.ok(asked.length > 0 && asked.every((line) => line === "CONNECT hub.test:443"), asked.join());
    assert.ok(credentials.every((each) => each === credential));
  }
});

// An unreachable hub is retried for fifteen seconds, so these run concurrently.
test("hosts in NO_PROXY are reached directly, in either letter case", async () => {
  const direct = [{ NO_PROXY: "hub.test" }, { no_proxy: ".test" }, { NO_PROXY: "*" }];
  const before = proxy.requests.length;
  await Promise.all(
    direct.map(async (env) => {
      const { status, text } = await pin("hub.test", { HTTPS_PROXY: KNOWN, ...env } as Env);
      assert.equal(status, 1, text);
      assert.doesNotMatch(text, /proxy/);
    }),
  );
  assert.equal(proxy.requests.length, before);
});

test("a proxy that refuses or breaks off is named with its answer", async () => {
  const rows = [
    ["login.test", /the forward proxy http:\/\/127\.0\.0\.1:\d+ answered 407 .*user and password/],
    ["forbidden.test", /the forward proxy .* answered 403 /],
    ["nowhere.test", /the forward proxy .* answered 502 .*cannot reach the destination/],
    ["broken.test", /the forward proxy .* closed the connection/],
  ] as const;
  await Promise.all(
    rows.map(async ([name, message]) => {
      const { status, text } = await pin(name, { HTTPS_PROXY: KNOWN });
      assert.equal(status, 1, text);
      assert.match(text, message);
    }),
  );
});

test("the ACME authority is reached through the proxy", async (t) => {
  for (const [name, message] of [
    ["acme.test", /^ok {4}certificate authority|^ok .*acme\.test/m],
    ["login.test", /^fail .*answered 407/m],
    ["forbidden.test", /^fail .*answered 403/m],
  ] as const) {
    const own = await writeFiles(
      t,
      {},
      {
        tls: { domains: ["localhost"], email: "a@example.com", ca: `https://${name}/directory` },
      },
    );
    const { text, asked } = await run(["check", "-timeout", "10s", "-config", own.nodePath], { HTTPS_PROXY: KNOWN });
    assert.ok(asked.includes(`CONNECT ${name}:443`), `${asked.join()}\n${text}`);
    assert.match(text, message);
  }
});

test("the token service of a cloud is reached through the proxy, and the machine's own endpoints are not", async (t) => {
  const own = await writeFiles(t, {
    credentials: [{ name: "cloud", cloudsig: {} }],
    providers: [
      {
        preset: "bedrock",
        base_url: "http://127.0.0.1:9/v1",
        region: "us-east-1",
        credential: "cloud",
        models: ["s-*"],
      },
    ],
  });
  await writeFile(join(own.dir, "token"), "a.web.token");
  await writeFile(join(own.dir, "nothing"), "");
  const nothing = join(own.dir, "nothing");
  const web = {
    ...{ HTTPS_PROXY: KNOWN, AWS_CONFIG_FILE: nothing, AWS_SHARED_CREDENTIALS_FILE: nothing },
    ...{ AWS_EC2_METADATA_DISABLED: "true", AWS_ROLE_ARN: `arn:aws:iam::123456789012:role/${ROLE}` },
    AWS_WEB_IDENTITY_TOKEN_FILE: join(own.dir, "token"),
  };
  const check = ["check", "-timeout", "20s", "-config", own.nodePath];
  const through = await run(check, { ...web, AWS_ENDPOINT_URL_STS: "https://sts.test" });
  assert.ok(through.asked.includes("CONNECT sts.test:443"), through.text);
  assert.match(through.text, /ok {4}credential cloud: .*keys of web identity/);
  const gated = await run(check, { ...web, AWS_ENDPOINT_URL_STS: "https://login.test" });
  assert.match(gated.text, /fail {2}credential cloud: .*answered 407/);
  const direct = await run(check, { ...web, AWS_ENDPOINT_URL_STS: "https://sts.test", NO_PROXY: "sts.test" });
  assert.deepEqual(direct.asked, []);
  assert.match(direct.text, /fail {2}credential cloud: /);
  const metadata = await run(check, {
    ...web,
    ...{ AWS_WEB_IDENTITY_TOKEN_FILE: "", AWS_ROLE_ARN: "", AWS_EC2_METADATA_DISABLED: "" },
    ...{ HTTP_PROXY: KNOWN, AWS_EC2_METADATA_SERVICE_ENDPOINT: tokens.url },
  });
  assert.deepEqual(metadata.asked, []);
  assert.match(metadata.text, /ok {4}credential cloud: /);
  assert.ok(!metadata.text.includes(PLATFORM_SECRET));
});
