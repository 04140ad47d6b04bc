/** The port `Backends` over real configurations and statistics: rows, their order, and notifications of listeners. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { createStatistics, type Statistics } from "../../../../src/server/dataplane/index.ts";
import { backendsPort } from "../../../../src/server/node/admin/backends-port.ts";
import { type CompiledSources, compileSources } from "../../../../src/server/node/configuration/compile-sources.ts";
import type { Snapshot } from "../../../../src/server/snapshot/index.ts";
import { randomFloor } from "../../../support/random-length.ts";
import { backendsContract } from "../../admin/support/backends-contract.ts";

const REQUEST = {
  request: "r-1",
  caller: "ci",
  model: "gpt-fast",
  durationMs: 812.2,
  error: { reported: { type: "server_error", code: null } },
} as const;

const NO_SECRET = { kind: "problem", message: "none", missing: true } as const;

function compile(document: object): CompiledSources {
  const sources = [{ name: "test", text: JSON.stringify(document) }];
  const secrets = { secret: () => NO_SECRET, file: () => NO_SECRET };
  return compileSources({ sources, env: {}, secrets, fileOverlays: [] });
}

const compat = (name: string, over: object = {}): object => ({
  name,
  dialect: "compat",
  base_url: "https://models.example.com/v1",
  ...over,
});

function open() {
  let ms = 0;
  let running: CompiledSources | undefined;
  const listeners = new Set<() => void>();
  const statistics = createStatistics({ now: () => ms, monotonic: () => ms });
  const configuration = {
    running: () => running,
    onChange(listener: () => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const run = (sources: CompiledSources): Snapshot => {
    const { compiled } = sources;
    assert.ok(compiled.kind === "compiled", JSON.stringify(compiled));
    running = sources;
    for (const listener of listeners) listener();
    return compiled.snapshot;
  };
  return {
    statistics,
    backends: backendsPort(configuration, statistics, () => undefined),
    run,
    configure: (...providers: readonly object[]) => run(compile({ providers })),
    /** Reports a refused configuration, or a source changed to the same content. */
    tellOfChange() {
      for (const listener of listeners) listener();
    },
    pass(by: number) {
      ms += by;
    },
  };
}

backendsContract("backends of a node", () => {
  const { statistics, backends, configure } = open();
  return {
    backends,
    configure: (...names) => void configure(...names.map((name) => compat(name, { models: [name] }))),
    fail: (name) =>
      statistics.of(name)?.recordFailure({ kind: "5xx", status: 503, attempt: 1, movedTo: null, ...REQUEST }),
  };
});

test("a row has the measurements, and the provider's dialects", () => {
  const { statistics, backends, configure, pass } = open();
  configure(compat("a"), { preset: "anthropic", models: ["claude-*"] });
  const measured = statistics.of("a");
  measured?.beginAttempt(false);
  measured?.recordAnswer(100);
  measured?.beginAttempt(true);
  measured?.countFailoverOut();
  measured?.addUnits(40);
  measured?.addUnits(2);
  pass(30_000);
  const [a, b] = backends.list();
  assert.deepEqual(a, {
    name: "a",
    dialect: "compat",
    state: "ok",
    rate: 0.0333,
    error_ratio: 0,
    ttfb_p50_ms: a?.ttfb_p50_ms,
    ttfb_p95_ms: a?.ttfb_p50_ms,
    in_flight: 2,
    retries: 1,
    failovers_in: 0,
    failovers_out: 1,
    units_per_minute: 42,
    subsets: [],
    members: 0,
  });
  assert.ok(Math.abs((a?.ttfb_p50_ms ?? 0) - 100) <= 5);
  assert.ok(b?.dialect.split(",").includes("messages"));
});

test("names, aliases, patterns and the default are listed in matching order, each with its target", () => {
  const { backends, configure } = open();
  configure(
    compat("a", {
      models: ["gpt-*", "gpt-4"],
      model_aliases: { fast: "gpt-4-mini" },
      failover: { to: ["b"], when: ["5xx"] },
    }),
    { preset: "anthropic", name: "b", models: ["claude-*", "gpt-5", "gpt-x*"] },
  );
  assert.deepEqual(
    backends.models().map((row) => [row.model, row.kind, row.provider, row.upstream_model, row.failover.join()]),
    [
      ["gpt-4", "name", "a", null, "b"],
      ["fast", "alias", "a", "gpt-4-mini", "b"],
      ["gpt-*", "pattern", "a", null, "b"],
      // A row shadowed by an earlier one is not listed, since no request reaches it under that name.
      ["claude-*", "pattern", "b", null, ""],
    ],
  );
  configure(compat("only"));
  assert.deepEqual(backends.models(), [
    { model: "*", kind: "default", provider: "only", upstream_model: null, dialects: ["compat"], failover: [] },
  ]);
  configure(compat("all", { models: ["*"] }));
  assert.deepEqual(
    backends.models().map((row) => [row.model, row.kind]),
    [["*", "pattern"]],
  );
});

test("a change that keeps the active configuration is not reported", () => {
  const { backends, configure, tellOfChange } = open();
  configure(compat("a"));
  backends.onChange(() => assert.fail("nothing has changed"));
  tellOfChange();
});

/** Few letters, so that names, prefixes and requests often match. */
const word = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 4 });
const pattern = fc.oneof(
  word,
  word.map((it) => `${it}*`),
  fc.constant("*"),
);
const provider = fc.record({
  models: fc.uniqueArray(pattern, { maxLength: 4 }),
  aliases: fc.dictionary(word, word, { maxKeys: 3 }),
});
const deployment = fc.record({
  providers: fc.array(provider, { minLength: 1, maxLength: 4 }),
  fallback: fc.option(fc.nat(3), { nil: undefined }),
});

test("the first row that matches a model names the provider that receives its requests", () => {
  let configured = 0;
  fc.assert(
    fc.property(deployment, fc.array(word, { minLength: 1, maxLength: 20 }), ({ providers, fallback }, models) => {
      const sources = compile({
        providers: providers.map(({ models, aliases }, at) => compat(`p${at}`, { models, model_aliases: aliases })),
        ...(fallback !== undefined && fallback < providers.length && { default_provider: `p${fallback}` }),
      });
      if (sources.compiled.kind === "refused") return;
      configured += 1;
      const { backends, run } = open();
      const snapshot = run(sources);
      const rows = backends.models();
      for (const model of models) {
        const row = rows.find((it) =>
          it.model.endsWith("*") ? model.startsWith(it.model.slice(0, -1)) : it.model === model,
        );
        const routed = snapshot.route(model);
        assert.equal(row?.provider, routed?.provider.name, model);
        assert.equal(row?.upstream_model ?? undefined, routed?.provider.aliases.get(row?.model ?? ""), model);
      }
      assert.equal(new Set(rows.map((it) => it.model)).size, rows.length, "no name is listed twice");
    }),
    { numRuns: 1_000 },
  );
  assert.ok(configured > randomFloor(500), `${configured} configurations`);
});

/** Counts a listener's notifications of measurements, with timers controlled by the test. */
function listening(t: TestContext) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { statistics, backends, configure, pass } = open();
  configure(compat("a"));
  let calls = 0;
  const end = backends.onChange(() => {
    calls += 1;
  });
  return {
    statistics,
    end,
    callCount: () => calls,
    tick(ms: number) {
      for (let passed = 0; passed < ms; passed += 100) {
        pass(100);
        t.mock.timers.tick(100);
      }
    },
  };
}

function attempt(statistics: Statistics): void {
  const measured = statistics.of("a");
  measured?.beginAttempt(false);
  measured?.recordAnswer(1);
  measured?.endAttempt();
}

test("listeners are called at most once a second while there is traffic", (t) => {
  const { statistics, tick, callCount } = listening(t);
  for (let at = 0; at < 100; at++) {
    attempt(statistics);
    tick(100);
  }
  assert.ok(callCount() >= 9 && callCount() <= 10, `${callCount()} in ten seconds`);
});

test("listeners are not called while a provider is idle, except until its last attempt has left the window", (t) => {
  const { statistics, tick, callCount } = listening(t);
  tick(600_000);
  assert.equal(callCount(), 0);
  attempt(statistics);
  tick(600_000);
  const once = callCount();
  assert.ok(once >= 60 && once <= 62, `${once} for one attempt`);
  tick(600_000);
  assert.equal(callCount(), once);
  attempt(statistics);
  tick(1_000);
  assert.equal(callCount(), once + 1);
});

test("a session that ends long after its start is reported", (t) => {
  const { statistics, tick, callCount } = listening(t);
  statistics.of("a")?.beginAttempt(false);
  tick(300_000);
  const begun = callCount();
  statistics.of("a")?.endAttempt();
  tick(2_000);
  assert.deepEqual([begun, callCount()], [1, 2]);
});

test("without listeners nothing is reported and no timer is set", (t) => {
  const { statistics, tick, callCount, end } = listening(t);
  attempt(statistics);
  end();
  const set = t.mock.method(globalThis, "setTimeout");
  tick(10_000);
  attempt(statistics);
  tick(10_000);
  assert.deepEqual([callCount(), set.mock.callCount()], [0, 0]);
});
