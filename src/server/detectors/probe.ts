/** A server or judge that a detector depends on, asked to answer: what `gateway check` tells of it. */
import type { CallModel } from "./ports.ts";

export interface DetectorProbe {
  readonly detector: string;
  /** What its server is asked with, beside a text; a stand-in of a sealed secret in it would be presented. */
  readonly presents: string;
  /** Through which a judge is asked, with its credentials; undefined: no judge. */
  readonly provider?: string;
  /** `isDoubtful`: it answers, and something should be looked at. Rejects with a `DetectorError`, or with the signal's reason. */
  readonly ask: (callModel: CallModel, signal: AbortSignal) => Promise<ProbeAnswer>;
}

export interface ProbeAnswer {
  readonly words: string;
  readonly isDoubtful: boolean;
}

/** Of nobody. */
export const HARMLESS = "Good morning.";
