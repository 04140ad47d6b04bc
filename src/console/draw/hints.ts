/**
 * Two lowest lines: the keys that work now, and the last message or the prompt. The hints are computed from the possible
 * actions and from the key table that the handler uses.
 */

import { cellsOf } from "../../base/index.ts";
import { cutLine } from "../format/fit.ts";
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
  readonly does: string;
}

const common = (entry: { readonly chords: readonly string[]; readonly does: string }): Hint => ({
  key: chordText(entry.chords[0] ?? ""),
  does: entry.does,
});

export function drawHints(state: State, views: readonly View[]): Line {
  const { columns } = state.size;
  if (state.awaitsColumnFor !== undefined) {
    const label = state.awaitsColumnFor === "sort" ? " sort by  " : " copy the cell of  ";
    return cutLine([{ text: label }, ...columnHints(state, views)], columns);
  }
  const { own, always } = hintsOf(state, views);
  return cutLine([{ text: " " }, ...spansOf(fitting([...own, ...always], columns - 1))], columns);
}

const RECONNECT: Hint = { ...common(COMMON.refresh), does: "try now" };

const [HELP, ESC, ...FIRST_TO_GO] = [COMMON.help, COMMON.back, COMMON.filter, COMMON.command].map(
  ({ chords: [chord] }) => chordText(chord),
);

/** Drops hints that do not fit: common ones before those of the view. The help stays, or Esc if there is no help. */
function fitting(hints: readonly Hint[], cells: number): readonly Hint[] {
  const stays = hints.some(({ key }) => key === HELP) ? HELP : ESC;
  const goes = [...hints].reverse();
  const first = [ESC, ...FIRST_TO_GO].flatMap((key) => goes.find((hint) => hint.key === key) ?? []);
  let kept = hints;
  for (const hint of [...first, ...goes]) {
    if (widthOf(kept) <= cells) break;
    if (hint.key !== stays) kept = kept.filter((one) => one !== hint);
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
        common(MOVING.page_up),
        common(MOVING.page_down),
        { ...common(MOVING.copy), does: "copy all" },
        common(COMMON.filter),
        common(COMMON.back),
      ],
    };
  }
  const view = viewOf(state, views);
  const own = offerHints(state, views);
  if (view.body.kind === "workbench") {
    const keys = workbenchHints(state.workbench).map(({ chord, does }) => ({ key: chordText(chord), does }));
    const isTyping = modeOf(state.workbench) !== "result";
    // While text is typed, letters do not run verbs.
    if (isTyping) return { own: keys, always: [] };
    return { own: [...keys, ...own], always: [common(COMMON.command), common(COMMON.help)] };
  }
  if (view.body.kind === "charts") {
    const back = tableStateOf(state).moment === undefined ? [] : [common(CHARTS.now)];
    const moving = { key: "Left Right", does: "other time" };
    const span = { ...common(CHARTS.scale), does: CHART_SCALES[otherScale(state.preferences.chartScale)].words };
    return {
      own: [moving, ...back, span, ...own],
      always: [common(COMMON.command), common(COMMON.help), common(COMMON.back)],
    };
  }
  return {
    own: state.link.state.kind === "online" || state.link.state.kind === "connecting" ? own : [RECONNECT, ...own],
    always: [common(COMMON.command), common(COMMON.filter), common(COMMON.help), common(COMMON.back)],
  };
}

const offerHints = (state: State, views: readonly View[]): readonly Hint[] =>
  offersOf(state, views)
    .filter(({ isShown, why }) => isShown && why === undefined)
    .map(({ offer }) => ({ key: chordText(VERBS[offer.verb].chord), does: offer.does ?? VERBS[offer.verb].does }));

function promptHints({ kind, isFile }: PromptState): readonly Hint[] {
  if (kind === "help") {
    return [
      { key: "Enter", does: "run" },
      { key: "Up Down", does: "choose" },
      common(MOVING.page_down),
      { key: "Esc", does: "close" },
    ];
  }
  const leave: Hint = { key: "Esc", does: kind === "filter" ? "cancel" : "leave" };
  const accept: Hint = { key: "Enter", does: kind === "command" ? "go" : kind === "filter" ? "keep" : "accept" };
  const complete: Hint = { key: "Tab", does: "complete" };
  return [
    accept,
    ...(kind === "command" ? [{ key: "Up Down", does: "choose" }] : []),
    ...(kind === "command" || isFile !== undefined ? [complete] : []),
    leave,
  ];
}

function dialogHints(
  { dialog, stage, focus, typed, values, attachment, rehearsal }: NonNullable<State["dialog"]>,
  isPossible: boolean,
): readonly Hint[] {
  const leave = common(DIALOG.leave);
  if (stage.kind === "running") return [];
  if (stage.kind === "done") return [{ ...common(DIALOG.copy), does: "copy what is shown once" }, leave];
  const { fields, confirm } = dialog;
  const kind = fields[focus]?.kind;
  const isTyping = confirm.kind === "typed" && focus === fields.length;
  const canChoose =
    kind === "choice" || kind === "boxes" || (focus === -1 && fields.some((one) => one.kind === "choice"));
  const rehearsed = rehearsal?.outcome;
  const isUntouched = focus === -1 || (isTyping && typed.text === "");
  return [
    ...(isUntouched && rehearsed?.kind === "done" && hasRows(rehearsed.result) ? [common(DIALOG.rehearsed)] : []),
    ...(isPossible && isTyping && typed.text === confirm.expected(values)
      ? [{ key: "Enter", does: confirm.does }]
      : []),
    ...(isPossible && focus === -1 && confirm.kind === "yes"
      ? [{ ...common(DIALOG.confirm), does: confirm.does }]
      : []),
    ...(isPossible && fields[focus] !== undefined && confirm.kind === "yes"
      ? [{ ...common(DIALOG.confirm_now), does: confirm.does }]
      : []),
    leave,
    ...(fields.length > 0 ? [common(DIALOG.field)] : []),
    ...(canChoose ? [{ key: "Left Right", does: DIALOG.choose.does }] : []),
    ...(kind === "boxes" ? [common(DIALOG.toggle)] : []),
    ...(attachment === undefined ? [] : [common(DIALOG.scroll_down)]),
    ...(focus === -1 ? [common(DIALOG.copy)] : []),
  ];
}

function columnHints(state: State, views: readonly View[]): Line {
  const columns = listingOf(state, views)?.table.columns ?? [];
  return spansOf(columns.map(({ letter, id }) => ({ key: letter, does: id })));
}

const widthOf = (hints: readonly Hint[]): number =>
  hints.reduce((sum, { key, does }) => sum + cellsOf(key) + cellsOf(does) + 3, 0);

const spansOf = (hints: readonly Hint[]): readonly Span[] =>
  hints.flatMap(({ key, does }, at) => [
    { text: `${at === 0 ? "" : "  "}${key}`, tone: "strong" as const },
    { text: ` ${does}`, tone: "dim" as const },
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
  if (flash !== undefined) return cutLine([{ text: ` ${flash.words}`, tone: flash.tone }], columns);
  const notice = noticeOf(statusOf(state, views), state) ?? filterNotice(state, views);
  return notice === undefined ? BLANK : cutLine([{ text: " " }, ...notice], columns);
}

function filterNotice(state: State, views: readonly View[]): Line | undefined {
  const error = listingOf(state, views)?.filterError ?? textOf(state, views)?.filterError;
  if (error === undefined) return undefined;
  const filter = state.page?.filter ?? tableStateOf(state).filter;
  return [{ text: `${filter} filters nothing: ${error}`, tone: "warn" }];
}
