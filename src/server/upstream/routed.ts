/** Makes one attempt, beginning with the choice of a server, where a pool's picker may end it. */

import type { Destination, Origins } from "./origins.ts";
import { type PickerAnswer, withModel } from "./picker/index.ts";
import type { Downstream, UpstreamRequest } from "./ports.ts";
import { attemptPresenting, faulty, type Over, type PresentingOptions, whileThere } from "./present.ts";
import type { Routed } from "./server.ts";

interface RoutedTo {
  readonly origins: Pick<Origins, "route">;
  readonly channel: Destination;
  readonly subset: string | undefined;
  readonly requestId: string | undefined;
}

/** Makes the attempt. `over` is called once, unless this throws. */
export function attemptRouted(
  { origins, channel, subset, requestId }: RoutedTo,
  request: UpstreamRequest,
  downstream: Downstream,
  options: PresentingOptions,
  over: Over,
): void {
  const routed = origins.route(channel, subset, { request, requestId });
  if (!(routed instanceof Promise)) {
    attemptAt(routed, request, downstream, options, over);
    return;
  }
  const picked = async (): Promise<void> => {
    const found = await whileThere(routed, downstream, options.waited);
    if (found !== undefined) {
      attemptAt(found, request, downstream, options, over);
      return;
    }
    // The client has left, but the picker may still be deciding; its exchange is ended once it has.
    void routed.then((late) => late.kind === "route" && late.watch?.end(true));
    over({ kind: "abandoned" });
  };
  picked().catch(faulty(over));
}

function attemptAt(
  routed: Routed,
  request: UpstreamRequest,
  downstream: Downstream,
  options: PresentingOptions,
  over: Over,
): void {
  if (routed.kind === "answered") {
    over({ kind: "declined", answer: routed.answer });
    return;
  }
  const { model, watch } = routed;
  const outgoing = model === undefined ? request : withModel(request, model);
  if (watch === undefined) attemptPresenting(routed, outgoing, downstream, options, over);
  else {
    attemptPresenting(routed, outgoing, downstream, options, (outcome) => {
      watch.end(true); // has no effect unless the attempt never reached a server
      over(outcome);
    });
  }
}

/** Delivers the picker's answer as the answer to the request. */
export function deliverPickerAnswer(
  { status, contentType, retryAfter, body }: PickerAnswer,
  downstream: Downstream,
): void {
  const pairs = ["content-type", contentType, ...(retryAfter === undefined ? [] : ["retry-after", retryAfter])];
  downstream.start(status, "", pairs);
  downstream.write(body);
  downstream.end();
}
