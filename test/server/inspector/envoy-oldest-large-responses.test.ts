// tier: long
/**
 * Responses of 20 MB through the oldest maintained Envoy. Runs with `INSPECTOR_MATRIX=full`. Source: ext-proc
 * reference, C.4.
 */
import { describeLargeResponses } from "./support/large-matrix.ts";

await describeLargeResponses("envoy-oldest");
