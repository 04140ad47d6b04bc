/** The face of a node in config mode. */
import type { Log, LogTee } from "../../base/index.ts";
import type { NodeFile } from "../core/config/index.ts";
import type { BuildInfo } from "../telemetry/index.ts";
import type { NodeDocuments } from "./load.ts";
import type { DataPlaneBounds } from "./start.ts";

export interface ConfigNodeOptions extends DataPlaneBounds {
  /** Sound. */
  readonly documents: NodeDocuments & { readonly nodeFile: NodeFile };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Processes of the data plane; 1: it is served by the node's own. */
  readonly workers: number;
  readonly build: BuildInfo;
  readonly log: Log;
  /** Of `log`; without it no log line is exported. */
  readonly tee?: LogTee | undefined;
  /** File descriptor that the audit trail is written to; 2 when left out. */
  readonly auditFd?: number;
  /** Ends a start that waits for a cluster. */
  readonly signal: AbortSignal;
}

export interface ConfigNode {
  /** Serving. Rejects with what ended the node before, or with `ConfigurationRefused`. */
  readonly serving: Promise<ServingNode>;
  /** Resolves with what ended it by itself, and never after it was closed. */
  readonly ended: Promise<Error>;
  /** As SIGHUP asks. */
  reload(): Promise<void>;
}

export interface ServingNode {
  /** Undefined: there is nothing to route. */
  readonly listen: string | undefined;
  /** Undefined where it is not asked for. */
  readonly inspector: string | undefined;
  readonly metrics: string | undefined;
  readonly socket: string | undefined;
  /** Of the admin API on the network. */
  readonly admin: string | undefined;
  readonly providers: readonly string[];
}
