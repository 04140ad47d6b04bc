/**
 * Upstreams: connections, attempts, retries and failover.
 *
 * - `http/`: HTTP/1.1 client
 * - `picker/`: endpoint pickers of inference pools
 * - `pools/`: members of an upstream, their names, health and order
 */

export type { ContainsCredential, PresentedCredential, Presenter, RequestCaller } from "../credentials/index.ts";
export { statusTrigger } from "./attempt-decision.ts";
export {
  type AttemptReport,
  type AttemptResult,
  type Candidate,
  type Candidates,
  type FailureKind,
  type ForwardOptions,
  isFailure,
} from "./candidates.ts";
export { failureText, fetchDocument } from "./fetch-document.ts";
export { forward } from "./forward.ts";
export { compileFrontedServer, type FrontedKind, type FrontedServer, forwardTargetOf } from "./fronted-server.ts";
export { headerValue } from "./header-value.ts";
export { type Origins, openOrigins } from "./origins.ts";
export { PassThrough } from "./pass-through.ts";
export { connectPicker } from "./picker/index.ts";
export { blockedKind, createNameResolver, ownListeners, type PoolMember, poolProblems } from "./pools/index.ts";
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
export type { PickerFeedback, Route, Server } from "./server.ts";
