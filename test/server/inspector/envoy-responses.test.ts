// tier: long
/** A real Envoy calls the service for responses. Source: ext-proc reference, A.7, C.4. */
import { describeResponses, RESPONSE_MODES } from "./support/response-matrix.ts";

await describeResponses("envoy", RESPONSE_MODES);
