/** Converts limits of tokens and requests to a budget and its profile. */

import type { Entry } from "./deployment-draft.ts";
import type { Section } from "./foreign-source.ts";

interface Limits {
  readonly tokens: number | undefined;
  readonly requests: number | undefined;
  /** Windows of a budget; `undefined` if the window of the source has no counterpart. */
  readonly tokenWindow: string | undefined;
  readonly requestWindow: string | undefined;
}

/** Returns a profile with at most one budget: that of tokens if both limits exist. */
export function limitedProfile(
  section: Section,
  name: string,
  limits: Limits,
  rest: Entry,
): { readonly profile: Entry; readonly budget?: Entry } {
  const { tokens, requests, tokenWindow, requestWindow } = limits;
  const ofTokens = isLimit(tokens) && tokenWindow !== undefined;
  const ofRequests = !ofTokens && isLimit(requests) && requestWindow !== undefined;
  const at = section.keys[0] ?? "";
  if (ofTokens && requests !== undefined) {
    section.addNote(at, "the request limit is not imported; a profile has one budget, which is the token limit here");
  } else if (!ofTokens && !ofRequests && (tokens !== undefined || requests !== undefined)) {
    section.addNote(
      at,
      "its limits are not imported; expected a whole number and a window of at least a second that is not a month or a year",
    );
  }
  const budget: Entry | undefined = ofTokens
    ? { name, limit: tokens, window: tokenWindow }
    : ofRequests
      ? { name, cost: { type: "CEL", cel: "1" }, limit: requests, window: requestWindow }
      : undefined;
  const kept = Object.fromEntries(
    Object.entries(rest).filter(([, value]) => !Array.isArray(value) || value.length > 0),
  );
  return {
    profile: { name, ...(budget !== undefined && { budget: name }), ...kept },
    ...(budget !== undefined && { budget }),
  };
}

const isLimit = (value: number | undefined): value is number =>
  value !== undefined && Number.isSafeInteger(value) && value >= 0;
