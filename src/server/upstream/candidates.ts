/** Defines the candidates of a request, in order, and the reports about each attempt. */
import type { AttemptTracer } from "../../base/index.ts";
import type { ContainsCredential, Presenter, RequestCaller } from "../credentials/index.ts";
import type { Origins } from "./origins.ts";
import type { Downstream, UpstreamRequest } from "./ports.ts";
import type { Provider, Trigger, UpstreamChannel } from "./provider.ts";
import type { ProviderError } from "./provider-error.ts";

/** Fields of an upstream that an attempt needs. */
export type ForwardTarget = Pick<Provider, "name" | "firstByteTimeoutMs" | "retry"> & {
  /** Name of the upstream in a refusal; `undefined` for a provider. */
  readonly noun?: string;
};

type TargetChannel = Pick<UpstreamChannel, "id" | "origin" | "host" | "shownOrigin" | "credential"> & {
  readonly pool?: UpstreamChannel["pool"];
};

export interface Candidate<To extends ForwardTarget = Provider, By extends TargetChannel = UpstreamChannel> {
  readonly provider: To;
  readonly channel: By;
  /** Model name that is sent to this provider; empty if the request names none. */
  readonly model: string;
  /** Subset of the pool that the request is limited to; `undefined` for the whole pool. */
  readonly subset?: string | undefined;
  /** Prepares the request. It is called when the candidate is reached, because most requests never need the second one. */
  readonly prepare: () => Prepared;
}

interface Prepared {
  readonly request: UpstreamRequest;
  readonly downstream: Downstream;
  /** Whether the gateway reads the answer and decodes its content encodings. */
  readonly decodes: boolean;
  /** Whether the gateway looks for an error within an answer of status 200. */
  readonly checksForError: boolean;
  /** Whether an error within an answer of status 200 becomes an answer with its own status; otherwise it passes unchanged. */
  readonly mapsErrors: boolean;
  /** Whether the answer is JSON or events, so that its content type is corrected to the actual form. Requires `checksForError`. */
  readonly correctsContentType: boolean;
}

/** Candidates in order, counted from 0. All but the first are admitted when needed, because most requests need no other. */
export interface Candidates<One = Candidate> {
  /** Returns the candidate at a position, or `undefined` past the last one. There is always a first. */
  at(position: number): One | undefined;
  /** Returns false if `at` returns `undefined` for the position. */
  mayExist(position: number): boolean;
  /** Failover triggers of the addressed provider, whether it is the first candidate or was skipped. */
  readonly failoverWhen: ReadonlySet<Trigger> | undefined;
}

/** Kind of failure. `invalid`: the response is not valid HTTP. `redirect`: the answer sends the client elsewhere. */
export type FailureKind = Trigger | "invalid" | "redirect";

/** Result of an attempt. `refused`: there is no credential for this caller, so nothing was sent. */
export type AttemptResult = "answered" | FailureKind | "abandoned" | "refused";

/** Returns whether the upstream failed or could not be reached. */
export const isFailure = (result: AttemptResult): result is FailureKind =>
  result !== "answered" && result !== "abandoned" && result !== "refused";

export interface AttemptReport {
  readonly result: AttemptResult;
  /** Status of the answer; `null` if there was none. */
  readonly status: number | null;
  /** Upstream to try next; the same provider for a retry. */
  readonly nextTarget: ForwardTarget | undefined;
  /** Milliseconds from the start of the attempt to its failure; 0 if it did not fail. */
  readonly failedAfterMs: number;
  /** Type and code of the provider's error, which are known late for a delivered answer; `undefined` without an error. */
  readonly error: { readonly reported: ProviderError } | undefined;
  /** Reason why an answer could not be used; empty for other failures. It quotes nothing from the answer. */
  readonly reason: string;
  /** Whether the answer has status 200 but contains an error. */
  readonly hasEmbeddedError: boolean;
  /** Whether the gateway's own timeout ended the attempt after the request was sent. */
  readonly hasTimedOut: boolean;
}

export interface ForwardOptions<One extends Candidate<ForwardTarget, TargetChannel> = Candidate> {
  readonly candidates: Candidates<One>;
  /** Timeout that the client has announced, in milliseconds from now; infinite if it announced none. */
  readonly deadlineMs: number;
  readonly origins: Pick<Origins, "route">;
  /** Identifier by which upstream logs of the request can be found. */
  readonly requestId?: string | undefined;
  readonly presenter: Presenter;
  /** Caller that the presented credential may depend on. */
  readonly tokenExchangeCaller?: RequestCaller | undefined;
  /** Called before each request is sent, with the check for headers of its answer that reveal the gateway's credential. */
  readonly onPresented: (containsCredential: ContainsCredential | undefined) => void;
  readonly downstream: Downstream;
  /**
   * Called at the start of each attempt, so that the answer's headers can state how many attempts there were and at which
   * upstream.
   */
  readonly onAttempt: (candidate: One, isRetry: boolean) => void;
  /** Called when a successful answer begins to reach the client. `ms`: time since its attempt began. */
  readonly onAnswer: (ms: number) => void;
  /** Called before an answer begins whose content encoding is decoded. */
  readonly onDecoding?: () => void;
  readonly onAttemptEnd: (provider: One["provider"], outcome: AttemptReport) => void;
  /** Receives the milliseconds spent waiting for upstreams or between attempts, which are not overhead of the gateway. */
  readonly onWait: (ms: number) => void;
  /** Maximum time in milliseconds that an answer is held back for its first event; 0 for no limit. */
  readonly holdMs: number;
  /** Whether redirects are passed on like other answers; otherwise they are refused. */
  readonly passesRedirects: boolean;
  /** Tracer of attempts; `undefined` if tracing is off. */
  readonly tracer: AttemptTracer | undefined;
}

export type AnyCandidate = Candidate<ForwardTarget, TargetChannel>;
