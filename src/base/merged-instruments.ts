/** Merges the instruments of this process with those of others: series are summed, or merged as their gauge specifies. */
import {
  createInstruments,
  type HistogramSeries,
  type InstrumentReading,
  type Instruments,
  MAX_SERIES,
  type NumberSeries,
} from "./instruments.ts";

/** Another process whose instruments are merged. */
export interface ReadingSource {
  /** Returns its last report. */
  read(): readonly InstrumentReading[];
  /** Requests a new report. Rejects if none arrives in time. */
  refresh(): Promise<void>;
}

export interface MergedInstruments extends Instruments {
  /** Adds a source. Returns a function that removes it. */
  addSource(source: ReadingSource): () => void;
  /** Adds the counts of a source that has left to the sums. Its gauges are dropped. */
  addDeparted(readings: readonly InstrumentReading[]): void;
  /** Requests new reports of all sources, and waits for those that answer in time. Never rejects. */
  refresh(): Promise<void>;
}

/** Creates merged instruments. Without sources, reading costs nothing extra. */
export function createMergedInstruments(): MergedInstruments {
  const local = createInstruments();
  const sources = new Set<ReadingSource>();
  let departed: readonly InstrumentReading[] = [];
  return {
    ...local,
    read() {
      if (sources.size === 0 && departed.length === 0) return local.read();
      return [departed, ...Array.from(sources, (source) => source.read())].reduce(addReadings, local.read());
    },
    addSource(source) {
      sources.add(source);
      return () => sources.delete(source);
    },
    addDeparted(readings) {
      departed = addReadings(
        departed,
        readings.filter(({ kind }) => kind !== "gauge"),
      );
    },
    async refresh() {
      await Promise.allSettled(Array.from(sources, (source) => source.refresh()));
    },
  };
}

/**
 * Merges two readings of all instruments, in the order of the first. If labels or bounds of an instrument differ, as
 * between versions, the first reading is used.
 */
export function addReadings(
  first: readonly InstrumentReading[],
  second: readonly InstrumentReading[],
): readonly InstrumentReading[] {
  const more = new Map(second.map((reading) => [reading.name, reading]));
  const sums = first.map((reading) => {
    const other = more.get(reading.name);
    more.delete(reading.name);
    return other === undefined ? reading : addReading(reading, other);
  });
  return [...sums, ...more.values()];
}

function addReading(one: InstrumentReading, other: InstrumentReading): InstrumentReading {
  if (one.labelNames.join() !== other.labelNames.join()) return one;
  if (one.kind === "histogram") {
    if (other.kind !== "histogram" || one.bounds.join() !== other.bounds.join()) return one;
    return { ...one, series: addSeries(one.series, other.series, addHistograms) };
  }
  if (one.kind !== other.kind) return one;
  const merge = one.merging === "farthest" ? farthestOf : addNumbers;
  return { ...one, series: addSeries(one.series, other.series, merge) };
}

const addNumbers = (one: NumberSeries, { value }: NumberSeries): NumberSeries => ({ ...one, value: one.value + value });

const farthestOf = (one: NumberSeries, other: NumberSeries): NumberSeries =>
  Math.abs(other.value) > Math.abs(one.value) ? other : one;

const addHistograms = (one: HistogramSeries, { cumulative, sum }: HistogramSeries): HistogramSeries => ({
  ...one,
  cumulative: one.cumulative.map((count, at) => count + (cumulative[at] ?? 0)),
  sum: one.sum + sum,
});

interface Labelled {
  readonly labelValues: readonly string[];
}

/** Adds series. Limited like one instrument: further label sets count under `other`. */
function addSeries<Series extends Labelled>(
  first: readonly Series[],
  second: readonly Series[],
  add: (one: Series, other: Series) => Series,
): readonly Series[] {
  const sums = new Map(first.map((series) => [keyOf(series), series]));
  for (const series of second) {
    const isKnown = sums.has(keyOf(series)) || sums.size < MAX_SERIES;
    const counted = isKnown ? series : { ...series, labelValues: series.labelValues.map(() => "other") };
    const known = sums.get(keyOf(counted));
    sums.set(keyOf(counted), known === undefined ? counted : add(known, counted));
  }
  return [...sums.values()];
}

const keyOf = ({ labelValues }: Labelled): string => labelValues.join("\u0000");
