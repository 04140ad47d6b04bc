/** Answer of a rehearsal, as shown to a caller. */
import type { RehearsalResult } from "../../admin-api/index.ts";
import type { HandlerCall } from "./handler-types.ts";

export const DEFAULT_SINCE_MS = 3_600_000;

/** Returns the result without ids of requests, unless the caller may list requests. */
export const withPermittedExamples = (may: HandlerCall<"rehearse">["may"], result: RehearsalResult): RehearsalResult =>
  may("list_requests") ? result : { ...result, examples: null };
