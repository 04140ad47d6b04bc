/** Probe of a server or judge that a detector depends on, for `gateway check`. */
import type { CallModel } from "./ports.ts";

export interface DetectorProbe {
  readonly detector: string;
  /** Address and headers sent to its server, beside a text; a stand-in of a sealed secret in them would be sent as it is. */
  readonly presents: string;
  /** Provider through which a judge is called, with its credentials; `undefined` for other detectors. */
  readonly provider?: string;
  /**
   * `isDoubtful` means that it answers, but something should be checked. Rejects with a `DetectorError`, or with the signal's
   * reason.
   */
  readonly ask: (callModel: CallModel, signal: AbortSignal) => Promise<ProbeAnswer>;
}

export interface ProbeAnswer {
  readonly words: string;
  readonly isDoubtful: boolean;
}

/** Text without personal data. */
export const HARMLESS = "Good morning.";
