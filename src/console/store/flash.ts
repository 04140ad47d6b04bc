/** The flash line and the log behind it. Neither ever holds what is shown once: words are checked for it here. */

import { type Flash, MAX_LOG, type State } from "../model/state.ts";

/** How long a flash stays. */
const FLASH_MS = 6_000;
/** UTF-16 units; a screen shows less. */
const MAX_WORDS = 1_000;

/** Says it; what warns or fails also goes into the log. */
export function flashed(state: State, words: string, tone: Flash["tone"] = "plain"): State {
  const said = bounded(words);
  const flash: Flash = { words: said, tone, at: state.now };
  return tone === "plain" ? { ...state, flash } : logged({ ...state, flash }, said);
}

/** Says what came of what the operator did, which is waited for. */
export function concluded(state: State, words: string, tone: Flash["tone"] = "plain"): State {
  const said = flashed(state, words, tone);
  return said.flash === undefined
    ? said
    : { ...said, flash: { ...said.flash, outcome: { words: said.flash.words, tone, at: state.now } } };
}

/** Says what happened meanwhile: behind an outcome that has not had its time, as when the leader under a write dies. */
export function noticed(state: State, words: string, tone: Flash["tone"] = "plain"): State {
  const told = flashed(state, words, tone);
  const outcome = state.flash?.outcome;
  if (told.flash === undefined || outcome === undefined || state.now - outcome.at >= FLASH_MS) return told;
  return { ...told, flash: { ...told.flash, words: bounded(`${outcome.words}; ${told.flash.words}`), outcome } };
}

/** What a key was answered goes with the next key. */
export const answered = (before: State, now: State): State => {
  const { flash } = now;
  if (flash === undefined || flash.outcome !== undefined) return now;
  if (flash !== before.flash) return { ...now, flash: { ...flash, cause: "key" } };
  return flash.cause === "key" ? { ...now, flash: undefined } : now;
};

/** Says how the console stands to the gateway, until it stands otherwise. */
export function linked(state: State, words: string, tone: Flash["tone"] = "plain"): State {
  const said = noticed(state, words, tone);
  return said.flash === undefined ? said : { ...said, flash: { ...said.flash, cause: "link" } };
}

/** Once it stands otherwise; what came of a deed, which the news stood behind, is said again. */
export function unlinked(state: State): State {
  const { flash } = state;
  if (flash?.cause !== "link") return state;
  const { outcome } = flash;
  return { ...state, flash: outcome === undefined ? undefined : { ...outcome, outcome } };
}

/** Says more of what came of a deed, in its place; behind what came of a later one. `deed` is what the deed said. */
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

/** Without the text that is shown once, whatever the words were made of. */
export const without = (secret: string | undefined, words: string): string =>
  secret === undefined || secret === "" ? words : words.replaceAll(secret, "(shown once)");

export function withoutOld(state: State): State {
  const { flash, now } = state;
  return flash !== undefined && now - flash.at >= FLASH_MS ? { ...state, flash: undefined } : state;
}

const bounded = (words: string): string => words.slice(0, MAX_WORDS);
