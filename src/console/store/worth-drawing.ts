/**
 * Whether an event can have changed what is on the screen. Most of what comes by itself cannot: an answer that says what the
 * one before said, a second that passes over a screen that is held. Frames that would be the same are the larger part of
 * what a console costs that nobody touches.
 */

import type { Reading } from "../model/data.ts";
import type { Event, State } from "../model/state.ts";
import type { View } from "../model/view.ts";
import { needsOf } from "./select.ts";

/** `before` and `now`: the states around the event. How old readings are is drawn with the next second. */
export function isWorthDrawing(event: Event, before: State, now: State, views: readonly View[]): boolean {
  if (before === now) return false;
  if (event.kind !== "tick" && event.kind !== "data") return true;
  // What stands over the view goes on under a held screen: a countdown, a flash that ends.
  const isOver = now.flash !== before.flash || now.dialog !== undefined || now.link.state.kind !== "online";
  if (now.frozen !== undefined) return isOver;
  if (event.kind === "tick" || isOver || now.data === before.data) return true;
  return needsOf(now, views).some((need) => !isSame(before.data.get(need), now.data.get(need)));
}

const isSame = (one: Reading<unknown> | undefined, other: Reading<unknown> | undefined): boolean =>
  one?.value === other?.value &&
  one?.failure === other?.failure &&
  one?.gaps === other?.gaps &&
  one?.progress === other?.progress &&
  (one?.freshAt === undefined) === (other?.freshAt === undefined);
