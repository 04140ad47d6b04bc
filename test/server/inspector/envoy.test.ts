// tier: long
/** A real Envoy calls the service for requests. Source: ext-proc reference, C.4. */
import { describeRequests } from "./support/request-matrix.ts";

await describeRequests("envoy");
