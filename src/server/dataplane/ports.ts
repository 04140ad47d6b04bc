/**
 * Defines everything that the data plane needs from the rest of the node. The values could cross a process boundary: a snapshot
 * is frozen, counters only grow, and nothing waits for a disk or another node.
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { GatewayError, Log } from "../../base/index.ts";
import type { Callers } from "../auth/index.ts";
import type { AllowedOrigins } from "../core/cross-origin/index.ts";
import type { RecordData } from "../core/guardrails/index.ts";
import type { Admission } from "../memory/index.ts";
import type { Snapshot } from "../snapshot/index.ts";
import type { Origins, Presenter } from "../upstream/index.ts";
import type { Budgets } from "./budgets/index.ts";
import type { DecisionSink } from "./decision-trace.ts";
import type { OwnCards } from "./discovery/own-cards.ts";
import type { UsageLedger } from "./metering/index.ts";
import type { DataplaneMetrics } from "./metrics.ts";
import type { Refusals } from "./refusals/index.ts";
import type { SummarySink } from "./request-summary.ts";
import type { Responses } from "./responses/index.ts";
import type { Statistics } from "./statistics.ts";
import type { Tracing } from "./tracing.ts";

export interface Ports {
  /** Returns the compiled configuration in force. Listeners open only after the first one exists. */
  snapshot(): Snapshot;
  readonly origins: Origins;
  readonly presenter: Presenter;
  readonly admission: Admission;
  readonly metrics: DataplaneMetrics;
  readonly ownCards: OwnCards;
  readonly responses: Responses;
  /** Origins of browser pages that are allowed; absent if the operator configured none. */
  readonly corsOrigins?: AllowedOrigins;
  /**
   * Replicated state and audit trail; `undefined` in flag mode, which has no state: callers are not authenticated, suspended,
   * metered or recorded.
   */
  readonly governancePorts?: GovernancePorts | undefined;
  /** Statistics of providers; absent in flag mode, which has no admin API to read them. */
  readonly statistics?: Pick<Statistics, "of">;
  readonly refusals?: Pick<Refusals, "refused">;
  /** Receiver of request summaries; absent in flag mode. */
  readonly finished?: SummarySink;
  /** Receiver of decision traces; absent if changes are not rehearsed: in flag mode, or if `GATEWAY_REHEARSAL_MEMORY` is 0. */
  readonly decisions?: DecisionSink;
  /** Tracing; absent if traces are not exported. */
  readonly tracing?: Tracing | undefined;
  /** Milliseconds of silence after which a heartbeat is sent on a stream; 0 for never, `undefined` for the default. */
  readonly heartbeatMs?: number | undefined;
  readonly log: Log;
}

/** Layer below HTTP on the listener, for TLS. Without it the listener speaks plain HTTP. */
export interface TlsLayer {
  /** Handles an accepted connection. Calls `onReady` with the socket for HTTP. */
  accept(raw: Socket, onReady: (socket: Socket) => void): void;
  /** Returns the answer to send instead of the data plane's, or `undefined` if the data plane must serve the request. */
  intercept(request: IncomingMessage): TlsLayerAnswer | undefined;
}

export type TlsLayerAnswer =
  | { readonly kind: "refused"; readonly refusal: GatewayError }
  /** ACME challenge (RFC 8555, section 8.3). `keyAuthorization` is `undefined` if the challenge is unknown to this cluster. */
  | { readonly kind: "challenge"; readonly keyAuthorization: string | undefined | Promise<string | undefined> };

/**
 * State that governs requests and is not configuration: replicated state as known by this node, budget allowances and the audit
 * trail.
 */
export interface GovernancePorts {
  readonly callers: Callers;
  /** Returns the `url` of an entry of the node file's `issuers`, as it was last read. */
  issuerUrl(name: string): string | undefined;
  readonly suspensions: Suspensions;
  /** Returns whether the cluster has removed this node, whose state must then not be used to serve requests. */
  isRemoved(): boolean;
  /**
   * Registers a listener for changes of keys, suspensions or `isRemoved`, after which an admitted caller may no longer be
   * allowed. Returns a function that removes it.
   */
  onWithdrawal(listener: () => void): () => void;
  readonly budgets: Budgets;
  readonly trail: DecisionTrail;
  /** Usage ledger; absent if none is kept. */
  readonly ledger?: UsageLedger;
}

export type SuspendedKind = "provider" | "key" | "profile" | "model" | "mcp" | "a2a" | "issuer";

export interface Suspension {
  readonly reason: string;
  /** First millisecond, since 1970, at which the suspension no longer applies; `null` until it is lifted. */
  readonly until: number | null;
}

/** Suspensions in effect according to the part of the log that this node has applied. Expired ones are not included. */
export interface Suspensions {
  /** False if nothing is suspended, so that lookups can be skipped. */
  readonly any: boolean;
  of(kind: SuspendedKind, name: string): Suspension | undefined;
  /** Returns the time that `until` is compared with, in milliseconds since 1970. */
  now(): number;
}

/** Decision of a rule on a request. It contains no prompt, no credential and no header value but the request's id. */
export interface DecisionRecord {
  readonly event: "access.decision" | "guardrail.decision" | "guardrail.shadow";
  readonly controls: readonly string[];
  readonly data: RecordData;
  /** Template of the record; set for records that differ only in `request`, a member of `data`. */
  readonly prepared?: PreparedRecord | undefined;
}

export interface PreparedRecord {
  /** Object shared by all records of the template. The trail caches in it the serialized form of the first one. */
  readonly template: { parts?: { readonly before: string; readonly after: string } };
  readonly request: string;
}

export interface DecisionTrail {
  /** Records a decision. Throws `audit_unavailable` if it cannot be recorded; the request is then refused. */
  record(record: DecisionRecord): void;
  /** Records up to 10 failed authentications per second and counts the rest. Never throws. */
  recordFailedAuthentication(data: Readonly<Record<string, string | null>>): void;
}
