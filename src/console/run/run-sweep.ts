/** Runs the active guardrails over local data files, and reports the progress. */

import type { AdminClient } from "../../admin-api/index.ts";
import type { ConsolePorts } from "../model/ports.ts";
import type { Sweep } from "../model/sweep.ts";
import { documentsOf } from "../watch/local-trials.ts";

interface SweepRun {
  /** Flags and files as typed. */
  readonly argumentText: string;
  /** Id by which it is canceled. */
  readonly id: number;
}

interface SweepTools {
  readonly client: AdminClient;
  readonly ports: ConsolePorts;
  readonly signal: AbortSignal;
  report(sweep: Sweep): void;
  /** Returns the message of an error, without control characters. */
  wordsOf(error: unknown): string;
}

export async function runSweep(
  { argumentText, id }: SweepRun,
  { client, ports, signal, report, wordsOf }: SweepTools,
): Promise<void> {
  const running = (how: string): void => {
    if (!signal.aborted) report({ argumentText, state: { kind: "running", id, message: how } });
  };
  running("reading the configuration in force");
  try {
    const documents = await documentsOf(client, signal);
    const answer = await ports.documents.sweep(documents, argumentText, { signal, onProgress: running });
    report({
      argumentText,
      state: answer.kind === "done" ? answer : { kind: "failed", problems: answer.problems },
    });
  } catch (error) {
    const problems = [signal.aborted ? "it was stopped" : wordsOf(error)];
    report({ argumentText, state: { kind: "failed", problems } });
  }
}
