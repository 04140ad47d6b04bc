import type { Deployment } from "../core/config/index.ts";
import type { RecordedRequest } from "../core/rehearsal/index.ts";
import type { Snapshot } from "../snapshot/index.ts";

/** Configuration that requests are judged by. */
export interface ConfigurationSide {
  readonly snapshot: Snapshot;
  /** Document with references as written. */
  readonly document: Deployment;
  /** True if guardrails cannot be judged because models they need are not on this node. */
  readonly awaitsModels: boolean;
}

/** Key as the cluster stores it now. */
export interface CurrentKey {
  readonly name: string;
  readonly profile: string | null;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Usage of a bucket of the configuration in force, in the current window. */
export interface CurrentBucket {
  readonly bucket: string;
  readonly windowMs: number;
  /** Start of the window, in milliseconds since 1970. */
  readonly windowStart: number;
  readonly used: number;
}

/** Recorded requests of one node. */
export interface NodeRecords {
  readonly node: string;
  /** Time since which every ended request is included, in milliseconds since 1970. */
  readonly since: number;
  readonly requests: readonly RecordedRequest[];
}
