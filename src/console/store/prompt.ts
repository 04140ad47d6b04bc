/** Prompt at the bottom: a command, a filter that applies while it is typed, or the answer to a verb's question. */

import { applyEdit, editAtEnd } from "../edit/edit.ts";
import { namesText } from "../format/name-list.ts";
import { VERBS } from "../model/key-bindings.ts";
import type { KeyEvent } from "../model/key-event.ts";
import type { PromptState, State, Step } from "../model/state.ts";
import { type Line, line } from "../model/text.ts";
import type { View } from "../model/view.ts";
import { isReadingNames, unreadKinds } from "./command-palette.ts";
import { tableStateOf, viewOf } from "./current-view.ts";
import { stepFound } from "./file-completion.ts";
import { withFlash } from "./flash.ts";
import { isUnsaved, quit, runIntent } from "./intent.ts";
import { candidatesOf, commandOf, highlighted } from "./name-candidates.ts";
import { withTable } from "./navigation.ts";
import type { Command } from "./parse-command.ts";
import { openHelp } from "./step-help.ts";
import { stateOnly } from "./step-helpers.ts";
import { linesOfLog, openPage } from "./step-page.ts";
import { stepVerb } from "./step-verb.ts";

/** Maximum length of a prompt, in UTF-16 units; a filter is searched in every row. */
const MAX_PROMPT_LENGTH = 4_096;
/** Maximum wait for the names of rows after Enter, in milliseconds. */
const MAX_NAMES_WAIT_MS = 10_000;
const MAX_UNREAD = 4;

export const commandPrompt = (state: State): State => ({
  ...state,
  prompt: { kind: "command", label: ":", edit: editAtEnd(""), before: "" },
});

/** Opens the filter of the open page, otherwise of the view; a workbench and charts have none. */
export function filterPrompt(state: State, views: readonly View[]): State {
  const { kind } = viewOf(state, views).body;
  if (state.page === undefined && (kind === "workbench" || kind === "charts")) {
    return withFlash(state, "there is nothing to filter here");
  }
  const before = filterText(state);
  return { ...state, prompt: { kind: "filter", label: "/", edit: editAtEnd(before), before } };
}

export const filterText = (state: State): string => state.page?.filter ?? tableStateOf(state).filter;

export function withFilter(state: State, filter: string): State {
  const { page } = state;
  if (page !== undefined) return { ...state, page: { ...page, filter, offset: 0 } };
  return withTable(state, { filter });
}

export function stepPrompt(before: State, open: PromptState, event: KeyEvent, views: readonly View[]): Step {
  const isEnter = event.kind === "key" && event.chord === "enter";
  // After Enter, the prompt may wait for the names of rows; any other key cancels that.
  const prompt = isEnter || open.enteredAt === undefined ? open : { ...open, enteredAt: undefined };
  const state = prompt === open ? before : { ...before, prompt };
  if (event.kind === "key") {
    if (event.chord === "esc") return stateOnly(leftPrompt(state, prompt));
    if (isEnter) {
      return awaitsNames(state, prompt, views)
        ? stateOnly({ ...state, prompt: { ...prompt, enteredAt: prompt.enteredAt ?? state.now } })
        : runPrompt(state, prompt, views);
    }
    const isTab = event.chord === "tab";
    if (isTab || event.chord === "up" || event.chord === "down") {
      const by = event.chord === "up" ? -1 : 1;
      if (prompt.isFile !== undefined) return stepFound(state, prompt, by, isTab);
      if (prompt.kind !== "command") return stateOnly(state);
      return stateOnly(isTab ? completePrompt(state, prompt, views) : moveChoice(state, prompt, by, views));
    }
  }
  const edit = applyEdit(prompt.edit, event, { isMultiline: false });
  if (edit === undefined) return stateOnly(state);
  if (edit.text.length > MAX_PROMPT_LENGTH) return stateOnly(withFlash(state, "the text is too long", "warn"));
  const edited = {
    ...state,
    prompt: {
      ...prompt,
      edit,
      ...(edit.text !== prompt.edit.text && { chosen: undefined, found: undefined }),
    },
  };
  return stateOnly(prompt.kind === "filter" && edit.text !== prompt.edit.text ? withFilter(edited, edit.text) : edited);
}

/** Returns whether Enter waits. The best match is known only once all names are read, unless the operator chose a candidate. */
const awaitsNames = (state: State, prompt: PromptState, views: readonly View[]): boolean =>
  prompt.kind === "command" &&
  prompt.chosen === undefined &&
  state.now - (prompt.enteredAt ?? state.now) < MAX_NAMES_WAIT_MS &&
  isReadingNames(state, views);

/** Returns whether an Enter that waited for names can take effect now. */
export const isDue = (state: State, views: readonly View[]): boolean =>
  state.prompt?.enteredAt !== undefined && !awaitsNames(state, state.prompt, views);

/** Returns the state after a prompt was left without an answer. */
export function leftPrompt(state: State, prompt: PromptState): State {
  const closed = { ...state, prompt: undefined };
  switch (prompt.kind) {
    case "filter":
      return withFilter(closed, prompt.before);
    case "ask":
      return withFlash(closed, "canceled");
    case "command":
    case "help":
      return closed;
    default:
      return prompt.kind satisfies never;
  }
}

function runPrompt(before: State, prompt: PromptState, views: readonly View[]): Step {
  const { kind, edit, next } = prompt;
  const state = { ...before, prompt: undefined };
  switch (kind) {
    case "filter":
    case "help":
      return stateOnly(state);
    case "ask":
      return edit.text.trim() === "" || next === undefined
        ? stateOnly(withFlash(state, "canceled: no text was entered"))
        : runIntent(state, next(edit.text), views);
    case "command":
      return run(state, withUnreadNames(commandOf(state, prompt, views), unreadKinds(before, views)), views);
    default:
      return kind satisfies never;
  }
}

/** Adds the kinds of rows whose names could not be read to the message that nothing was found. */
function withUnreadNames(command: Command, unread: readonly string[]): Command {
  if (command.kind !== "wrong" || unread.length === 0) return command;
  return { kind: "wrong", message: `${command.message}; could not read the names of ${namesText(unread, MAX_UNREAD)}` };
}

function run(state: State, command: Command, views: readonly View[]): Step {
  switch (command.kind) {
    case "nothing":
      return stateOnly(state);
    case "quit":
      return quit(state, views);
    case "log":
      return stateOnly(openPage(state, "Log of this console", linesOfLog(state.log)));
    case "help":
      return stateOnly(openHelp(state));
    case "context":
      return toContext(state, command.name);
    case "go": {
      const { place, filter, row } = command;
      const at = { ...(filter !== undefined && { filter }), ...(row !== undefined && { row }) };
      return runIntent(state, { kind: "go", place, ...at }, views);
    }
    case "verb": {
      const { verb, place, row } = command;
      const there = runIntent(state, { kind: "go", place, ...(row !== undefined && { row }) }, views).state;
      return stepVerb(there, VERBS[verb].chord, views) ?? stateOnly(there);
    }
    case "wrong":
      return stateOnly(withFlash(state, command.message));
    default:
      return command satisfies never;
  }
}

/** Replaces the typed text with the highlighted candidate, or the first one. */
function completePrompt(state: State, prompt: PromptState, views: readonly View[]): State {
  const candidates = candidatesOf(state, views, prompt.edit.text);
  const candidate = candidates[highlighted(prompt, candidates) ?? 0];
  if (candidate === undefined) return state;
  const text = candidate.text + (candidate.isOpen ? " " : "");
  return { ...state, prompt: { ...prompt, edit: editAtEnd(text), chosen: undefined } };
}

/** Moves down from the typed text into the candidates, and up out of them. */
function moveChoice(state: State, prompt: PromptState, by: 1 | -1, views: readonly View[]): State {
  const { length } = candidatesOf(state, views, prompt.edit.text);
  const at = highlighted(prompt, candidatesOf(state, views, prompt.edit.text));
  const next = (at ?? -1) + by;
  return { ...state, prompt: { ...prompt, chosen: next < 0 || length === 0 ? undefined : Math.min(next, length - 1) } };
}

function toContext(state: State, name: string): Step {
  const { contexts, context } = state;
  if (name === "") return stateOnly(openPage(state, "Gateways by name", linesOfContexts(state)));
  if (name === context) return stateOnly(withFlash(state, `already connected to ${name}`));
  if (!contexts.some((one) => one.name === name)) {
    return stateOnly(withFlash(state, `there is no gateway named ${name}; :context lists them`));
  }
  if (isUnsaved(state))
    return stateOnly(withFlash(state, "the statement in :query is not saved; save it with Ctrl-S first", "warn"));
  return { state, effects: [{ kind: "context", name }] };
}

function linesOfContexts({ contexts, context }: State): readonly Line[] {
  if (contexts.length === 0)
    return [
      line("No gateways yet. Add them under `contexts` in the settings file, or sign in with `gateway login`.", "dim"),
    ];
  const widest = Math.max(...contexts.map(({ name }) => name.length));
  return contexts.map(({ name, address }) => [
    { text: `${name === context ? "> " : "  "}${name.padEnd(widest)}  `, tone: "strong" },
    { text: address },
  ]);
}
