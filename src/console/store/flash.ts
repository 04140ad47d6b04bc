/** Flash line and its log. Messages are checked here, so that neither ever contains a text that is shown only once. */

import { type Flash, MAX_LOG, type State } from "../model/state.ts";

/** Display time of a flash, in milliseconds. */
const FLASH_MS = 6_000;
/** Maximum length of a message, in UTF-16 units; a screen shows less. */
const MAX_MESSAGE_LENGTH = 1_000;

/** Shows a message; warnings and failures are also logged. */
export function withFlash(state: State, text: string, tone: Flash["tone"] = "plain"): State {
  const next = truncated(text);
  const flash: Flash = { message: next, tone, at: state.now };
  return tone === "plain" ? { ...state, flash } : withLogEntry({ ...state, flash }, next);
}

/** Shows the outcome of an operator's action. */
export function withOutcome(state: State, text: string, tone: Flash["tone"] = "plain"): State {
  const next = withFlash(state, text, tone);
  return next.flash === undefined
    ? next
    : { ...next, flash: { ...next.flash, outcome: { message: next.flash.message, tone, at: state.now } } };
}

/**
 * Shows an event that happened meanwhile, appended to an outcome whose display time has not passed, such as when the leader
 * dies after a write.
 */
export function withNotice(state: State, text: string, tone: Flash["tone"] = "plain"): State {
  const next = withFlash(state, text, tone);
  const outcome = state.flash?.outcome;
  if (next.flash === undefined || outcome === undefined || state.now - outcome.at >= FLASH_MS) return next;
  return {
    ...next,
    flash: { ...next.flash, message: truncated(`${outcome.message}; ${next.flash.message}`), outcome },
  };
}

/** Removes the message that answered a key when the next key is pressed. */
export const dropKeyMessage = (before: State, now: State): State => {
  const { flash } = now;
  if (flash === undefined || flash.outcome !== undefined) return now;
  if (flash !== before.flash) return { ...now, flash: { ...flash, cause: "key" } };
  return flash.cause === "key" ? { ...now, flash: undefined } : now;
};

/** Shows the connection's state until it changes. */
export function withLinkText(state: State, text: string, tone: Flash["tone"] = "plain"): State {
  const next = withNotice(state, text, tone);
  return next.flash === undefined ? next : { ...next, flash: { ...next.flash, cause: "link" } };
}

/** Removes the connection's message after it changed; an outcome that it was appended to is shown again. */
export function withoutLinkText(state: State): State {
  const { flash } = state;
  if (flash?.cause !== "link") return state;
  const { outcome } = flash;
  return { ...state, flash: outcome === undefined ? undefined : { ...outcome, outcome } };
}

/**
 * Replaces the outcome of an action with a more precise one, or appends it if a later outcome is shown. `task` is the first
 * message of the action.
 */
export function withRefinedOutcome(state: State, text: string, task: string): State {
  const outcome = state.flash?.outcome;
  if (outcome !== undefined && (outcome.task ?? outcome.message) !== task) return withNotice(state, text);
  const next = withOutcome(state, text);
  if (next.flash?.outcome === undefined) return next;
  return { ...next, flash: { ...next.flash, outcome: { ...next.flash.outcome, task: truncated(task) } } };
}

export function withLogEntry(state: State, text: string): State {
  const log = [...state.log, { at: state.now, message: truncated(text) }];
  return { ...state, log: log.slice(-MAX_LOG) };
}

/** Removes the text that is shown once from a message. */
export const redactSecret = (secret: string | undefined, text: string): string =>
  secret === undefined || secret === "" ? text : text.replaceAll(secret, "(shown once)");

export function withoutExpiredFlash(state: State): State {
  const { flash, now } = state;
  return flash !== undefined && now - flash.at >= FLASH_MS ? { ...state, flash: undefined } : state;
}

const truncated = (text: string): string => text.slice(0, MAX_MESSAGE_LENGTH);
