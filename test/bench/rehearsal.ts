/**
 * Cost of rehearsals: recording a request, and judging 20,000 records by another configuration on one core.
 *
 * node --import tsx test/bench/rehearsal.ts
 */
import { readDeployment } from "../../src/server/core/config/index.ts";
import { createRecordStore, FACT, type RecordedRequest, unpack } from "../../src/server/core/rehearsal/index.ts";
import { type ConfigurationSide, type RehearsalResult, rehearse } from "../../src/server/rehearsal/index.ts";
import { compileDeployment, loadGuardrails, loadRules } from "../../src/server/snapshot/index.ts";

const RECORDS = 20_000;
const KEYS = 50;
const NOTHING = { kind: "problem", message: "there are no secrets here" } as const;

const document = (extra: object): string =>
  JSON.stringify({
    auth: { virtual_keys: true },
    providers: [
      { name: "one", dialect: "compat", base_url: "http://127.0.0.1:1/v1", api_key: "k", models: ["sim-*"] },
      { name: "two", dialect: "compat", base_url: "http://127.0.0.1:2/v1", api_key: "k", models: ["other-*"] },
    ],
    budgets: [{ name: "day", limit: 1_000_000, window: "day" }],
    profiles: [{ name: "team", budget: "day", access_rules: rules(10, "own") }],
    access_rules: rules(20, "all"),
    ...extra,
  });

const rules = (count: number, name: string) =>
  Array.from({ length: count }, (_, index) => ({
    name: `${name}-${index}`,
    at: ["llm"],
    condition: `model == "m-${index}" && key.metadata.team != "x" || provider == "p-${index}"`,
    action: "deny",
  }));

async function sideOf(text: string): Promise<ConfigurationSide> {
  const deployment = readDeployment(
    { name: "d", text },
    { env: () => undefined, secret: () => NOTHING, file: () => NOTHING },
  );
  const [loaded, guardrails] = [await loadRules([text]), await loadGuardrails([text])];
  const compiled = compileDeployment({
    deployment,
    fileOverlays: [],
    limitRev: 1,
    trusted: undefined,
    rules: loaded,
    guardrails,
  });
  if (compiled.kind !== "compiled" || deployment.asWritten === undefined) throw new Error(JSON.stringify(compiled));
  return { snapshot: compiled.snapshot, document: deployment.asWritten, awaitsModels: false };
}

const inForce = await sideOf(document({}));
const proposed = await sideOf(
  document({ access_rules: rules(21, "all"), budgets: [{ name: "day", limit: 10_000, window: "day" }] }),
);
const metadata = { team: "red" };
const begun = Date.now() - 3_600_000;
const requestAt = (i: number): RecordedRequest => ({
  at: begun + i * 100,
  totalMs: 40,
  id: `5dcd7c83-2f88-4412-acf1-12dd4${String(i).padStart(7, "0")}`,
  configuration: inForce.snapshot.digest,
  traffic: "llm",
  dialect: "compat",
  facts: FACT.namesModel | FACT.hasBody | FACT.isAdmitted | FACT.isCharged,
  caller: JSON.stringify({
    kind: "key",
    principal: `k${i % KEYS}`,
    key: { id: `k${i % KEYS}`, name: `key-${i % KEYS}`, metadata },
    profile: "team",
  }),
  route: "POST /v1/chat/completions",
  model: `sim-${i % 40}`,
  routed: "one",
  to: "one",
  provider: "one",
  method: "",
  name: "",
  role: "",
  status: 200,
  code: "",
  by: "",
  acted: "",
  findings: "",
  attempts: 1,
  bodyBytes: 900,
  units: 60,
  least: 80,
  most: 80,
});
const all = Array.from({ length: RECORDS }, (_, i) => requestAt(i));
for (let round = 0; round < 5; round++) {
  const store = createRecordStore(64 << 20, begun);
  const started = process.cpuUsage();
  for (const request of all) store.add(request);
  const { user, system } = process.cpuUsage(started);
  const bytes = store.bytes() / RECORDS;
  console.log(`keep: ${((user + system) / RECORDS).toFixed(2)} us of CPU a request, ${bytes.toFixed(0)} bytes`);

  const judging = process.cpuUsage();
  const requests = store.read().flatMap(({ chunk }) => [...unpack(chunk)]);
  const keys = new Map(
    Array.from({ length: KEYS }, (_, i) => [`k${i}`, { name: `key-${i}`, profile: "team", metadata }] as const),
  );
  let result: RehearsalResult | undefined;
  const nodes = [{ node: "n1", since: begun - 86_400_000, requests }];
  for (const slice of rehearse({ inForce, proposed, nodes, keys, buckets: [], now: Date.now(), since: 0 }))
    result = slice;
  const judged = process.cpuUsage(judging);
  const counts = { requests: result?.requests, refused: result?.refused, unknown: result?.unknown };
  console.log(`judge: ${((judged.user + judged.system) / 1_000).toFixed(0)} ms of CPU, ${JSON.stringify(counts)}`);
}
