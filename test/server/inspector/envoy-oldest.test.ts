// tier: long
/**
 * The oldest maintained Envoy: all requests, and those response modes that its successors changed, which are overrides
 * and duplex. `INSPECTOR_MATRIX=full` adds the others. Source: ext-proc reference, A.10, C.4.
 */
import { describeRequests } from "./support/request-matrix.ts";
import { describeResponses, RESPONSE_MODES } from "./support/response-matrix.ts";

const IS_FULL = process.env["INSPECTOR_MATRIX"] === "full";

await describeRequests("envoy-oldest");
await describeResponses(
  "envoy-oldest",
  RESPONSE_MODES.filter(({ request }) => IS_FULL || request !== "streamed"),
);
