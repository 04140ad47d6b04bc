/**
 * All that the data plane needs of the rest of the node. Values could cross a process boundary: a snapshot is frozen,
 * counters only grow, nothing here waits for a disk or another node.
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
import type { FinishedSink } from "./finished.ts";
import type { UsageLedger } from "./metering/index.ts";
import type { DataplaneMetrics } from "./metrics.ts";
import type { Refusals } from "./refusals/index.ts";
import type { Responses } from "./responses/index.ts";
import type { Statistics } from "./statistics.ts";
import type { Tracing } from "./tracing.ts";

export interface Ports {
  /** The compiled configuration now in force. Listeners open only after the first one exists. */
  snapshot(): Snapshot;
  readonly origins: Origins;
  readonly presenter: Presenter;
  readonly admission: Admission;
  readonly metrics: DataplaneMetrics;
  readonly ownCards: OwnCards;
  readonly responses: Responses;
  /** Origins of pages that are served; absent: the operator names none. */
  readonly corsOrigins?: AllowedOrigins;
  /** Undefined in flag mode, which has no state: nobody is recognised, suspended, metered or recorded. */
  readonly governing?: Governing | undefined;
  /** Absent where nobody can ask for them: in flag mode, which has no admin plane. */
  readonly statistics?: Pick<Statistics, "of">;
  readonly refusals?: Pick<Refusals, "refused">;
  /** Likewise. */
  readonly finished?: FinishedSink;
  /** Absent where no change is rehearsed: in flag mode, or where `GATEWAY_REHEARSAL_MEMORY` is 0. */
  readonly decisions?: DecisionSink;
  /** Absent when traces are not exported. */
  readonly tracing?: Tracing | undefined;
  /** Milliseconds without a byte before a stream is kept alive; 0: never; `undefined`: the default. */
  readonly heartbeatMs?: number | undefined;
  readonly log: Log;
}

/** What stands before HTTP on the listener: TLS. Without one, HTTP is what comes first. */
export interface Door {
  /** A connection as it is accepted; `speak` is given what HTTP comes on, once it does. */
  accept(raw: Socket, speak: (socket: Socket) => void): void;
  /** What is answered in the place of the data plane; undefined: the request is its own. */
  judge(request: IncomingMessage): DoorAnswer | undefined;
}

export type DoorAnswer =
  | { readonly kind: "refused"; readonly refusal: GatewayError }
  /** Of a challenge of RFC 8555 section 8.3; undefined: none of ours. */
  | { readonly kind: "challenge"; readonly keyAuthorization: string | undefined | Promise<string | undefined> };

/** What governs requests and is not configuration: replicated state as this node has it, allowances, the trail. */
export interface Governing {
  readonly callers: Callers;
  /** `url` of an entry of the node file's `issuers`, as it was last read. */
  issuerUrl(name: string): string | undefined;
  readonly suspensions: Suspensions;
  /** Whether the cluster has removed this node, so that nothing is served by what it knows. */
  isRemoved(): boolean;
  /**
   * Called after keys, suspensions or `isRemoved` have changed: a caller who was let in may not be allowed any more.
   * Returns the way to end it.
   */
  onWithdrawal(listener: () => void): () => void;
  readonly budgets: Budgets;
  readonly trail: DecisionTrail;
  /** Absent where nobody keeps one. */
  readonly ledger?: UsageLedger;
}

export type SuspendedKind = "provider" | "key" | "profile" | "model" | "mcp" | "a2a" | "issuer";

export interface Suspension {
  readonly reason: string;
  /** First millisecond, since 1970, at which it does not hold any more; null: until lifted. */
  readonly until: number | null;
}

/** Local, and as new as this node's applied log. One whose time is over is none. */
export interface Suspensions {
  /** False: nothing is suspended, and nothing need be asked. */
  readonly any: boolean;
  of(kind: SuspendedKind, name: string): Suspension | undefined;
  /** The time that `until` is compared with, in milliseconds since 1970. */
  now(): number;
}

/** A request that a rule decided. Nothing here is a prompt, a credential or a header's value but the request's id. */
export interface DecisionRecord {
  readonly event: "access.decision" | "guardrail.decision" | "guardrail.shadow";
  readonly controls: readonly string[];
  readonly data: RecordData;
  /** Of records that differ only in `request`, a member of `data`: the object that is the same for all of them. */
  readonly prepared?: PreparedRecord | undefined;
}

export interface PreparedRecord {
  /** The trail keeps in it what it made of the first of them. */
  readonly template: { parts?: { readonly before: string; readonly after: string } };
  readonly request: string;
}

export interface DecisionTrail {
  /** Throws `audit_unavailable` when it cannot be recorded: the request is refused then. */
  decided(record: DecisionRecord): void;
  /** Sampled to 10 a second, the rest is counted. Never throws. */
  notRecognised(data: Readonly<Record<string, string | null>>): void;
}
