/**
 * Registers the instruments in a prom-client registry, so that the library writes the text format and its escaping.
 *
 * Each instrument becomes a metric of the registry under its own name and labels. The registry reads its metrics one by one; the
 * instruments are read once for all of them. Instruments that are created later appear with the next `sync`.
 */

import type { Metric, Registry } from "prom-client";
import type { InstrumentReading, Instruments } from "../../base/index.ts";

interface Exposition {
  /** Registers the instruments that were created since the last call. Must be called before each rendering of the registry. */
  sync(): void;
}

/** Pattern of names that the exposition format allows. An invalid name would make the whole scrape unreadable. */
const METRIC_NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL_NAME = /^(?!__)[a-zA-Z_][a-zA-Z0-9_]*$/;

type Labels = Readonly<Record<string, string>>;

/** Suffixes for the units of metrics from OpenTelemetry's conventions. A unit in braces has none. */
const UNIT_SUFFIXES: ReadonlyMap<string, string> = new Map([["s", "_seconds"]]);

/**
 * Returns the Prometheus name of a metric by OpenTelemetry's compatibility rules. The gateway's own names already have that form.
 */
export function prometheusName({ name, unit = "" }: Pick<InstrumentReading, "name" | "unit">): string {
  return name.replaceAll(".", "_") + (UNIT_SUFFIXES.get(unit) ?? "");
}

const prometheusLabel = (name: string): string => name.replaceAll(".", "_");

/** Line of the scrape, in the form that prom-client's registry reads. */
interface Value {
  readonly value: number;
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Labels that are written before `labels`. The object is reused, because the library caches its text. */
  readonly sharedLabels?: Labels;
}

/** Exposes the instruments. Throws if a name or label is invalid or already used, which is a mistake in the source. */
export function exposeInstruments(registry: Registry, instruments: Instruments): Exposition {
  const registered = new Set<string>();
  /** Labels by the instrument's array of label values, which lives as long as its child. */
  const labelsOf = new WeakMap<readonly string[], Labels>();
  let current: ReadonlyMap<string, InstrumentReading> | undefined;

  function readings(): ReadonlyMap<string, InstrumentReading> {
    if (current !== undefined) return current;
    const byName = new Map<string, InstrumentReading>();
    for (const reading of instruments.read()) {
      const name = prometheusName(reading);
      if (byName.has(name)) throw new Error(`the instrument ${name} was created twice`);
      byName.set(name, reading);
    }
    current = byName;
    // The registry reads all its metrics in one turn of the event loop; the next turn reads again.
    queueMicrotask(() => {
      current = undefined;
    });
    return byName;
  }

  function labels(reading: InstrumentReading, labelValues: readonly string[]): Labels {
    const known = labelsOf.get(labelValues);
    if (known !== undefined) return known;
    const made = Object.fromEntries(
      reading.labelNames.map((name, at) => [prometheusLabel(name), labelValues[at] ?? ""]),
    );
    labelsOf.set(labelValues, made);
    return made;
  }

  function register(reading: InstrumentReading): void {
    const { help, kind } = reading;
    const name = prometheusName(reading);
    const wrong = METRIC_NAME.test(name)
      ? reading.labelNames.map(prometheusLabel).find((label) => !LABEL_NAME.test(label))
      : name;
    if (wrong !== undefined) throw new Error(`the instrument ${name} has a malformed name or label: ${wrong}`);
    const object = {
      name,
      help,
      type: kind,
      aggregator: "sum",
      get: async () => ({ name, help, type: kind, aggregator: "sum", values: valuesOf(readings().get(name), labels) }),
    };
    // The registry needs only `name` and `get`, but its type lists the library's own classes.
    registry.registerMetric(object as unknown as Metric);
    registered.add(name);
  }

  function sync(): void {
    for (const [name, reading] of readings()) if (!registered.has(name)) register(reading);
  }

  sync();
  return { sync };
}

function valuesOf(
  reading: InstrumentReading | undefined,
  labels: (reading: InstrumentReading, labelValues: readonly string[]) => Labels,
): Value[] {
  if (reading === undefined) return [];
  if (reading.kind !== "histogram") {
    return reading.series.map(({ labelValues, value }) => ({
      value,
      labels: {},
      sharedLabels: labels(reading, labelValues),
    }));
  }
  const name = prometheusName(reading);
  const bucketName = `${name}_bucket`;
  const bounds = [...reading.bounds.map((bound) => ({ le: String(bound) })), { le: "+Inf" }];
  return reading.series.flatMap(({ labelValues, cumulative, sum }) => {
    const sharedLabels = labels(reading, labelValues);
    return [
      ...cumulative.map((value, at) => ({ metricName: bucketName, labels: bounds[at] ?? {}, sharedLabels, value })),
      { metricName: `${name}_sum`, labels: {}, sharedLabels, value: sum },
      { metricName: `${name}_count`, labels: {}, sharedLabels, value: cumulative.at(-1) ?? 0 },
    ];
  });
}
