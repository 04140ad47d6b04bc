/**
 * Counters, gauges and histograms. Recording costs an addition, and they are independent of any exporter.
 *
 * An instrument has one child per label set; hot code keeps the child. The number of label sets is limited: above the
 * limit, every further set shares one child whose label values are all `other`, so that no caller can create series.
 */

/**
 * Maximum number of label sets per instrument. 2,000 series scrape in under 5 ms; a gateway with 100 providers needs a
 * few hundred.
 */
export const MAX_SERIES = 2_000;

export interface Counter {
  inc(by?: number): void;
}

export interface Gauge {
  add(by: number): void;
  set(to: number): void;
}

export interface Histogram {
  observe(value: number): void;
}

interface InstrumentDescriptor {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  /** Unit in UCUM, for a series of OpenTelemetry's conventions; `undefined` for our own series, whose names contain it. */
  readonly unit?: string | undefined;
}

/**
 * Way in which a gauge is merged over the processes of a node: `sum` if each has a part of the value; `farthest`, which
 * takes the value farthest from 0, if each observes the whole value.
 */
export type GaugeMerge = "sum" | "farthest";

export interface Family<Child> extends InstrumentDescriptor {
  /** Returns the child for these label values, in the order of `labelNames`; always the same object. */
  with(...labelValues: string[]): Child;
}

export interface NumberSeries {
  readonly labelValues: readonly string[];
  readonly value: number;
}

export interface HistogramSeries {
  readonly labelValues: readonly string[];
  /** Number of observations at or below each bound, cumulative. The additional last element counts all observations. */
  readonly cumulative: readonly number[];
  readonly sum: number;
}

export type InstrumentReading =
  | (InstrumentDescriptor & {
      readonly kind: "counter" | "gauge";
      readonly series: readonly NumberSeries[];
      /** Merging of a gauge; defaults to `sum`. */
      readonly merging?: GaugeMerge;
    })
  | (InstrumentDescriptor & {
      readonly kind: "histogram";
      readonly bounds: readonly number[];
      readonly series: readonly HistogramSeries[];
    });

export interface Instruments {
  counter(name: string, help: string, labelNames?: readonly string[]): Family<Counter>;
  gauge(name: string, help: string, labelNames?: readonly string[], merging?: GaugeMerge): Family<Gauge>;
  /** Registers a gauge that is read, not written: `read` runs at each scrape and must be cheap. */
  observedGauge(name: string, help: string, read: () => number, merging?: GaugeMerge): void;
  /**
   * Registers a histogram. `bounds`: upper bounds in the unit of the name's suffix, ascending. `unit`: for a series of
   * OpenTelemetry's conventions, whose name and labels follow them.
   */
  histogram(
    name: string,
    help: string,
    bounds: readonly number[],
    labelNames?: readonly string[],
    unit?: string,
  ): Family<Histogram>;
  /** Returns all current values, in order of creation. */
  read(): readonly InstrumentReading[];
}

/** Latency buckets in seconds, from a tenth of a millisecond to half a minute. */
export const LATENCY_BOUNDS_SECONDS: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];

class NumberChild implements Counter, Gauge {
  value = 0;
  inc(by = 1): void {
    this.value += by;
  }
  add(by: number): void {
    this.value += by;
  }
  set(to: number): void {
    this.value = to;
  }
}

class HistogramChild implements Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: Float64Array;
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    let at = 0;
    while (at < this.#bounds.length && value > (this.#bounds[at] as number)) at++;
    this.#counts[at] = (this.#counts[at] as number) + 1;
    this.#sum += value;
  }

  read(labelValues: readonly string[]): HistogramSeries {
    let total = 0;
    return { labelValues, cumulative: Array.from(this.#counts, (count) => (total += count)), sum: this.#sum };
  }
}

class Series<Child> {
  readonly children = new Map<string, { readonly labelValues: readonly string[]; readonly child: Child }>();
  readonly #labelCount: number;
  readonly #create: () => Child;

  constructor(labelCount: number, create: () => Child) {
    this.#labelCount = labelCount;
    this.#create = create;
  }

  with(labelValues: readonly string[]): Child {
    const key = labelValues.join("\u0000");
    const known = this.children.get(key);
    if (known !== undefined) return known.child;
    if (this.children.size >= MAX_SERIES && labelValues.some((value) => value !== "other")) {
      return this.with(Array.from({ length: this.#labelCount }, () => "other"));
    }
    const child = this.#create();
    this.children.set(key, { labelValues: [...labelValues], child });
    return child;
  }
}

export function createInstruments(): Instruments {
  const readers: (() => InstrumentReading)[] = [];

  function createNumberFamily(
    kind: "counter" | "gauge",
    name: string,
    help: string,
    labelNames: readonly string[],
    merging?: GaugeMerge,
  ) {
    const series = new Series(labelNames.length, () => new NumberChild());
    readers.push(() => ({
      kind,
      name,
      help,
      labelNames,
      ...(merging !== undefined && { merging }),
      series: [...series.children.values()].map(({ labelValues, child }) => ({ labelValues, value: child.value })),
    }));
    return { name, help, labelNames, with: (...labelValues: string[]) => series.with(labelValues) };
  }

  return {
    counter: (name, help, labelNames = []) => createNumberFamily("counter", name, help, labelNames),
    gauge: (name, help, labelNames = [], merging = undefined) =>
      createNumberFamily("gauge", name, help, labelNames, merging),
    observedGauge(name, help, read, merging = undefined) {
      readers.push(() => ({
        ...{ kind: "gauge", name, help, labelNames: [] },
        ...(merging !== undefined && { merging }),
        series: [{ labelValues: [], value: read() }],
      }));
    },
    histogram(name, help, bounds, labelNames = [], unit = undefined) {
      const series = new Series(labelNames.length, () => new HistogramChild(bounds));
      readers.push(() => ({
        kind: "histogram",
        name,
        help,
        labelNames,
        unit,
        bounds,
        series: [...series.children.values()].map(({ labelValues, child }) => child.read(labelValues)),
      }));
      return { name, help, labelNames, unit, with: (...labelValues) => series.with(labelValues) };
    },
    read: () => readers.map((read) => read()),
  };
}
