/** One attempt, from the choice of a server on: where a pool's picker is asked it may end there. */

import type { Destination, Origins } from "./origins.ts";
import { type PickerAnswer, withModel } from "./picker/index.ts";
import type { Downstream, UpstreamRequest } from "./ports.ts";
import { attemptPresenting, type PresentedOutcome, type PresentingOptions, whileThere } from "./present.ts";

export interface RoutedTo {
  readonly origins: Pick<Origins, "route">;
  readonly channel: Destination;
  readonly subset: string | undefined;
  readonly requestId: string | undefined;
}

export async function attemptRouted(
  { origins, channel, subset, requestId }: RoutedTo,
  request: UpstreamRequest,
  downstream: Downstream,
  options: PresentingOptions,
): Promise<PresentedOutcome> {
  const routed = origins.route(channel, subset, { request, requestId });
  const found = routed instanceof Promise ? await whileThere(routed, downstream, options.waited) : routed;
  if (found === undefined) {
    // Whoever picks may still be at it.
    void Promise.resolve(routed).then((late) => late.kind === "route" && late.watch?.ended(true));
    return { kind: "abandoned" };
  }
  if (found.kind === "answered") return { kind: "declined", answer: found.answer };
  const outgoing = found.model === undefined ? request : withModel(request, found.model);
  const outcome = await attemptPresenting(found, outgoing, downstream, options);
  found.watch?.ended(true); // of an attempt that never came to a server
  return outcome;
}

/** The picker's answer as the request's. */
export function deliver({ status, contentType, retryAfter, body }: PickerAnswer, downstream: Downstream): void {
  const pairs = ["content-type", contentType, ...(retryAfter === undefined ? [] : ["retry-after", retryAfter])];
  downstream.start(status, "", pairs);
  downstream.write(body);
  downstream.end();
}
