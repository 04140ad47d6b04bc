/** Reads the gateway's metrics (Prometheus text format 0.0.4) and the simulator's counts. */

import { request } from "node:http";

export interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const TIMEOUT_MS = 10_000;

/** Sends a GET on its own connection: a kept-alive one would count among the gateway's sockets. */
export function get(port: number, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const asked = request({ port, host: "127.0.0.1", path, agent: false, signal }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (piece: string) => {
        text += piece;
      });
      response.on("end", () => {
        if (response.statusCode === 200) resolve(text);
        else reject(new Error(`GET ${path} answered ${response.statusCode}`));
      });
      response.on("error", reject);
    });
    asked.on("error", reject);
    asked.end();
  });
}

export function parseMetrics(text: string): readonly Series[] {
  const found: Series[] = [];
  for (const line of text.split("\n")) {
    const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
    if (match === null) continue;
    const labels: Record<string, string> = {};
    for (const [, key = "", value = ""] of (match[2] ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[key] = value;
    found.push({ name: match[1] ?? "", labels, value: Number(match[3]) });
  }
  return found;
}

/** Sum over the series of a name; NaN if there is none, so that a missing metric never matches. */
export function sumOf(series: readonly Series[], name: string): number {
  const own = series.filter((one) => one.name === name);
  return own.length === 0 ? Number.NaN : own.reduce((sum, { value }) => sum + value, 0);
}
