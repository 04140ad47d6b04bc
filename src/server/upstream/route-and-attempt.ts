/** Makes one attempt, beginning with the choice of a server, where a pool's picker may end it. */

import {
  attemptWithCredential,
  type CredentialAttemptOptions,
  faultReporter,
  type OutcomeCallback,
  waitUnlessClientLeaves,
} from "./attempt-with-credential.ts";
import type { Destination, Origins } from "./origins.ts";
import { type PickerAnswer, withModel } from "./picker/index.ts";
import type { Downstream, UpstreamRequest } from "./ports.ts";
import type { Routed } from "./server.ts";

interface RouteAttemptOptions {
  readonly origins: Pick<Origins, "route">;
  readonly channel: Destination;
  readonly subset: string | undefined;
  readonly requestId: string | undefined;
}

/** Makes the attempt. `onOutcome` is called once, unless this throws. */
export function routeAndAttempt(
  { origins, channel, subset, requestId }: RouteAttemptOptions,
  request: UpstreamRequest,
  downstream: Downstream,
  options: CredentialAttemptOptions,
  onOutcome: OutcomeCallback,
): void {
  const routed = origins.route(channel, subset, { request, requestId });
  if (!(routed instanceof Promise)) {
    attemptOnRoute(routed, request, downstream, options, onOutcome);
    return;
  }
  const picked = async (): Promise<void> => {
    const found = await waitUnlessClientLeaves(routed, downstream, options.onWait);
    if (found !== undefined) {
      attemptOnRoute(found, request, downstream, options, onOutcome);
      return;
    }
    // The client has left, but the picker may still be deciding; its exchange is ended once it has.
    routed.then(
      (late) => late.kind === "route" && late.feedback?.end(true),
      () => undefined,
    );
    onOutcome({ kind: "abandoned" });
  };
  picked().catch(faultReporter(onOutcome));
}

function attemptOnRoute(
  routed: Routed,
  request: UpstreamRequest,
  downstream: Downstream,
  options: CredentialAttemptOptions,
  onOutcome: OutcomeCallback,
): void {
  if (routed.kind === "answered") {
    onOutcome({ kind: "declined", answer: routed.answer });
    return;
  }
  const { model, feedback } = routed;
  const outgoing = model === undefined ? request : withModel(request, model);
  if (feedback === undefined) attemptWithCredential(routed, outgoing, downstream, options, onOutcome);
  else {
    attemptWithCredential(routed, outgoing, downstream, options, (outcome) => {
      feedback.end(true); // has no effect unless the attempt never reached a server
      onOutcome(outcome);
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
