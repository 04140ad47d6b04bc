// tier: test
/**
 * A drift found, attributed and alerted by a real gateway with both simulated reports: it serves on one day and is
 * started again with a clock three days later; the administrator's key is wrong at first and corrected while it runs.
 */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createAdminClient } from "../../../src/admin-api/index.ts";
import { writeFiles } from "../support/config.ts";
import { startGateway } from "../support/gateway.ts";
import { readMetrics, sumOf } from "../support/metrics.ts";
import { clientsOf, simulated } from "../support/simulated.ts";
import { eventually, within } from "../support/wait.ts";

const ADMIN = "sk-admin-canary-4c1d";
const WRONG = "sk-admin-canary-0000";
const DAY_MS = 86_400_000;
const NOON = Math.floor(Date.now() / DAY_MS) * DAY_MS - 20 * DAY_MS + DAY_MS / 2;
const DAY = new Date(NOON).toISOString().slice(0, 10);
/** For a loaded machine, with ten seconds for the secret and as long for the cluster's feature level. */
const LIMIT_MS = 90_000;

const at = (ms: number) => {
  const shift = new URL(`../cluster/support/shift-clock.mjs?ms=${Math.round(ms - Date.now())}`, import.meta.url);
  return { NODE_OPTIONS: `--import=${shift}`, GATEWAY_USAGE_REPORT: "200ms" };
};

test("a drift of 3 % is reported once, with its class and day; 1.9 % and amounts below the floor are not", async (t) => {
  const simulator = await simulated(t, { adminKey: ADMIN });
  const changeSettings = async (settings: unknown): Promise<void> => {
    const answer = await fetch(`${simulator.url}/sim/reports`, { method: "POST", body: JSON.stringify(settings) });
    assert.equal(answer.status, 200);
  };
  const audited = { admin_key: "$" + "{secret:ADMIN}", base_url: simulator.url };
  const providers = [
    { name: "one", dialect: "compat", base_url: `${simulator.url}/v1`, api_key: "k1", models: ["sim-small"] },
    { name: "two", dialect: "messages", base_url: simulator.url, api_key: "k2", models: ["sim-large"] },
  ];
  const files = await writeFiles(t, {
    providers,
    reconcile: {
      interval: "1s",
      drift_floor: 200,
      providers: [
        { ...audited, provider: "one", type: "compat" },
        { ...audited, provider: "two", type: "messages" },
      ],
    },
  });
  const secrets = join(files.dir, "secrets");
  const socket = join(files.dir, "admin.sock");
  await mkdir(secrets);
  await writeFile(join(secrets, "ADMIN"), WRONG);
  await files.writeNode({ secrets_dir: secrets, admin: { local_socket: socket } });
  const args = ["-config", files.nodePath];

  await changeSettings({ clock: new Date(NOON).toISOString() });
  const first = await startGateway(t, { args, env: at(NOON) });
  const { openai, anthropic } = clientsOf(first.url);
  const content = "word ".repeat(400);
  const sums = { one: { input: 0, output: 0 }, two: { input: 0, output: 0 } };
  for (let n = 0; n < 20; n += 1) {
    const messages = [{ role: "user" as const, content }];
    const [chat, message] = await Promise.all([
      openai.chat.completions.create({ model: "sim-small", messages }),
      anthropic.messages.create({ model: "sim-large", max_tokens: 20, messages }),
    ]);
    sums.one.input += chat.usage?.prompt_tokens ?? 0;
    sums.one.output += chat.usage?.completion_tokens ?? 0;
    sums.two.input += message.usage.input_tokens;
    sums.two.output += message.usage.output_tokens;
  }
  const client = createAdminClient({ address: { kind: "socket", path: socket } });
  const rowsOf = async () => (await client.call("list_reconcile", {})).items;
  // From then on the cluster records metered usage.
  await eventually("the first rounds", async () => (await rowsOf()).length === 2, LIMIT_MS);
  first.signal("SIGTERM");
  assert.equal((await within("the first ends", first.ended, LIMIT_MS)).status, 0);

  const LATER = NOON + 3 * DAY_MS;
  await changeSettings({
    clock: new Date(LATER).toISOString(),
    adjust: [
      { type: "compat", day: DAY, counter: "input", factor: 0.97 },
      { type: "compat", day: DAY, counter: "output", factor: 0.9 },
      { type: "messages", day: DAY, counter: "input", factor: 0.981 },
    ],
  });
  const gateway = await startGateway(t, { args, env: at(LATER) });
  const refused = await eventually(
    "the wrong key is reported",
    async () => {
      const rows = await rowsOf();
      return rows.length === 2 && rows.every(({ error }) => error !== null) && rows;
    },
    LIMIT_MS,
  );
  assert.match(refused[0]?.error ?? "", /answers 401: `admin_key` is refused/);
  await writeFile(join(secrets, "ADMIN"), ADMIN);

  const answer = await eventually(
    "the drift is reported",
    () => gateway.log().find(({ message }) => message === "metered usage and the provider's report disagree"),
    LIMIT_MS,
  );
  const reported = Math.round(sums.one.input * 0.97);
  assert.deepEqual(
    [
      answer["provider"],
      answer["day"],
      answer["class"],
      answer["metered"],
      answer["reported"],
      answer["hard"],
      answer.level,
    ],
    ["one", DAY, "input", sums.one.input, reported, true, "error"],
  );
  await eventually("both reports are had", async () => (await rowsOf()).every(({ error }) => error === null), LIMIT_MS);

  const { items } = await client.call("list_reconcile_verdicts", {});
  const ofDay = items.filter(({ day }) => day === DAY);
  assert.deepEqual(
    ofDay.map((it) => [it.provider, it.class, it.metered, it.reported, it.breach, it.direction]),
    [
      ["one", "input", sums.one.input, reported, 1, "over"],
      ["one", "cached_input", 0, 0, 0, "equal"],
      ["one", "cache_creation_input", 0, 0, 0, "equal"],
      // A tenth of it is lost, which is below the floor.
      ["one", "output", sums.one.output, Math.round(sums.one.output * 0.9), 0, "over"],
      ["two", "input", sums.two.input, Math.round(sums.two.input * 0.981), 0, "over"],
      ["two", "cached_input", 0, 0, 0, "equal"],
      ["two", "cache_creation_input", 0, 0, 0, "equal"],
      ["two", "output", sums.two.output, sums.two.output, 0, "equal"],
    ],
  );

  const series = await readMetrics(gateway);
  assert.equal(sumOf(series, "gateway_reconcile_breaches", { provider: "one", class: "input" }), 1);
  assert.equal(sumOf(series, "gateway_reconcile_breaches", { provider: "two" }), 0);

  // Nothing else counts usage here: without the block its answers are still metered, and no reports are fetched.
  const reports = async (): Promise<number> => {
    const counts = await fetch(`${simulator.url}/sim/counts`);
    return (
      ((await counts.json()) as { readonly byRoute: Readonly<Record<string, number>> }).byRoute["usage_report"] ?? 0
    );
  };
  await files.writeDeployment({ providers });
  await client.call("reload_config");
  const asked = await reports();
  const later = clientsOf(gateway.url);
  const stream = await later.openai.chat.completions.create({
    model: "sim-small",
    messages: [{ role: "user", content }],
    stream: true,
  });
  for await (const _ of stream);
  const meteredLater = async (): Promise<number> => {
    const sql = "SELECT sum(input_tokens) FROM usage WHERE model = 'sim-small'";
    return Number((await client.call("run_query", { body: { sql } })).rows[0]?.[0]);
  };
  const each = sums.one.input / 20;
  await eventually("a stream is metered", async () => (await meteredLater()) === sums.one.input + each, LIMIT_MS);
  assert.ok((await client.call("list_reconcile_verdicts", {})).items.length > 0, "what was judged stays");
  // A round in progress when the block was removed has fetched at most one more page.
  assert.ok((await reports()) <= asked + 1);
  client.close();
  gateway.signal("SIGTERM");
  await within("the second ends", gateway.ended, LIMIT_MS);
  const records = gateway
    .stderr()
    .split("\n")
    .filter((line) => line.includes('"reconcile.breach"') && line.includes('"class":"input"'));
  assert.equal(records.length, 1, "one record of the breach");
  for (const output of [
    first.stdout(),
    first.stderr(),
    gateway.stdout(),
    gateway.stderr(),
    [...series.keys()].join(),
  ]) {
    assert.ok(!output.includes("canary"), "no administrator's key is shown");
  }
});
