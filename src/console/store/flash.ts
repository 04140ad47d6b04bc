/** Flash line and its log. Neither ever contains a text that is shown once: messages are checked for it here. */

import { type Flash, MAX_LOG, type State } from "../model/state.ts";

/** Display time of a flash, in milliseconds. */
const FLASH_MS = 6_000;
/** Maximum length of a message, in UTF-16 units; a screen shows less. */
const MAX_WORDS = 1_000;

/** Shows a message; warnings and failures are also logged. */
export function flashed(state: State, words: string, tone: Flash["tone"] = "plain"): State {
  const said = bounded(words);
  const flash: Flash = { words: said, tone, at: state.now };
  return tone === "plain" ? { ...state, flash } : logged({ ...state, flash }, said);
}

/** Shows the outcome of an operator's action. */
export function concluded(state: State, words: string, tone: Flash["tone"] = "plain"): State {
  const said = flashed(state, words, tone);
  return said.flash === undefined
    ? said
    : { ...said, flash: { ...said.flash, outcome: { words: said.flash.words, tone, at: state.now } } };
}

/**
 * Shows an event that happened meanwhile, appended to an outcome whose display time has not passed, such as when the leader
 * dies after a write.
 */
export function noticed(state: State, words: string, tone: Flash["tone"] = "plain"): State {
  const told = flashed(state, words, tone);
  const outcome = state.flash?.outcome;
  if (told.flash === undefined || outcome === undefined || state.now - outcome.at >= FLASH_MS) return told;
  return { ...told, flash: { ...told.flash, words: bounded(`${outcome.words}; ${told.flash.words}`), outcome } };
}

/** Removes the response to a key at the next key. */
export const answered = (before: State, now: State): State => {
  const { flash } = now;
  if (flash === undefined || flash.outcome !== undefined) return now;
  if (flash !== before.flash) return { ...now, flash: { ...flash, cause: "key" } };
  return flash.cause === "key" ? { ...now, flash: undefined } : now;
};

/** Shows the connection's state until it changes. */
export function linked(state: State, words: string, tone: Flash["tone"] = "plain"): State {
  const said = noticed(state, words, tone);
  return said.flash === undefined ? said : { ...said, flash: { ...said.flash, cause: "link" } };
}

/** Removes the connection's message after it changed; an outcome that it was appended to is shown again. */
export function unlinked(state: State): State {
  const { flash } = state;
  if (flash?.cause !== "link") return state;
  const { outcome } = flash;
  return { ...state, flash: outcome === undefined ? undefined : { ...outcome, outcome } };
}

/**
 * Replaces the outcome of an action with a more precise one, or appends it if a later outcome is shown. `deed` is the first
 * message of the action.
 */
export function refined(state: State, words: string, deed: string): State {
  const outcome = state.flash?.outcome;
  if (outcome !== undefined && (outcome.deed ?? outcome.words) !== deed) return noticed(state, words);
  const said = concluded(state, words);
  if (said.flash?.outcome === undefined) return said;
  return { ...said, flash: { ...said.flash, outcome: { ...said.flash.outcome, deed: bounded(deed) } } };
}

export function logged(state: State, words: string): State {
  const log = [...state.log, { at: state.now, words: bounded(words) }];
  return { ...state, log: log.slice(-MAX_LOG) };
}

/** Removes the text that is shown once from a message. */
export const without = (secret: string | undefined, words: string): string =>
  secret === undefined || secret === "" ? words : words.replaceAll(secret, "(shown once)");

export function withoutOld(state: State): State {
  const { flash, now } = state;
  return flash !== undefined && now - flash.at >= FLASH_MS ? { ...state, flash: undefined } : state;
}

const bounded = (words: string): string => words.slice(0, MAX_WORDS);
