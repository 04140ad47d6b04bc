/**
 * Whether an event can have changed what is on the screen. Most of what comes by itself cannot: an answer that says what the
 * one before said, a second that passes over a screen that is held. Frames that would be the same are the larger part of
 * what a console costs that nobody touches.
 */

import type { Reading } from "../model/data.ts";
import type { Event, State } from "../model/state.ts";
import type { View } from "../model/view.ts";
import { needsOf } from "./select.ts";

/**
 * `before` and `now`: the states around the event. How old readings are is drawn with the next second, and so are new values
 * of what is on the screen while nobody is at the keyboard (`isAttended`); what was awaited or fails is drawn at once.
 */
export function isWorthDrawing(
  event: Event,
  before: State,
  now: State,
  views: readonly View[],
  isAttended = true,
): boolean {
  if (before === now) return false;
  if (event.kind !== "tick" && event.kind !== "data") return true;
  // What stands over the view goes on under a held screen: a countdown, a flash that ends.
  const isOver = now.flash !== before.flash || now.dialog !== undefined || now.link.state.kind !== "online";
  if (now.frozen !== undefined) return isOver;
  if (event.kind === "tick" || isOver || now.data === before.data) return true;
  return needsOf(now, views).some((need) => {
    const [one, other] = [before.data.get(need), now.data.get(need)];
    return !(isSame(one, other) || (!isAttended && isNext(one, other)));
  });
}

/** Whether only the value is another one. */
const isNext = (one: Reading<unknown> | undefined, other: Reading<unknown> | undefined): boolean =>
  one?.value !== undefined && other?.value !== undefined && isSame({ ...one, value: other.value }, other);

const isSame = (one: Reading<unknown> | undefined, other: Reading<unknown> | undefined): boolean =>
  one?.value === other?.value &&
  one?.failure === other?.failure &&
  one?.gaps === other?.gaps &&
  one?.progress === other?.progress &&
  (one?.freshAt === undefined) === (other?.freshAt === undefined);
