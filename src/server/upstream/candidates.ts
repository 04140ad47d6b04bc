/** Candidates of a request, in order, and the reports about each attempt. */
import type { AttemptTracer } from "../../base/index.ts";
import type { ActingFor, Bearing, Presenter } from "../credentials/index.ts";
import type { Origins } from "./origins.ts";
import type { Downstream, UpstreamRequest } from "./ports.ts";
import type { Provider, Trigger, UpstreamChannel } from "./provider.ts";
import type { ProviderError } from "./provider-error.ts";

/** Fields of an upstream that an attempt needs. */
export type Forwarded = Pick<Provider, "name" | "firstByteTimeoutMs" | "retry"> & {
  /** Name in a refusal; `undefined` for a provider. */
  readonly noun?: string;
};

export type ForwardedChannel = Pick<UpstreamChannel, "id" | "origin" | "host" | "shownOrigin" | "credential"> & {
  readonly pool?: UpstreamChannel["pool"];
};

export interface Candidate<To extends Forwarded = Provider, By extends ForwardedChannel = UpstreamChannel> {
  readonly provider: To;
  readonly channel: By;
  /** Model name that is sent to this provider; empty if the request names none. */
  readonly model: string;
  /** Part of a pool that it is limited to; `undefined` for none. */
  readonly subset?: string | undefined;
  /** Prepares the request when the candidate is reached, since most requests never reach the second. */
  readonly prepare: () => Prepared;
}

export interface Prepared {
  readonly request: UpstreamRequest;
  readonly downstream: Downstream;
  /** The gateway reads the answer: content encodings are decoded. */
  readonly decodes: boolean;
  /** The gateway looks for an error within an answer of status 200. */
  readonly looksInside: boolean;
  /** True if an error within a 200 becomes an answer with its own status; otherwise it passes unchanged. */
  readonly mapsErrors: boolean;
  /** The answer is JSON or events: its content type is corrected to the actual form. Needs `looksInside`. */
  readonly retypes: boolean;
}

/** Candidates in order, counted from 0. All but the first are admitted when needed, since most requests need no other. */
export interface Candidates<One = Candidate> {
  /** Returns `undefined` past the last candidate. There is always a first. */
  at(position: number): One | undefined;
  /** Returns false if `at` would return `undefined`. */
  mayHave(position: number): boolean;
  /** Failover triggers of the provider that the request addresses, whether it is first or skipped. */
  readonly failoverWhen: ReadonlySet<Trigger> | undefined;
}

/** `invalid` means that the response is not valid HTTP; `redirect` means that the answer sends the client elsewhere. */
export type FailureKind = Trigger | "invalid" | "redirect";

/** `refused` means that there is no credential for this caller, so that nothing was sent. */
export type AttemptResult = "answered" | FailureKind | "abandoned" | "refused";

/** Returns whether the upstream failed, or could not be reached. */
export const isFailure = (result: AttemptResult): result is FailureKind =>
  result !== "answered" && result !== "abandoned" && result !== "refused";

export interface Attempted {
  readonly result: AttemptResult;
  /** Null if no answer came. */
  readonly status: number | null;
  /** Upstream to try next; the same provider for a retry. */
  readonly next: Forwarded | undefined;
  /** Milliseconds from the start of the attempt to its failure; 0 if it did not fail. */
  readonly failedAfterMs: number;
  /**
   * Type and code of the provider's error; for a delivered answer they are known only later. `undefined` if there was no error.
   */
  readonly error: { readonly said: ProviderError } | undefined;
  /** Reason why an answer could not be used, without quoting it; empty for other failures. */
  readonly reason: string;
  /** An answer of status 200 that contains an error. */
  readonly hasErred: boolean;
  /** The gateway's own timeout ended it after the request was sent. */
  readonly hasTimedOut: boolean;
}

export interface ForwardOptions<One extends Candidate<Forwarded, ForwardedChannel> = Candidate> {
  readonly candidates: Candidates<One>;
  /** Timeout that the client announced, in milliseconds from now; infinite if it announced none. */
  readonly deadlineMs: number;
  readonly origins: Pick<Origins, "route">;
  /** Identifier by which upstream logs of the request can be found. */
  readonly requestId?: string | undefined;
  readonly presenter: Presenter;
  /** Caller that the presented credential may depend on. */
  readonly actingFor?: ActingFor | undefined;
  /** Called before each request is sent, with the check for headers of its answer that reveal our credential. */
  readonly presented: (bears: Bearing | undefined) => void;
  readonly downstream: Downstream;
  /** Called at the start of each attempt, so that the answer's headers can report how many there were and where. */
  readonly attempting: (candidate: One, isRetry: boolean) => void;
  /** Called when a successful answer begins to reach the client; `ms` is the time since its attempt began. */
  readonly answered: (ms: number) => void;
  /** Called before an answer begins whose content encoding is decoded. */
  readonly decoding?: () => void;
  readonly attempted: (provider: One["provider"], outcome: Attempted) => void;
  /** Milliseconds of waiting for upstreams or between attempts, which are not the gateway's own time. */
  readonly waited: (ms: number) => void;
  /** Maximum time in milliseconds that an answer is held back for its first event; 0 for no limit. */
  readonly holdMs: number;
  /** True if redirects are passed on like other answers; false if they are refused. */
  readonly passesRedirects: boolean;
  /** `undefined` if tracing is off. */
  readonly tracer: AttemptTracer | undefined;
}

export type AnyCandidate = Candidate<Forwarded, ForwardedChannel>;
