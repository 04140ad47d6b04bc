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
export { statusTrigger } from "./attempt-decision.ts";
export {
  type AttemptReport,
  type AttemptResult,
  type Candidate,
  type Candidates,
  type FailureKind,
  type ForwardOptions,
  type ForwardTarget,
  isFailure,
} from "./candidates.ts";
export { type DocumentRequest, type FetchedDocument, failureText, fetchDocument } from "./fetch-document.ts";
export { forward } from "./forward.ts";
export {
  compileFrontedServer,
  type FrontedChannel,
  type FrontedKind,
  type FrontedServer,
  forwardTargetOf,
} from "./fronted-server.ts";
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
  modelMatcher,
  type Provider,
  type RetryPolicy,
  type Trigger,
  type UpstreamChannel,
} from "./provider.ts";
export type { ProviderError } from "./provider-error.ts";
export { retryAfterMs } from "./retry-policy.ts";
export type { PickerFeedback, Route, Routed, Server } from "./server.ts";
