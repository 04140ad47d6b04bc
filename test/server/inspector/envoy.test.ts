// tier: long
/** A real Envoy asks the service about requests. Source: ext-proc reference, C.4. */
import { describeRequests } from "./support/request-matrix.ts";

await describeRequests("envoy");
