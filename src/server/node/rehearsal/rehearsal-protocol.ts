/** Messages between the main thread and the thread of a rehearsal: one question, one answer. */
import type { PackedChunk } from "../../core/rehearsal/index.ts";
import type { CurrentBucket, CurrentKey, RehearsalResult } from "../../rehearsal/index.ts";
import type { TransferredInputs } from "../worker/index.ts";

/** Question to the thread. It contains secrets of the configuration, which must stay in this process. */
export interface RehearsalQuestion {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly inForce: TransferredInputs;
  readonly proposed: TransferredInputs;
  readonly nodes: readonly {
    readonly node: string;
    /** Time from which the node has records, in milliseconds since 1970. */
    readonly since: number;
    readonly chunks: readonly PackedChunk[];
  }[];
  readonly keys: readonly (readonly [id: string, key: CurrentKey])[];
  readonly buckets: readonly CurrentBucket[];
  /** Time of the reading, in milliseconds since 1970. */
  readonly now: number;
  /** Time before which requests are excluded, in milliseconds since 1970. */
  readonly since: number;
  /** Time limit of the work in milliseconds; the answer contains everything judged by then. */
  readonly timeoutMs: number;
}

export type RehearsalAnswer =
  | { readonly kind: "done"; readonly result: RehearsalResult }
  | { readonly kind: "fault"; readonly message: string };
