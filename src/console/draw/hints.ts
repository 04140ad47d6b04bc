/**
 * Two lowest lines: the keys that work now, and the last message or the prompt. The hints are computed from the possible
 * actions and from the key table that the handler uses.
 */

import { cellsOf } from "../../base/index.ts";
import { cutLine } from "../format/fit-line.ts";
import { chordText } from "../format/keys-text.ts";
import { CHART_SCALES, otherScale } from "../model/chart-scale.ts";
import { CHARTS, COMMON, DIALOG, MOVING, VERBS } from "../model/key-bindings.ts";
import { hasRows } from "../model/rehearsal.ts";
import type { PromptState, State } from "../model/state.ts";
import { BLANK, type Line, type Span } from "../model/text.ts";
import type { View } from "../model/view.ts";
import { shownKeys } from "../store/custom-commands.ts";
import { listingOf, offersOf, statusOf, tableStateOf, textOf, viewOf } from "../store/selectors.ts";
import { whyNotConfirmed } from "../store/step-dialog.ts";
import { modeOf, workbenchHints } from "../workbench/workbench-keys.ts";
import { editLine } from "./edit-line.ts";
import { noticeOf } from "./status-lines.ts";

interface Hint {
  readonly key: string;
  readonly label: string;
}

const hintOf = (entry: { readonly chords: readonly string[]; readonly label: string }): Hint => ({
  key: chordText(entry.chords[0] ?? ""),
  label: entry.label,
});

export function drawHints(state: State, views: readonly View[]): Line {
  const { columns } = state.size;
  if (state.awaitsColumnFor !== undefined) {
    const label = state.awaitsColumnFor === "sort" ? " sort by  " : " copy the cell of  ";
    return cutLine([{ text: label }, ...columnHints(state, views)], columns);
  }
  const { own, always } = hintsOf(state, views);
  return cutLine([{ text: " " }, ...spansOf(fitHints([...own, ...always], columns - 1))], columns);
}

const RECONNECT: Hint = { ...hintOf(COMMON.refresh), label: "try now" };

const [HELP, ESC, ...FIRST_TO_GO] = [COMMON.help, COMMON.back, COMMON.filter, COMMON.command].map(
  ({ chords: [chord] }) => chordText(chord),
);

/** Drops hints that do not fit: common ones before those of the view. The help stays, or Esc if there is no help. */
function fitHints(hints: readonly Hint[], cells: number): readonly Hint[] {
  const keptKey = hints.some(({ key }) => key === HELP) ? HELP : ESC;
  const candidates = [...hints].reverse();
  const first = [ESC, ...FIRST_TO_GO].flatMap((key) => candidates.find((hint) => hint.key === key) ?? []);
  let kept = hints;
  for (const hint of [...first, ...candidates]) {
    if (widthOf(kept) <= cells) break;
    if (hint.key !== keptKey) kept = kept.filter((one) => one !== hint);
  }
  return kept;
}

interface Hints {
  readonly own: readonly Hint[];
  readonly always: readonly Hint[];
}

/** Returns the keys that work now, as the operator assigned them. */
export function hintsOf(state: State, views: readonly View[]): Hints {
  const hints = ownHintsOf(state, views);
  if (state.prompt !== undefined || state.dialog !== undefined) return hints;
  const renamed = (of: readonly Hint[]): readonly Hint[] =>
    of.map((hint) => ({ ...hint, key: shownKeys(state.keys, hint.key) }));
  return { own: renamed(hints.own), always: renamed(hints.always) };
}

function ownHintsOf(state: State, views: readonly View[]): Hints {
  if (state.prompt !== undefined) return { own: [], always: promptHints(state.prompt) };
  if (state.dialog !== undefined)
    return { own: [], always: dialogHints(state.dialog, whyNotConfirmed(state) === undefined) };
  if (state.page !== undefined) {
    return {
      own: state.page.row === undefined ? [] : offerHints(state, views),
      always: [
        hintOf(MOVING.page_up),
        hintOf(MOVING.page_down),
        { ...hintOf(MOVING.copy), label: "copy all" },
        hintOf(COMMON.filter),
        hintOf(COMMON.back),
      ],
    };
  }
  const view = viewOf(state, views);
  const own = offerHints(state, views);
  if (view.body.kind === "workbench") {
    const keys = workbenchHints(state.workbench).map(({ chord, label }) => ({ key: chordText(chord), label }));
    const isTyping = modeOf(state.workbench) !== "result";
    // While text is typed, letters do not run verbs.
    if (isTyping) return { own: keys, always: [] };
    return { own: [...keys, ...own], always: [hintOf(COMMON.command), hintOf(COMMON.help)] };
  }
  if (view.body.kind === "charts") {
    const back = tableStateOf(state).moment === undefined ? [] : [hintOf(CHARTS.now)];
    const moving = { key: "Left Right", label: "other time" };
    const span = { ...hintOf(CHARTS.scale), label: CHART_SCALES[otherScale(state.preferences.chartScale)].label };
    return {
      own: [moving, ...back, span, ...own],
      always: [hintOf(COMMON.command), hintOf(COMMON.help), hintOf(COMMON.back)],
    };
  }
  return {
    own: state.link.state.kind === "online" || state.link.state.kind === "connecting" ? own : [RECONNECT, ...own],
    always: [hintOf(COMMON.command), hintOf(COMMON.filter), hintOf(COMMON.help), hintOf(COMMON.back)],
  };
}

const offerHints = (state: State, views: readonly View[]): readonly Hint[] =>
  offersOf(state, views)
    .filter(({ isShown, disabledReason }) => isShown && disabledReason === undefined)
    .map(({ offer }) => ({ key: chordText(VERBS[offer.verb].chord), label: offer.label ?? VERBS[offer.verb].label }));

function promptHints({ kind, isFile }: PromptState): readonly Hint[] {
  if (kind === "help") {
    return [
      { key: "Enter", label: "run" },
      { key: "Up Down", label: "choose" },
      hintOf(MOVING.page_down),
      { key: "Esc", label: "close" },
    ];
  }
  const leave: Hint = { key: "Esc", label: kind === "filter" ? "cancel" : "leave" };
  const accept: Hint = { key: "Enter", label: kind === "command" ? "go" : kind === "filter" ? "keep" : "accept" };
  const complete: Hint = { key: "Tab", label: "complete" };
  return [
    accept,
    ...(kind === "command" ? [{ key: "Up Down", label: "choose" }] : []),
    ...(kind === "command" || isFile !== undefined ? [complete] : []),
    leave,
  ];
}

function dialogHints(
  { dialog, stage, focus, typed, values, attachment, rehearsal }: NonNullable<State["dialog"]>,
  isPossible: boolean,
): readonly Hint[] {
  const leave = hintOf(DIALOG.leave);
  if (stage.kind === "running") return [];
  if (stage.kind === "done") return [{ ...hintOf(DIALOG.copy), label: "copy what is shown once" }, leave];
  const { fields, confirm } = dialog;
  const kind = fields[focus]?.kind;
  const isTyping = confirm.kind === "typed" && focus === fields.length;
  const canChoose =
    kind === "choice" || kind === "boxes" || (focus === -1 && fields.some((one) => one.kind === "choice"));
  const rehearsed = rehearsal?.outcome;
  const isUntouched = focus === -1 || (isTyping && typed.text === "");
  return [
    ...(isUntouched && rehearsed?.kind === "done" && hasRows(rehearsed.result) ? [hintOf(DIALOG.rehearsed)] : []),
    ...(isPossible && isTyping && typed.text === confirm.expected(values)
      ? [{ key: "Enter", label: confirm.button }]
      : []),
    ...(isPossible && focus === -1 && confirm.kind === "yes"
      ? [{ ...hintOf(DIALOG.confirm), label: confirm.button }]
      : []),
    ...(isPossible && fields[focus] !== undefined && confirm.kind === "yes"
      ? [{ ...hintOf(DIALOG.confirm_now), label: confirm.button }]
      : []),
    leave,
    ...(fields.length > 0 ? [hintOf(DIALOG.field)] : []),
    ...(canChoose ? [{ key: "Left Right", label: DIALOG.choose.label }] : []),
    ...(kind === "boxes" ? [hintOf(DIALOG.toggle)] : []),
    ...(attachment === undefined ? [] : [hintOf(DIALOG.scroll_down)]),
    ...(focus === -1 ? [hintOf(DIALOG.copy)] : []),
  ];
}

function columnHints(state: State, views: readonly View[]): Line {
  const columns = listingOf(state, views)?.table.columns ?? [];
  return spansOf(columns.map(({ letter, id }) => ({ key: letter, label: id })));
}

const widthOf = (hints: readonly Hint[]): number =>
  hints.reduce((sum, { key, label }) => sum + cellsOf(key) + cellsOf(label) + 3, 0);

const spansOf = (hints: readonly Hint[]): readonly Span[] =>
  hints.flatMap(({ key, label }, at) => [
    { text: `${at === 0 ? "" : "  "}${key}`, tone: "strong" as const },
    { text: ` ${label}`, tone: "dim" as const },
  ]);

/** Draws the prompt; otherwise the last message; otherwise why the data is old, or the error of the filter. */
export function drawFlash(state: State, views: readonly View[]): Line {
  const { columns } = state.size;
  const { prompt, flash } = state;
  if (prompt !== undefined) {
    const label = ` ${prompt.label}${/[\s:/]$/.test(prompt.label) ? "" : ": "}`;
    const start = cutLine([{ text: label, tone: "strong" }], Math.max(4, Math.floor(columns / 2)));
    const width = start.reduce((sum, { text }) => sum + cellsOf(text), 0);
    return cutLine([...start, ...editLine(prompt.edit, Math.max(3, columns - width - 1))], columns);
  }
  if (flash !== undefined) return cutLine([{ text: ` ${flash.message}`, tone: flash.tone }], columns);
  const notice = noticeOf(statusOf(state, views), state) ?? filterNotice(state, views);
  return notice === undefined ? BLANK : cutLine([{ text: " " }, ...notice], columns);
}

function filterNotice(state: State, views: readonly View[]): Line | undefined {
  const error = listingOf(state, views)?.filterError ?? textOf(state, views)?.filterError;
  if (error === undefined) return undefined;
  const filter = state.page?.filter ?? tableStateOf(state).filter;
  return [{ text: `${filter} filters nothing: ${error}`, tone: "warn" }];
}
