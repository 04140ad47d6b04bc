/**
 * Builds display labels of a request for the operator's lists and records: truncated, and without terminal control characters.
 */
import { cutText, escapeControls } from "../../base/index.ts";
import type { Caller } from "../auth/index.ts";

/** Maximum length of a name, in UTF-16 units. Model names of providers have at most 64. */
const MAX_LENGTH = 128;

/** Returns the display name of a caller, escaped because a token may contain any text, or `undefined` if it has no name. */
export function callerDisplayName(caller: Caller): string | undefined {
  const name = callerName(caller);
  return name === undefined ? undefined : displayText(name);
}

/** Returns the name from the key or token, neither truncated nor escaped. */
export const callerName = ({ key, user, agent }: Caller): string | undefined =>
  key?.name ?? (user === undefined ? agent?.name : user.email === "" ? user.name : user.email);

/**
 * Returns a name that may be kept in memory, truncated to the displayed length. `isShared`: the name may be a substring of a
 * longer text and must be copied, because it would keep that text in memory.
 */
export function storableName(name: string | undefined, isShared = false): string | undefined {
  if (name === undefined || (name.length <= MAX_LENGTH && !isShared)) return name;
  return Buffer.from(cutText(name, MAX_LENGTH)).toString();
}

/** Truncates and escapes a text that a caller has chosen. */
export const displayText = (text: string): string => escapeControls(cutText(text, MAX_LENGTH));

interface CallerLabels {
  readonly request: string;
  readonly caller: string | null;
  /** Model as the client requested it. */
  readonly model: string | null;
}

export function callerLabels(
  { requestId, caller }: { readonly requestId: string; readonly caller: Caller | undefined },
  model: string | undefined,
): CallerLabels {
  const name = caller === undefined ? undefined : callerDisplayName(caller);
  return { request: requestId, caller: name ?? null, model: model === undefined ? null : displayText(model) };
}
