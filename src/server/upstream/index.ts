export { headerValue, type UpstreamRequest } from "./attempt.ts";
export {
  type Attempted,
  type AttemptResult,
  type Candidate,
  type Candidates,
  type ForwardOptions,
  forward,
  statusTrigger,
} from "./forward.ts";
export { type OriginOptions, type Origins, openOrigins } from "./origins.ts";
export type { AttemptSpan, AttemptTracer, Downstream, StartedAttempt } from "./ports.ts";
export {
  compileProvider,
  matcher,
  type Provider,
  type RetryPolicy,
  type Trigger,
  type UpstreamChannel,
} from "./provider.ts";
export type { SaidError } from "./said-error.ts";
