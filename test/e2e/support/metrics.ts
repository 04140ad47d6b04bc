/** A gateway's metrics as a scraper reads them. */
import type { Gateway } from "./gateway.ts";
import { eventually } from "./wait.ts";

/** Values by series (`name{label="value"}`). */
export type Series = ReadonlyMap<string, number>;

export async function readMetrics({ metricsUrl }: Gateway): Promise<Series> {
  const response = await fetch(String(metricsUrl));
  const lines = (await response.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(" ");
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

/** Returns the sum of the series with this name and all these labels. */
export function sumOf(series: Series, name: string, labels: Readonly<Record<string, string>> = {}): number {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  let sum = 0;
  for (const [key, value] of series) {
    const [family = "", rest = ""] = key.split("{");
    if (family === name && wanted.every((label) => rest.includes(label))) sum += value;
  }
  return sum;
}

/** Resolves when nothing is in flight and no byte is buffered; requests end a moment after their client knows. */
export async function idle(gateway: Gateway): Promise<Series> {
  return eventually("an idle gateway", async () => {
    const series = await readMetrics(gateway);
    const isIdle = sumOf(series, "gateway_in_flight_requests") + sumOf(series, "gateway_buffered_bytes") === 0;
    return isIdle && series;
  });
}
