/** Writes the `traceparent` header into the headers of an attempt. Source: W3C Trace Context, sections 3.2 to 4.3. */

import { type SpanContext, TraceFlags } from "@opentelemetry/api";

export function traceparentOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${(traceFlags & TraceFlags.SAMPLED) === 0 ? "00" : "01"}`;
}

/**
 * Returns header pairs with the client's `traceparent` replaced. `isContinued`: the client's own header could be read; otherwise
 * its `tracestate` belongs to no trace and is dropped.
 */
export function carryContext(headers: readonly string[], traceparent: string, isContinued: boolean): string[] {
  const carried: string[] = [];
  let isPlaced = false;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string;
    if (name.length === 11 && name.toLowerCase() === "traceparent") {
      if (!isPlaced) carried.push(name, traceparent);
      isPlaced = true;
      continue;
    }
    if (!isContinued && name.length === 10 && name.toLowerCase() === "tracestate") continue;
    carried.push(name, headers[i + 1] as string);
  }
  if (!isPlaced) carried.push("traceparent", traceparent);
  return carried;
}
