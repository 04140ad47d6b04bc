/** Threads of this folder. */

import type { Worker } from "node:worker_threads";
import { startThread as start } from "../../base/index.ts";

/** MiB. The short-lived objects are few; the default lets three times as many lie about. */
const LIMITS = { resourceLimits: { maxYoungGenerationSizeMb: 16 } };

export function startThread(name: "worker" | "verify/worker"): Worker {
  const source = new URL(`./${name}.ts`, import.meta.url);
  const built = new URL(`./server/audit/${name}.js`, import.meta.url);
  return start({ source, built }, LIMITS);
}
