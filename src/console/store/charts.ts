/** Keys of a view of charts: the time cursor. It stays at its moment while time passes, until that moment is no longer kept. */

import type { Chord } from "../model/key.ts";
import { CHARTS } from "../model/keys.ts";
import type { State, Step } from "../model/state.ts";
import type { ChartsBody } from "../model/view.ts";
import { flashed } from "./flash.ts";
import { clamp, withTable } from "./places.ts";
import { contextOf, tableStateOf } from "./seen.ts";
import { isOneOf, only } from "./step-helpers.ts";

/** Number of moments in a minute; each is ten seconds. */
const MINUTE = 6;

/** Returns `undefined` if the chord is not a key of charts. */
export function stepCharts(state: State, body: ChartsBody, chord: Chord): Step | undefined {
  const moments = body.moments(contextOf(state));
  const { moment } = tableStateOf(state);
  const now = moments.length - 1;
  const found = moment === undefined ? now : moments.findIndex((one) => one >= moment);
  const at = found < 0 ? now : found;
  const to = (index: number): Step => {
    const next = clamp(index, 0, now);
    // The newest moment is "now", which advances.
    return only(withTable(state, { moment: next >= now ? undefined : moments[next] }));
  };
  if (isOneOf(chord, CHARTS.earlier)) return to(at - 1);
  if (isOneOf(chord, CHARTS.later)) return to(at + 1);
  if (isOneOf(chord, CHARTS.minute_earlier)) return to(at - MINUTE);
  if (isOneOf(chord, CHARTS.minute_later)) return to(at + MINUTE);
  if (isOneOf(chord, CHARTS.first)) return to(0);
  if (isOneOf(chord, CHARTS.now)) return to(now);
  if (isOneOf(chord, CHARTS.copy)) {
    const text = body.words(contextOf(state), moment).join("\n");
    return { state: flashed(state, "copied the values"), effects: [{ kind: "copy", text }] };
  }
  return undefined;
}
