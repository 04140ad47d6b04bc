/** Cross-origin requests of browser pages: which are served, and which headers let the page read the answer. */

export { NO_CORS_ORIGINS, readOrigin } from "./allowed-origins.ts";
export {
  type AllowedOrigins,
  type Arrival,
  type CrossOriginDecision,
  decideCrossOrigin,
} from "./decide-cross-origin.ts";
export { isPreflight, type PreflightTerms, preflightHeaders } from "./preflight.ts";
