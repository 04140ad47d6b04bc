export { headerValue, type UpstreamRequest } from "./attempt.ts";
export { type AttemptResult, type Candidate, type ForwardOptions, forward } from "./forward.ts";
export { type OriginOptions, type Origins, openOrigins } from "./origins.ts";
export type { Downstream } from "./ports.ts";
export {
  compileProvider,
  matcher,
  type Provider,
  type RetryPolicy,
  type Trigger,
  type UpstreamChannel,
} from "./provider.ts";
