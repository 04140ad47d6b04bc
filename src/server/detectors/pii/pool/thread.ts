/** A scanning thread, as seen by the thread that gives it work. */
import { startThread } from "../../../../base/index.ts";
import type { FromScanner, ToScanner } from "./protocol.ts";

/**
 * Heap limits in MiB. A text of the longest body with all its findings takes a fraction; a thread that exceeds them ends alone.
 */
const LIMITS = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 32 };

export interface ScanThread {
  readonly send: (message: ToScanner) => void;
  /** Sets whether the process waits for it. */
  readonly hold: (isHeld: boolean) => void;
  /** Stops it, whatever it is doing; `onEnd` is called once it has ended. */
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
