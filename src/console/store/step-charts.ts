/**
 * Keys of a view of charts: the time cursor and the time span. The cursor stays at its moment while time passes, until that
 * moment is no longer kept.
 */

import { CHART_SCALES, otherScale } from "../model/chart-scale.ts";
import { CHARTS } from "../model/key-bindings.ts";
import type { Chord } from "../model/key-event.ts";
import type { State, Step } from "../model/state.ts";
import type { ChartsBody } from "../model/view.ts";
import { contextOf, tableStateOf } from "./current-view.ts";
import { withFlash } from "./flash.ts";
import { clamp, withTable } from "./navigation.ts";
import { withPreference } from "./preference-dialogs.ts";
import { isOneOf, stateOnly } from "./step-helpers.ts";

/** Number of moments that PgUp and PgDn move. */
const PAGE = 6;

/** Handles a key of charts. Returns `undefined` for any other chord. */
export function stepCharts(state: State, body: ChartsBody, chord: Chord): Step | undefined {
  const moments = body.moments(contextOf(state));
  const { moment } = tableStateOf(state);
  const now = moments.length - 1;
  const found = moment === undefined ? now : moments.findIndex((one) => one >= moment);
  const at = found < 0 ? now : found;
  const to = (index: number): Step => {
    const next = clamp(index, 0, now);
    // The newest moment is "now", which advances.
    return stateOnly(withTable(state, { moment: next >= now ? undefined : moments[next] }));
  };
  if (isOneOf(chord, CHARTS.earlier)) return to(at - 1);
  if (isOneOf(chord, CHARTS.later)) return to(at + 1);
  if (isOneOf(chord, CHARTS.page_earlier)) return to(at - PAGE);
  if (isOneOf(chord, CHARTS.page_later)) return to(at + PAGE);
  if (isOneOf(chord, CHARTS.first)) return to(0);
  if (isOneOf(chord, CHARTS.now)) return to(now);
  if (isOneOf(chord, CHARTS.scale)) {
    const scale = otherScale(state.preferences.chartScale);
    return withPreference(state, { kind: "scale", scale }, `charts of ${CHART_SCALES[scale].label}`);
  }
  if (isOneOf(chord, CHARTS.copy)) {
    const text = body.texts(contextOf(state), moment).join("\n");
    return { state: withFlash(state, "copied the values"), effects: [{ kind: "copy", text }] };
  }
  return undefined;
}
