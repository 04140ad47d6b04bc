/** A thread that scans, as the thread that gives it work has it. */
import { startThread } from "../../../../base/index.ts";
import type { FromScanner, ToScanner } from "./protocol.ts";

/** MiB. A text of the longest body with all that is found in it takes a fraction; a thread that needs more ends alone. */
const LIMITS = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 32 };

export interface ScanThread {
  readonly send: (message: ToScanner) => void;
  /** Whether the process waits for it. */
  readonly hold: (isHeld: boolean) => void;
  /** Stops it, whatever it does; `onEnd` is called once it has ended. */
  readonly end: () => void;
}

export interface ScanThreadListener {
  readonly onAnswer: (answer: FromScanner) => void;
  /** Called once. */
  readonly onEnd: () => void;
}

export type StartScanThread = (listener: ScanThreadListener) => ScanThread;

export const startScanThread: StartScanThread = ({ onAnswer, onEnd }) => {
  const source = new URL("./worker.ts", import.meta.url);
  const built = new URL("./server/detectors/pii/pool/worker.js", import.meta.url);
  const worker = startThread({ source, built }, { argv: [], stdin: false, resourceLimits: LIMITS });
  worker.unref();
  worker.on("message", onAnswer);
  // "exit" follows and is sufficient: the error could contain a part of a text.
  worker.on("error", () => undefined);
  worker.once("exit", onEnd);
  return {
    send: (message) => worker.postMessage(message),
    hold: (isHeld) => (isHeld ? worker.ref() : worker.unref()),
    end: () => void worker.terminate(),
  };
};
