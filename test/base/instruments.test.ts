/** Instruments: children, the limit of series, cumulative histogram buckets, observed gauges. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createInstruments, type HistogramSeries, type InstrumentReading } from "../../src/base/instruments.ts";

function only(readings: readonly InstrumentReading[]): InstrumentReading {
  assert.equal(readings.length, 1);
  return readings[0] as InstrumentReading;
}

function histogramSeries(reading: InstrumentReading): readonly HistogramSeries[] {
  assert.ok(reading.kind === "histogram");
  return reading.series;
}

test("equal label values give the same child, which adds up", () => {
  const instruments = createInstruments();
  const requests = instruments.counter("requests_total", "Requests.", ["route", "status"]);
  assert.equal(requests.with("chat", "200"), requests.with("chat", "200"));
  requests.with("chat", "200").inc();
  requests.with("chat", "200").inc(4);
  requests.with("chat", "500").inc();
  assert.deepEqual(only(instruments.read()), {
    kind: "counter",
    name: "requests_total",
    help: "Requests.",
    labelNames: ["route", "status"],
    series: [
      { labelValues: ["chat", "200"], value: 5 },
      { labelValues: ["chat", "500"], value: 1 },
    ],
  });
});

test("label values with the same concatenation are different children", () => {
  const counter = createInstruments().counter("c_total", "C.", ["a", "b"]);
  assert.notEqual(counter.with("x", "yz"), counter.with("xy", "z"));
});

test("a gauge is set and incremented", () => {
  const instruments = createInstruments();
  const inFlight = instruments.gauge("in_flight", "In flight.").with();
  inFlight.set(10);
  inFlight.add(-3);
  assert.deepEqual(only(instruments.read()).series, [{ labelValues: [], value: 7 }]);
});

test("an observed gauge is read at each collection", () => {
  const instruments = createInstruments();
  let depth = 1;
  instruments.observedGauge("queue_depth", "Depth.", () => depth);
  assert.deepEqual(only(instruments.read()).series, [{ labelValues: [], value: 1 }]);
  depth = 2;
  assert.deepEqual(only(instruments.read()).series, [{ labelValues: [], value: 2 }]);
});

test("above the limit every further label set shares the series `other`, and nothing is lost", () => {
  const instruments = createInstruments();
  const counter = instruments.counter("c_total", "C.", ["model", "provider"]);
  for (let i = 0; i < 5_000; i++) counter.with(`model-${i}`, "p").inc();
  const reading = only(instruments.read());
  assert.ok(reading.kind === "counter");
  assert.equal(reading.series.length, 2_001);
  assert.deepEqual(reading.series.at(-1), { labelValues: ["other", "other"], value: 3_000 });
  assert.equal(counter.with("model-7", "p"), counter.with("model-7", "p"));
  assert.equal(counter.with("new", "p"), counter.with("newer", "p"));
});

test("an observation at a bound counts under it, and the last bucket counts all", () => {
  const instruments = createInstruments();
  const latency = instruments.histogram("latency_seconds", "Latency.", [0.1, 1], ["route"]).with("chat");
  for (const seconds of [0, 0.1, 0.100001, 1, 2]) latency.observe(seconds);
  const [series] = histogramSeries(only(instruments.read()));
  assert.deepEqual(series?.cumulative, [2, 4, 5]);
  assert.ok(Math.abs((series?.sum ?? 0) - 3.200001) < 1e-9);
});

test("for any observations the buckets never decrease, and the last is their number", () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: -10, max: 100, noNaN: true })), (values) => {
      const instruments = createInstruments();
      const histogram = instruments.histogram("h", "H.", [0, 1, 5, 50]).with();
      for (const value of values) histogram.observe(value);
      const cumulative = histogramSeries(only(instruments.read()))[0]?.cumulative ?? [];
      for (let i = 1; i < cumulative.length; i++) assert.ok((cumulative[i] ?? 0) >= (cumulative[i - 1] ?? 0));
      assert.equal(cumulative.at(-1), values.length);
    }),
  );
});

test("instruments are collected in creation order", () => {
  const instruments = createInstruments();
  instruments.counter("b_total", "B.");
  instruments.gauge("a", "A.");
  instruments.histogram("c", "C.", [1]);
  assert.deepEqual(
    instruments.read().map(({ name }) => name),
    ["b_total", "a", "c"],
  );
});
