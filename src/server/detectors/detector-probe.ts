/** Test call to the server or judge that a detector depends on, for `gateway check`. */
import type { CallModel } from "./ports.ts";

export interface DetectorProbe {
  readonly detector: string;
  /**
   * Address and headers that the detector sends besides a text. The check looks for stand-ins of sealed secrets in
   * them, which would be sent unchanged.
   */
  readonly presents: string;
  /** Name of the provider that serves a judge, with its credentials; `undefined` for other detectors. */
  readonly provider?: string;
  /**
   * Makes the call. `isDoubtful` means that the server answers, but something should be checked. Rejects with a
   * `DetectorError`, or with the signal's reason.
   */
  readonly ask: (callModel: CallModel, signal: AbortSignal) => Promise<ProbeAnswer>;
}

export interface ProbeAnswer {
  readonly message: string;
  readonly isDoubtful: boolean;
}

/** Text without personal data. */
export const HARMLESS = "Good morning.";
