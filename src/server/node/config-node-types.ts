/** Interface of a node in config mode. */
import type { Log, LogTee } from "../../base/index.ts";
import type { NodeFile } from "../core/config/index.ts";
import type { BuildInfo } from "../telemetry/index.ts";
import type { NodeDocuments } from "./configuration/load-documents.ts";
import type { DataPlaneBounds } from "./start.ts";

export interface ConfigNodeOptions extends DataPlaneBounds {
  /** Documents without errors. */
  readonly documents: NodeDocuments & { readonly nodeFile: NodeFile };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Number of data plane processes; 1 means that the node process serves itself. */
  readonly workers: number;
  readonly build: BuildInfo;
  readonly log: Log;
  /** Tee of `log`; without it no log line is exported. */
  readonly tee?: LogTee | undefined;
  /** File descriptor that the audit trail is written to; 2 by default. */
  readonly auditFd?: number;
  /** Aborts a start that waits for a cluster. */
  readonly signal: AbortSignal;
}

export interface ConfigNode {
  /** Resolves when the node serves. Rejects with the failure that ended it before, or with `ConfigurationRefused`. */
  readonly serving: Promise<ServingNode>;
  /** Resolves with the failure that ended the node; never resolves after `close`. */
  readonly ended: Promise<Error>;
  /** Reloads, as on SIGHUP. */
  reload(): Promise<void>;
  /** Describes for a service manager whether the node serves, and its role in the cluster. */
  status(): string;
  /** Resolves once the state machine has answered. Rejects if it ended or `signal` aborts. */
  alive(signal: AbortSignal): Promise<void>;
}

export interface ServingNode {
  /** Data listener; `undefined` if there is nothing to route. */
  readonly listen: string | undefined;
  /** Address of the inspector; `undefined` if it is not configured. */
  readonly inspector: string | undefined;
  readonly metrics: string | undefined;
  readonly socket: string | undefined;
  /** Address of the admin listener. */
  readonly admin: string | undefined;
  readonly providers: readonly string[];
}
