/**
 * What is to be recorded, made to fit a record of `MAX_RECORD_BYTES`: long texts are cut first, then long lists. The
 * same event is cut alike each time, and before it is signed.
 *
 * The main thread hands an event over as JSON text, whose length it counts; only one that is far too long is bounded
 * there already.
 */

import { cutText, shrinkToFit } from "../../base/index.ts";
import { type CanonicalParts, canonicalParts, lineBytes, MAX_RECORD_BYTES, type Unsealed } from "./record.ts";
import type { AuditEvent, JsonValue } from "./types.ts";

/** In UTF-16 code units. Four times what a record may hold: the worker's cutting is exact and costs the caller nothing. */
const MAX_EVENT_TEXT = 4 * MAX_RECORD_BYTES;

/** As the document's `controls` are: without white space; more and longer ones are cut. */
const MAX_CONTROLS = 16;
const MAX_CONTROL_LENGTH = 64;

/** The event as the text that is handed to the worker; never throws. */
export function eventText(event: AuditEvent): string {
  try {
    const text = JSON.stringify(event);
    return text.length <= MAX_EVENT_TEXT ? text : boundedText(event);
  } catch {
    return boundedText(event);
  }
}

/** `data` that loops, throws or holds what JSON cannot write is cut where it cannot go on. */
function boundedText(event: AuditEvent): string {
  const { event: name, controls } = event;
  try {
    const text = shrinkToFit(event.data, (data) => {
      const bounded = JSON.stringify({ event: name, controls: fitControls(controls), data });
      return bounded.length <= MAX_EVENT_TEXT ? bounded : undefined;
    });
    if (text !== undefined) return text;
  } catch {
    // A getter that throws.
  }
  return JSON.stringify({
    event: name,
    controls: fitControls(controls),
    data: { fault: "the facts could not be written" },
  });
}

function fitControls(controls: readonly string[] = []): readonly string[] {
  const kept = controls.slice(0, MAX_CONTROLS).map((each) => cutText(each, MAX_CONTROL_LENGTH).toWellFormed());
  return controls.length > MAX_CONTROLS ? [...kept, "…"] : kept;
}

/** The canonical form of a record of this event. */
export function fitEvent(event: AuditEvent, place: Place): CanonicalParts {
  return asItIs(event, place) ?? bounded(event, place);
}

type Place = Omit<Unsealed, "event" | "controls" | "data">;

/** Nearly all events fit, and cost no copy. */
function asItIs({ event, controls = [], data }: AuditEvent, place: Place): CanonicalParts | undefined {
  if (controls.length > MAX_CONTROLS) return undefined;
  try {
    const parts = canonicalParts({ ...place, event, controls, data });
    return lineBytes(parts) <= MAX_RECORD_BYTES ? parts : undefined;
  } catch {
    // Half a surrogate pair has no canonical form.
    return undefined;
  }
}

function bounded({ event, controls: given, data: whole }: AuditEvent, place: Place): CanonicalParts {
  const controls = fitControls(given);
  const parts = shrinkToFit(whole, (data) => {
    const attempt = canonicalParts({ ...place, event, controls, data });
    return lineBytes(attempt) <= MAX_RECORD_BYTES ? attempt : undefined;
  });
  const fault: JsonValue = { fault: "the facts do not fit a record" };
  return parts ?? canonicalParts({ ...place, event, controls: [], data: fault });
}
