import type { Deployment } from "../core/config/index.ts";
import type { RecordedRequest } from "../core/rehearsal/index.ts";
import type { Snapshot } from "../snapshot/index.ts";

/** A configuration that requests are judged by. */
export interface Side {
  readonly snapshot: Snapshot;
  /** Document with references as written. */
  readonly document: Deployment;
  /** Guardrails cannot be judged: models that they need are not here. */
  readonly awaitsModels: boolean;
}

/** A key as the cluster stores it now. */
export interface KeyNow {
  readonly name: string;
  readonly profile: string | null;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Usage of a bucket of the configuration in force, in the window that is running. */
export interface BucketNow {
  readonly bucket: string;
  readonly windowMs: number;
  /** Milliseconds since 1970. */
  readonly windowStart: number;
  readonly used: number;
}

/** Records of one node. */
export interface NodeRecords {
  readonly node: string;
  /** Time since which each request that has ended is there, in milliseconds since 1970. */
  readonly since: number;
  readonly requests: readonly RecordedRequest[];
}
