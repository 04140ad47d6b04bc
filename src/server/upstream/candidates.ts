/** Who may be asked, in order, and what is told of each attempt. */
import type { AttemptTracer } from "../../base/index.ts";
import type { ActingFor, Bearing, Presenter } from "../credentials/index.ts";
import type { Origins } from "./origins.ts";
import type { Downstream, UpstreamRequest } from "./ports.ts";
import type { Provider, Trigger, UpstreamChannel } from "./provider.ts";
import type { SaidError } from "./said-error.ts";

/** Whom attempts are made at: what of a provider, a server or an agent matters to them. */
export type Forwarded = Pick<Provider, "name" | "firstByteTimeoutMs" | "retry"> & {
  /** As a refusal calls it; undefined: a provider. */
  readonly noun?: string;
};

export type ForwardedChannel = Pick<UpstreamChannel, "id" | "origin" | "host" | "shownOrigin" | "credential"> & {
  readonly pool?: UpstreamChannel["pool"];
};

export interface Candidate<To extends Forwarded = Provider, By extends ForwardedChannel = UpstreamChannel> {
  readonly provider: To;
  readonly channel: By;
  /** As this provider is sent it; empty where the request names none. */
  readonly model: string;
  /** The part of a pool that it is confined to; undefined: none. */
  readonly subset?: string | undefined;
  /** Made when the candidate's turn comes, since most requests never reach the second. */
  readonly prepare: () => Prepared;
}

export interface Prepared {
  readonly request: UpstreamRequest;
  readonly downstream: Downstream;
  /** Its answer is to be read: content encodings are taken off. */
  readonly decodes: boolean;
  /** An error is looked for within an answer of status 200. */
  readonly looksInside: boolean;
  /** That error becomes an answer of its own status; otherwise it passes as it came. */
  readonly mapsErrors: boolean;
  /** The answer is JSON or events: it is told as what it is, whatever its content type says. Needs `looksInside`. */
  readonly retypes: boolean;
}

/** Who is asked, in order, counted from 0. All but the first are admitted when needed, since most requests need none. */
export interface Candidates<One = Candidate> {
  /** Undefined: there is none. There is a first one. */
  at(position: number): One | undefined;
  /** False: `at` answers undefined. */
  mayHave(position: number): boolean;
  /** Triggers of the provider that the request was addressed to, be it the first or one that is passed over. */
  readonly failoverWhen: ReadonlySet<Trigger> | undefined;
}

/** `invalid`: what came is no answer; `redirect`: the answer sends the client elsewhere. */
export type FailureKind = Trigger | "invalid" | "redirect";

/** `refused`: there is nothing that could be presented for this caller, so that nothing was done. */
export type AttemptResult = "answered" | FailureKind | "abandoned" | "refused";

/** The upstream failed, or could not be asked. */
export const isFailure = (result: AttemptResult): result is FailureKind =>
  result !== "answered" && result !== "abandoned" && result !== "refused";

export interface Attempted {
  readonly result: AttemptResult;
  /** Null where no answer came. */
  readonly status: number | null;
  /** Who is to be asked next, the same provider for a retry. */
  readonly next: Forwarded | undefined;
  /** Milliseconds from the attempt's begin to its failure; 0 for one that did not fail. */
  readonly failedAfterMs: number;
  /** What the provider said of its error, of an answer that is not delivered only later; undefined: there was none. */
  readonly error: { readonly said: SaidError } | undefined;
  /** Why an answer could not be used, in words that quote nothing of it; empty where that is not the failure. */
  readonly reason: string;
  /** Its answer of status 200 was an error. */
  readonly hasErred: boolean;
  /** The gateway's own timeout ended it once the request was out. */
  readonly hasTimedOut: boolean;
}

export interface ForwardOptions<One extends Candidate<Forwarded, ForwardedChannel> = Candidate> {
  readonly candidates: Candidates<One>;
  /** Milliseconds from now that the client said it would wait; infinite where it said nothing. */
  readonly deadlineMs: number;
  readonly origins: Pick<Origins, "route">;
  /** By which others may tell what they logged of the request. */
  readonly requestId?: string | undefined;
  readonly presenter: Presenter;
  /** Whom what is presented may depend on. */
  readonly actingFor?: ActingFor | undefined;
  /** Told before each request goes out what tells the headers of its answer that show our credential. */
  readonly presented: (bears: Bearing | undefined) => void;
  readonly downstream: Downstream;
  /** Told of each attempt as it begins, so that the answer's headers can say how many there were and where. */
  readonly attempting: (candidate: One, isRetry: boolean) => void;
  /** Told when an answer that is no failure begins to reach the client, so many milliseconds after its attempt began. */
  readonly answered: (ms: number) => void;
  /** Told before an answer begins whose content encoding is taken off. */
  readonly decoding?: () => void;
  readonly attempted: (provider: One["provider"], outcome: Attempted) => void;
  /** Milliseconds spent waiting for upstreams or between attempts: none of it is ours. */
  readonly waited: (ms: number) => void;
  /** Milliseconds that an answer is held for its first event; 0: without limit. */
  readonly holdMs: number;
  /** Redirects are answers like any other; false: they are refused. */
  readonly passesRedirects: boolean;
  /** Undefined when nobody traces. */
  readonly tracer: AttemptTracer | undefined;
}

export type AnyCandidate = Candidate<Forwarded, ForwardedChannel>;
