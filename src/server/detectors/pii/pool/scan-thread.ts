/** Scanning thread, as the thread that gives it work uses it. */
import { openThread, type Thread, type ThreadListener } from "../../../../base/index.ts";
import type { FromScanner, ToScanner } from "./scan-protocol.ts";

/**
 * Heap limits in MiB. A text of the longest body with all its findings takes a fraction of them; only a thread that
 * exceeds them ends.
 */
const LIMITS = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 32 };

export type ScanThread = Thread<ToScanner>;

export type StartScanThread = (listener: ThreadListener<FromScanner>) => ScanThread;

const MODULE = {
  source: new URL("./worker.ts", import.meta.url),
  built: new URL("./server/detectors/pii/pool/worker.js", import.meta.url),
};

export const startScanThread: StartScanThread = (listener) => {
  const options = { argv: [], stdin: false, resourceLimits: LIMITS };
  const thread = openThread<ToScanner, FromScanner>(MODULE, options, listener);
  thread.keepProcessAlive(false);
  return thread;
};
