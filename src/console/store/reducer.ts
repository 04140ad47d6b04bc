/**
 * Reducer of the console. A key goes to the topmost part: the dialog, the prompt, a sort that waits for its letter, the page,
 * the workbench, and then the view; Ctrl-C leaves from anywhere. A paste is text for a text field and never a key. After every
 * event the cursor is on an existing row.
 */

import { COMMON, MOVING } from "../model/key-bindings.ts";
import { type Chord, characterOf, type KeyEvent } from "../model/key-event.ts";
import { nodesOf } from "../model/nodes.ts";
import { preferencesOf } from "../model/preferences.ts";
import type { Event, State, Step, WorkbenchState } from "../model/state.ts";
import type { View } from "../model/view.ts";
import type { WorkbenchFacts, WorkbenchStep } from "../workbench/workbench.ts";
import { withReport } from "./apply-event.ts";
import { contextOf, listingOf, tableStateOf, viewOf } from "./current-view.ts";
import { standardChord, stepCommand } from "./custom-commands.ts";
import { withAttachment } from "./dialog-attachment.ts";
import { reopenDialog, withRehearsal } from "./dialog-rehearsal.ts";
import { dropKeyMessage, withFlash } from "./flash.ts";
import type { EntryRun } from "./help-entries.ts";
import { quit, runIntent } from "./intent.ts";
import { bodyCells, bodyRows } from "./layout.ts";
import { backFrom, navigateTo, toNextTab, toPrevious, withSettledCursor, withTable } from "./navigation.ts";
import { withPastedKey, withTypedKey } from "./pasted-key.ts";
import { favoriteIntent, keepDialog } from "./preference-dialogs.ts";
import { commandPrompt, filterPrompt, filterText, isDue, stepPrompt, withFilter } from "./prompt.ts";
import { underWayOf } from "./selectors.ts";
import { savePage } from "./shown-rows.ts";
import { stepCharts } from "./step-charts.ts";
import { DROPPED, openDialog, stepDialog } from "./step-dialog.ts";
import { openHelp, stepHelp } from "./step-help.ts";
import { isOneOf, stateOnly } from "./step-helpers.ts";
import { stepPage, stepPageView } from "./step-page.ts";
import { pointAtRow, sortByHead, stepColumnLetter, stepTable, withFreshDescription } from "./step-table.ts";
import { stepVerb } from "./step-verb.ts";

/** Events for the workbench. It gets keys only while its view is on top, and the other events always. */
type WorkbenchEvent = KeyEvent | Extract<Event, { readonly kind: "query_done" | "query_failed" | "remembered" }>;

export type StepWorkbench = (workbench: WorkbenchState, event: WorkbenchEvent, facts: WorkbenchFacts) => WorkbenchStep;

interface StepOptions {
  readonly views: readonly View[];
  readonly stepWorkbench: StepWorkbench;
}

export function createStep({ views, stepWorkbench }: StepOptions): (state: State, event: Event) => Step {
  function stepIn(state: State, event: Event): Step {
    switch (event.kind) {
      case "key":
      case "paste":
        return stepKey(state, event);
      case "remembered":
        if (event.name === "preferences") return stateOnly({ ...state, preferences: preferencesOf(event.text) });
        return toWorkbench(state, event) ?? stateOnly(state);
      case "query_done":
      case "query_failed":
        return toWorkbench(state, event) ?? stateOnly(state);
      case "pointed_head":
        return stateOnly(sortByHead(state, listingOf(state, views), event.column));
      case "pointed":
        return stateOnly(pointAtRow(state, listingOf(state, views), event.index));
      case "data":
        return stateOnly(withFreshDescription(withRecurrences(withReport(state, event)), views));
      default:
        return stateOnly(withReport(state, event));
    }
  }

  function withRecurrences(state: State): State {
    // Uses the newest data even while the screen is frozen.
    const context = contextOf({ ...state, frozen: undefined });
    const recurrences = views.find((view) => view.recurrences !== undefined)?.recurrences?.(context);
    return recurrences === undefined || recurrences === state.recurrences ? state : { ...state, recurrences };
  }

  function toWorkbench(state: State, event: WorkbenchEvent): Step | undefined {
    const { data, now, nextId, size } = state;
    const { workbench, effects, isTaken, flash, usedIds } = stepWorkbench(state.workbench, event, {
      tables: data.get({ id: "list_query_tables" })?.value ?? [],
      nodes: nodesOf(data),
      now,
      nextId,
      size: { columns: bodyCells(size), rows: bodyRows(size) },
    });
    if (!isTaken) return undefined;
    const stepped = { ...state, workbench, nextId: nextId + usedIds };
    return { state: flash === undefined ? stepped : withFlash(stepped, flash.message, flash.tone), effects };
  }

  function stepKey(state: State, event: KeyEvent): Step {
    if (event.kind === "key" && event.chord === "ctrl-c") return { state, effects: [{ kind: "quit" }] };
    if (event.kind === "key" && isOneOf(event.chord, COMMON.suspend_process)) {
      return { state, effects: [{ kind: "stop_process" }] };
    }
    const pasted = event.kind === "paste" ? withPastedKey(state, event.text, views) : undefined;
    if (pasted !== undefined) return pasted;
    const stepped = stepOnTop(state, event);
    return (event.kind === "key" ? withTypedKey(stepped.state, views) : undefined) ?? stepped;
  }

  function stepOnTop(state: State, event: KeyEvent): Step {
    if (state.dialog !== undefined) return stepDialog(state, state.dialog, event);
    if (state.prompt?.kind === "help") return stepHelp(state, state.prompt, event, views, runEntry);
    if (state.prompt !== undefined) return stepPrompt(state, state.prompt, event, views);
    if (event.kind === "paste") {
      return (
        (takesText(state, views) ? toWorkbench(state, event) : undefined) ??
        stateOnly(withFlash(state, DROPPED, "warn"))
      );
    }
    if (takesText(state, views)) return stepView(state, event.chord);
    if (state.awaitsColumnFor !== undefined)
      return stepColumnLetter(state, listingOf(state, views), event.chord, views);
    const custom = state.page === undefined ? stepCommand(state, event.chord, views) : undefined;
    if (custom !== undefined) return custom;
    const chord = standardChord(state.keys, event.chord);
    if (chord === undefined) return unknown(state, event.chord, undefined);
    return stepChord(state, chord);
  }

  /** Handles a standard chord, on the open page or on the view. */
  function stepChord(state: State, chord: Chord): Step {
    if (state.page === undefined) return stepView(state, chord);
    if (isOneOf(chord, MOVING.save_table)) return runIntent(state, savePage(state.page), views);
    const ofRow = (): Step | undefined => (state.page?.row === undefined ? undefined : stepVerb(state, chord, views));
    return (
      stepPage(state, state.page, chord, views) ??
      ofRow() ??
      stepCommon(state, chord) ??
      unknown(state, chord, "the page")
    );
  }

  /** Runs an entry of the help. */
  function runEntry(state: State, entry: EntryRun): Step {
    switch (entry.kind) {
      case "key":
        return stepChord(state, entry.chord);
      case "command":
        return stepCommand(state, entry.chord, views) ?? stateOnly(state);
      case "go":
        return runIntent(state, entry, views);
      case "none":
        return stateOnly(state);
      default:
        return entry satisfies never;
    }
  }

  function stepView(state: State, chord: Chord): Step {
    const view = viewOf(state, views);
    if (view.body.kind === "workbench") {
      const taken = toWorkbench(state, { kind: "key", chord });
      if (taken !== undefined) return taken;
    }
    const common = stepVerb(state, chord, views) ?? stepCommon(state, chord);
    if (common !== undefined) return common;
    if (isOneOf(chord, MOVING.tab)) return stateOnly(toNextTab(state, views));
    const listing = listingOf(state, views);
    const moved =
      view.body.kind === "table" && listing !== undefined
        ? stepTable(state, { view, body: view.body, listing }, chord, views)
        : view.body.kind === "page"
          ? stepPageView(state, chord, views)
          : view.body.kind === "charts"
            ? stepCharts(state, view.body, chord)
            : undefined;
    return moved ?? unknown(state, chord, undefined);
  }

  /** Handles a key that works in every view. Returns `undefined` for any other chord. */
  function stepCommon(state: State, chord: Chord): Step | undefined {
    if (isOneOf(chord, COMMON.back)) return stepBack(state, views);
    if (isOneOf(chord, COMMON.view)) return stateOnly(toNumber(state, chord));
    if (isOneOf(chord, COMMON.command)) return stateOnly(commandPrompt(state));
    if (isOneOf(chord, COMMON.filter)) return stateOnly(filterPrompt(state, views));
    if (isOneOf(chord, COMMON.help)) return stateOnly(openHelp(state));
    if (isOneOf(chord, COMMON.previous)) return stateOnly(toPrevious(state));
    if (isOneOf(chord, COMMON.refresh)) return { state, effects: [{ kind: "refresh" }, { kind: "redraw" }] };
    if (isOneOf(chord, COMMON.freeze)) return stateOnly(toggleFreeze(state));
    if (isOneOf(chord, COMMON.favorite)) return runIntent(state, favoriteIntent(state, chord, views), views);
    if (isOneOf(chord, COMMON.keep)) return stateOnly(openDialog(state, keepDialog(state, views)));
    if (isOneOf(chord, COMMON.door)) return nextEndpoint(state);
    if (isOneOf(chord, COMMON.quit)) return quit(state, views);
    return undefined;
  }

  function toNumber(state: State, chord: Chord): State {
    const view = views.find(({ digit }) => digit === chord);
    return view === undefined
      ? withFlash(state, `no view has the number ${chord}`)
      : navigateTo(state, { view: view.id });
  }

  const step = (state: State, event: Event): Step => {
    const stepped = stepIn(state, event);
    const restored = { ...stepped, state: reopenDialog(stepped.state) };
    const next = withRehearsal(state.dialog, withAttachment(state.dialog, restored));
    const isKey = event.kind === "key" || event.kind === "paste";
    const then = withSettledCursor(
      isKey ? dropKeyMessage(state, withoutKeyMessage(state, next.state)) : next.state,
      views,
    );
    if (isKey || !isDue(then, views)) return { state: then, effects: next.effects };
    const entered = step(then, { kind: "key", chord: "enter" });
    return { state: entered.state, effects: [...next.effects, ...entered.effects] };
  };
  return step;
}

/** Returns whether the workbench is on top and one of its editors is active. */
function takesText(state: State, views: readonly View[]): boolean {
  const { workbench, page, awaitsColumnFor } = state;
  const isOnTop = viewOf(state, views).body.kind === "workbench" && page === undefined && awaitsColumnFor === undefined;
  return isOnTop && (workbench.isEditing || workbench.isEditingParams || workbench.asking !== undefined);
}

/**
 * Removes an earlier message when something opens over the view, since the message would seem to belong to it. Failures
 * stay.
 */
function withoutKeyMessage(before: State, now: State): State {
  const isSame =
    now.place === before.place &&
    now.dialog?.id === before.dialog?.id &&
    now.page?.id === before.page?.id &&
    now.awaitsColumnFor === before.awaitsColumnFor &&
    now.prompt?.kind === before.prompt?.kind;
  const isOld = now.flash !== undefined && now.flash === before.flash && now.flash.tone === "plain";
  return isSame || !isOld ? now : { ...now, flash: undefined };
}

function unknown(state: State, chord: Chord, toLeave: string | undefined): Step {
  if (characterOf(chord) === undefined) return stateOnly(state);
  return stateOnly(
    withFlash(
      state,
      toLeave === undefined ? `${chord} does nothing here; ? lists the keys` : `Esc leaves ${toLeave} first`,
    ),
  );
}

/** Goes back exactly one step, and never out of the console. */
function stepBack(state: State, views: readonly View[]): Step {
  const { page } = state;
  if (page !== undefined && page.filter === "") {
    const effects: Step["effects"] = page.lines === undefined ? [{ kind: "cancel", id: page.id }] : [];
    return { state: { ...state, page: undefined }, effects };
  }
  if (filterText(state) !== "") return stateOnly(withFilter(state, ""));
  const working = underWayOf(state, views);
  if (working !== undefined) {
    return {
      state: withFlash(state, "stopped; Esc again goes back"),
      effects: [{ kind: "stop_reading", need: working }],
    };
  }
  const { marks, isNarrowed } = tableStateOf(state);
  if (marks.size > 0) return stateOnly(withTable(state, { marks: new Set() }));
  if (isNarrowed) return stateOnly(withTable(state, { isNarrowed: false }));
  return stateOnly(backFrom(state) ?? withFlash(state, "q quits"));
}

function toggleFreeze(state: State): State {
  const { data, now, frozen } = state;
  return { ...state, frozen: frozen === undefined ? { data, now } : undefined };
}

function nextEndpoint(state: State): Step {
  if (state.link.endpoints > 1) return { state, effects: [{ kind: "next_endpoint" }] };
  return stateOnly(withFlash(state, "only one gateway is configured"));
}
