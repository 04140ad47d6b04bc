/** Threads of this folder, from the bundle or from the sources. */

import { Worker } from "node:worker_threads";

/** MiB. The short-lived objects are few; the default lets three times as many lie about. */
const LIMITS = { resourceLimits: { maxYoungGenerationSizeMb: 16 } };

/** In the build each is a file of its own below the directory of the chunks; from the sources it needs their loader. */
export function startThread(name: "worker" | "verify/worker"): Worker {
  if (!import.meta.url.endsWith(".ts")) {
    return new Worker(new URL(`./server/audit/${name}.js`, import.meta.url), LIMITS);
  }
  const file = JSON.stringify(new URL(`./${name}.ts`, import.meta.url).href);
  return new Worker(`import("tsx/esm/api").then((it) => (it.register(), import(${file})));`, { ...LIMITS, eval: true });
}
