/**
 * Makes an event fit a record of `MAX_RECORD_BYTES`: shortens long texts first, then long lists. The result is
 * deterministic and computed before signing.
 *
 * The main thread passes an event on as the canonical text of its members, which becomes part of the record unchanged.
 * The worker parses only events that are too long.
 */

import { cutText, shrinkToFit } from "../../base/index.ts";
import {
  type CanonicalParts,
  type ChainPosition,
  canonical,
  canonicalParts,
  lineBytes,
  MAX_RECORD_BYTES,
} from "./audit-record.ts";
import type { AuditEvent, JsonValue } from "./types.ts";

/**
 * Maximum length of an event's text, in UTF-16 code units: four times what a record may hold. The worker shortens it
 * exactly, at no cost to the caller.
 */
const MAX_EVENT_TEXT = 4 * MAX_RECORD_BYTES;

/** Limits of `controls`, as in the deployment document. Further or longer ones are cut. */
const MAX_CONTROLS = 16;
const MAX_CONTROL_LENGTH = 64;

/** Value that needs no escaping in JSON. */
const PLAIN = /^[\w.:-]{1,128}$/;
/** Maximum length of a cached text, in UTF-16 code units. A longer text may have been shortened. */
const MAX_TEMPLATE_TEXT = 2_048;

/** Returns the canonical text (RFC 8785) of an event for the worker. Never throws. */
export function eventText(event: AuditEvent): string {
  const { prepared } = event;
  if (prepared === undefined || !PLAIN.test(prepared.request)) return uncachedText(event);
  const { template, request } = prepared;
  if (template.parts !== undefined) return `${template.parts.before}${request}${template.parts.after}`;
  const text = uncachedText(event);
  const value = `"${request}"`;
  const at = text.indexOf(value);
  // A value that occurs twice may also belong to another member.
  if (text.length <= MAX_TEMPLATE_TEXT && at >= 0 && text.indexOf(value, at + 1) < 0) {
    template.parts = { before: text.slice(0, at + 1), after: text.slice(at + value.length - 1) };
  }
  return text;
}

function uncachedText(event: AuditEvent): string {
  try {
    return canonicalText(event) ?? boundedText(event);
  } catch {
    return boundedText(event);
  }
}

/** Event whose data may have been shortened to any JSON value. */
type FittedEvent = Omit<AuditEvent, "data"> & { readonly data: JsonValue };

/** Returns the canonical text; `undefined` if it is too long. Throws for values that JSON cannot represent. */
function canonicalText({ event, controls = [], data }: FittedEvent): string | undefined {
  const few = controls.length > MAX_CONTROLS ? fitControls(controls) : controls;
  const text = JSON.stringify({ controls: few, data, event });
  if (text.length > MAX_EVENT_TEXT) return undefined;
  // `JSON.stringify` differs from the canonical form only in the order of names and in lone surrogates, which it writes
  // as `\ud…`.
  return isInOrder(data) && !text.includes("\\ud") ? text : canonical(JSON.parse(text));
}

/** Returns whether the names of each object are in the order of the canonical form. */
function isInOrder(value: JsonValue | undefined): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (isList(value)) return value.every(isInOrder);
  let before: string | undefined;
  // `for in` avoids the array that `Object.entries` allocates; this runs for every request.
  for (const name in value) {
    if (before !== undefined && name < before) return false;
    if (!isInOrder(value[name])) return false;
    before = name;
  }
  return true;
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** Returns the text of an event whose `data` has cycles, throws or is not JSON: it is cut where that happens. */
function boundedText(event: AuditEvent): string {
  const { event: name } = event;
  const controls = fitControls(event.controls);
  try {
    const text = shrinkToFit(event.data, (data) => canonicalText({ event: name, controls, data }));
    if (text !== undefined) return text;
  } catch {
    // A getter threw.
  }
  return canonical({ controls, data: { fault: "the facts could not be written" }, event: name });
}

function fitControls(controls: readonly string[] = []): readonly string[] {
  const kept = controls.slice(0, MAX_CONTROLS).map((each) => cutText(each, MAX_CONTROL_LENGTH).toWellFormed());
  return controls.length > MAX_CONTROLS ? [...kept, "…"] : kept;
}

/** Returns the canonical form of a record. `text`: result of `eventText`. */
export function fitEvent(text: string, position: ChainPosition): CanonicalParts {
  const parts = canonicalParts(text, position);
  return lineBytes(parts) <= MAX_RECORD_BYTES ? parts : shrinkEvent(parseEvent(text), position);
}

function parseEvent(text: string): AuditEvent {
  return JSON.parse(text) as AuditEvent;
}

function shrinkEvent({ event, controls: given, data: whole }: AuditEvent, position: ChainPosition): CanonicalParts {
  const controls = fitControls(given);
  const parts = shrinkToFit(whole, (data) => {
    const attempt = canonicalParts(canonical({ controls, data, event }), position);
    return lineBytes(attempt) <= MAX_RECORD_BYTES ? attempt : undefined;
  });
  const fault: JsonValue = { fault: "the facts do not fit a record" };
  return parts ?? canonicalParts(canonical({ controls: [], data: fault, event }), position);
}
