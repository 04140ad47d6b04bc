/** Instruments in the scrape's text format. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Registry } from "prom-client";
import { createInstruments, LATENCY_BOUNDS_SECONDS } from "../../../src/base/index.ts";
import { exposeInstruments } from "../../../src/server/telemetry/index.ts";

test("counters, gauges and histograms appear under their own names and labels", async () => {
  const instruments = createInstruments();
  const registry = new Registry();
  instruments.counter("requests_total", "Requests.", ["route", "status"]).with("chat", "200").inc(3);
  instruments.gauge("in_flight", "In flight.").with().set(2);
  instruments.observedGauge("depth", "Depth.", () => 7);
  const latency = instruments.histogram("latency_seconds", "Latency.", [0.1, 1], ["route"]).with("chat");
  latency.observe(0.0625);
  latency.observe(0.5);
  latency.observe(4);
  exposeInstruments(registry, instruments);
  assert.equal(
    await registry.metrics(),
    `# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{route="chat",status="200"} 3

# HELP in_flight In flight.
# TYPE in_flight gauge
in_flight 2

# HELP depth Depth.
# TYPE depth gauge
depth 7

# HELP latency_seconds Latency.
# TYPE latency_seconds histogram
latency_seconds_bucket{le="0.1",route="chat"} 1
latency_seconds_bucket{le="1",route="chat"} 2
latency_seconds_bucket{le="+Inf",route="chat"} 3
latency_seconds_sum{route="chat"} 4.5625
latency_seconds_count{route="chat"} 3
`,
  );
});

test("a label value cannot break out of its quotes or its line", async () => {
  const instruments = createInstruments();
  const registry = new Registry();
  instruments.counter("c_total", "C.", ["model"]).with('a"} 1\nforged_total 9\\').inc();
  exposeInstruments(registry, instruments);
  assert.match(await registry.metrics(), /^c_total\{model="a\\"\} 1\\nforged_total 9\\\\"\} 1$/m);
});

test("values are those at the moment of the scrape, and new instruments appear with the next sync", async () => {
  const instruments = createInstruments();
  const registry = new Registry();
  const first = instruments.counter("first_total", "First.").with();
  const exposition = exposeInstruments(registry, instruments);
  assert.match(await registry.metrics(), /^first_total 0$/m);
  first.inc();
  instruments.counter("second_total", "Second.").with().inc();
  exposition.sync();
  const text = await registry.metrics();
  assert.match(text, /^first_total 1$/m);
  assert.match(text, /^second_total 1$/m);
});

test("an observed gauge is read once per scrape, however many instruments there are", async () => {
  const instruments = createInstruments();
  const registry = new Registry();
  let reads = 0;
  instruments.observedGauge("depth", "Depth.", () => ++reads);
  for (let i = 0; i < 50; i++) instruments.counter(`c${i}_total`, "C.");
  const exposition = exposeInstruments(registry, instruments);
  await registry.metrics();
  const before = reads;
  exposition.sync();
  await registry.metrics();
  assert.equal(reads, before + 1);
});

test("a duplicate name, a malformed name and a malformed label are refused by name", () => {
  const twice = createInstruments();
  twice.counter("c_total", "C.");
  twice.gauge("c_total", "C.");
  assert.throws(() => exposeInstruments(new Registry(), twice), /c_total was created twice/);
  for (const [name, label] of [
    ["a-b", "x"],
    ["ab", "x-y"],
    ["ab", "__x"],
    ["1a", "x"],
  ] as const) {
    const instruments = createInstruments();
    instruments.counter(name, "C.", [label]);
    assert.throws(() => exposeInstruments(new Registry(), instruments), /malformed/);
  }
});

test("a scrape of 2,000 series takes well under a tenth of a second", async () => {
  const instruments = createInstruments();
  const registry = new Registry();
  const counter = instruments.counter("c_total", "C.", ["model", "provider"]);
  for (let i = 0; i < 1_900; i++) counter.with(`model-${i}`, "p").inc(i);
  const latency = instruments.histogram("l_seconds", "L.", LATENCY_BOUNDS_SECONDS, ["provider"]);
  for (let i = 0; i < 100; i++) latency.with(`p${i}`).observe(i / 10);
  const exposition = exposeInstruments(registry, instruments);
  // The fastest of several, to exclude other work of the machine.
  let tookMs = Number.POSITIVE_INFINITY;
  for (let scrape = 0; scrape < 8; scrape += 1) {
    const started = performance.now();
    exposition.sync();
    const text = await registry.metrics();
    tookMs = Math.min(tookMs, performance.now() - started);
    assert.equal(text.split("\n").filter((line) => line.startsWith("c_total{")).length, 1_900);
  }
  assert.ok(tookMs < 100, `${tookMs.toFixed(1)} ms`);
});
