/** `gateway check` of usage reports: the administrator's key is tried and not shown. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, test } from "node:test";
import { execute } from "../../../src/cli/main.ts";
import { startSimulator } from "../../../src/simulator/index.ts";
import { type Document, writeFiles } from "../../e2e/support/config.ts";
import { listenLocally } from "../../e2e/support/ports.ts";
import { atEnd } from "../../e2e/support/wait.ts";
import { bufferIo } from "../buffer-io.ts";

const file = { after };
const ADMIN = "sk-admin-canary-51e0";
const simulator = await startSimulator({ host: "127.0.0.1", port: 0, adminKey: ADMIN });
atEnd(file, () => simulator.close());

interface Checked {
  readonly status: number;
  readonly lines: readonly string[];
}

async function check(audited: Document, flags: readonly string[] = []): Promise<Checked> {
  const files = await writeFiles(
    file,
    {
      providers: [{ name: "one", dialect: "compat", base_url: `${simulator.url}/v1`, api_key: "k", models: ["sim-*"] }],
      reconcile: { providers: [{ provider: "one", type: "compat", base_url: simulator.url, ...audited }] },
    },
    { secrets_dir: "secrets" },
  );
  await mkdir(join(files.dir, "secrets"));
  await writeFile(join(files.dir, "secrets", "ADMIN"), ADMIN);
  const io = bufferIo({ env: {} });
  const status = await execute(["check", "-config", files.nodePath, "-timeout", "10s", ...flags], io);
  const out = io.out() + io.err();
  assert.ok(!out.includes("canary"), out);
  return { status, lines: out.split("\n").filter((line) => line.includes("usage report")) };
}

const SECRET = { admin_key: "${secret:ADMIN}" };

test("a key that may read the report is listed with its organization and the duration, and not offline", async () => {
  const whole = await check(SECRET);
  assert.equal(whole.status, 0, whole.lines.join());
  assert.match(
    whole.lines.join("\n"),
    /^ok {4}usage report of one: covers the whole organization, answered in \d+ ms$/,
  );
  const scoped = await check({ ...SECRET, api_key_ids: ["key_a", "key_b"] });
  assert.match(scoped.lines.join("\n"), /: covers 2 of its API keys, answered/);
  const messages = await check({ ...SECRET, type: "messages" });
  assert.match(messages.lines.join("\n"), /^ok /);
  assert.deepEqual((await check(SECRET, ["-offline"])).lines, []);
});

test("a refused key, a missing report and an unreadable one are a sentence each", async () => {
  const refused = await check({ admin_key: "sk-admin-canary-wrong" });
  assert.equal(refused.status, 1);
  assert.match(refused.lines.join("\n"), /^fail {2}usage report of one: .*answers 401: `admin_key` is refused/);

  const server = createServer((_, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ data: "canary" }));
  });
  const port = await listenLocally(server);
  atEnd(file, () => {
    server.closeAllConnections();
    server.close();
  });
  const unusual = await check({ ...SECRET, base_url: `http://127.0.0.1:${port}` });
  assert.match(unusual.lines.join("\n"), /^fail {2}.*has no list `data`/);
  const wrongPlace = await check({ ...SECRET, base_url: `${simulator.url}/elsewhere` });
  assert.match(wrongPlace.lines.join("\n"), /^fail {2}.*there is no usage report at `base_url`/);
});

test("a key that is sealed in the cluster is not tried", async () => {
  const sealed = await check({ admin_key: "${secret:SEALED_ELSEWHERE}" });
  assert.equal(sealed.status, 0, sealed.lines.join());
  assert.match(sealed.lines.join("\n"), /^note {2}.*not tested, since its credential is sealed in the cluster/);
});
