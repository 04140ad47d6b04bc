// tier: long
/** Requests of 20 MB through both versions of Envoy. Runs with `INSPECTOR_MATRIX=full`. Source: ext-proc reference, C.4. */
import { describeLargeRequests } from "./support/large-matrix.ts";

await describeLargeRequests("envoy");
await describeLargeRequests("envoy-oldest");
