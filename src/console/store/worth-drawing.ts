/**
 * Decides whether an event can have changed the screen. Most automatic events cannot: an answer equals the previous one, or a
 * second passes over a frozen screen. Drawing identical frames would be most of the cost of an idle console.
 */

import type { Reading } from "../model/data.ts";
import type { Event, State } from "../model/state.ts";
import type { View } from "../model/view.ts";
import { needsOf } from "./selectors.ts";

/**
 * Returns whether to draw. `before` and `now` are the states around the event. While nobody is at the keyboard (`isAttended`),
 * new values are drawn with the next second, like the ages of readings; awaited results and failures are drawn immediately.
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
  // Parts over the view keep changing while the screen is frozen: a countdown, a flash that expires.
  const isOver = now.flash !== before.flash || now.dialog !== undefined || now.link.state.kind !== "online";
  if (now.frozen !== undefined) return isOver;
  if (event.kind === "tick" || isOver || now.data === before.data) return true;
  return needsOf(now, views).some((need) => {
    const [one, other] = [before.data.get(need), now.data.get(need)];
    return !(isSame(one, other) || (!isAttended && isNext(one, other)));
  });
}

/** Returns whether only the value of two readings differs. */
const isNext = (one: Reading<unknown> | undefined, other: Reading<unknown> | undefined): boolean =>
  one?.value !== undefined && other?.value !== undefined && isSame({ ...one, value: other.value }, other);

const isSame = (one: Reading<unknown> | undefined, other: Reading<unknown> | undefined): boolean =>
  one?.value === other?.value &&
  one?.failure === other?.failure &&
  one?.gaps === other?.gaps &&
  one?.progress === other?.progress &&
  (one?.freshAt === undefined) === (other?.freshAt === undefined);
