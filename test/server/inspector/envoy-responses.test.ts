// tier: long
/** A real Envoy asks the service about responses. Source: ext-proc reference, A.7, C.4. */
import { describeResponses, RESPONSE_MODES } from "./support/response-matrix.ts";

await describeResponses("envoy", RESPONSE_MODES);
