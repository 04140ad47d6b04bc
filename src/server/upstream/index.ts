/**
 * Upstreams: connections, attempts, retries and failover.
 *
 * - `http/`: HTTP/1.1 client
 * - `picker/`: endpoint pickers of inference pools
 * - `pools/`: members of an upstream, their names, health and order
 */

export type {
  ContainsCredential,
  Credential,
  PresentedCredential,
  Presenter,
  RequestCaller,
} from "../credentials/index.ts";
export { statusTrigger } from "./attempt-outcome.ts";
export {
  type Attempted,
  type AttemptResult,
  type Candidate,
  type Candidates,
  type FailureKind,
  type Forwarded,
  type ForwardOptions,
  isFailure,
} from "./candidates.ts";
export { type DocumentRequest, type FetchedDocument, failureText, fetchDocument } from "./fetch-document.ts";
export { forward } from "./forward.ts";
export {
  compileFronted,
  type Fronted,
  type FrontedChannel,
  type FrontedKind,
  forwardedTo,
} from "./fronted.ts";
export { headerValue } from "./header-value.ts";
export { type Destination, type OriginOptions, type Origins, openOrigins } from "./origins.ts";
export { PassThrough } from "./pass-through.ts";
export { connectPicker } from "./picker/index.ts";
export {
  blockedKind,
  createNameResolver,
  ownListeners,
  type PoolMember,
  type PoolSpec,
  poolProblems,
} from "./pools/index.ts";
export type { Downstream, UpstreamRequest } from "./ports.ts";
export {
  compileProvider,
  matcher,
  type Provider,
  type RetryPolicy,
  type Trigger,
  type UpstreamChannel,
} from "./provider.ts";
export type { ProviderError } from "./provider-error.ts";
export type { PickerFeedback, Route, Routed, Server } from "./server.ts";
