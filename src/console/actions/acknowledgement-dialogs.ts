/**
 * Dialogs that acknowledge alerts and lift acknowledgements. An acknowledgement is replicated, so that the next operator on
 * duty sees it, and names its author; it does not affect traffic. Source: design decisions, section 17.
 */

import { type AcknowledgementRecord, type ATTENTION_SEVERITIES, OPERATIONS } from "../../admin-api/index.ts";
import { escapeControls, formatDuration } from "../../base/index.ts";
import { namesText } from "../format/name-list.ts";
import { plural } from "../format/numbers.ts";
import { humanDuration } from "../format/times.ts";
import { type Action, actionOf } from "../model/action.ts";
import type { Context } from "../model/context.ts";
import { type Data, rowsOf } from "../model/data.ts";
import type { CreateUndo, Dialog, Field } from "../model/dialog.ts";
import { line } from "../model/text.ts";

type Lines = ReturnType<Dialog["lines"]>;

/** Alert that can be acknowledged. */
export interface Acknowledgeable {
  /** Name of the acknowledgement, which is the id of the alert. */
  readonly name: string;
  /** Label: `provider acme-chat`. */
  readonly label: string;
  readonly severity: (typeof ATTENTION_SEVERITIES)[number];
  readonly degree: number;
}

const { params, body } = OPERATIONS.put_acknowledgement;
const NAME = patternOf(params.keys.name.json);
const REASON = patternOf(body.schema.keys.reason.json);

function patternOf({ pattern }: Readonly<Record<string, unknown>>): RegExp {
  if (typeof pattern !== "string") throw new Error("the admin API bounds it by a pattern");
  return new RegExp(pattern, "u");
}

/**
 * Returns the reason why the admin API refuses the name, such as that of a caller with a thousand characters; `undefined` if it
 * is valid.
 */
export const nameProblem = (id: string): string | undefined =>
  NAME.test(id) && id.isWellFormed()
    ? undefined
    : "its name is too long to be acknowledged, or contains control characters";

/** Returns the acknowledgements in effect at a time, in milliseconds since 1970. */
export const activeAcknowledgements = (data: Data, now: number): readonly AcknowledgementRecord[] =>
  rowsOf(data, "acknowledgements").filter(({ until }) => Date.parse(until) > now);

export const acknowledgementOf = ({ data, now }: Context, name: string): AcknowledgementRecord | undefined =>
  activeAcknowledgements(data, now).find((row) => row.name === name);

/** Describes an acknowledgement: `"known" by unix:1000, ends in 1h 12m`. */
const acknowledgementText = ({ reason, by, until }: AcknowledgementRecord, now: number): string =>
  `"${escapeControls(reason)}" by ${escapeControls(by)}, ends in ${humanDuration(Date.parse(until) - now)}`;

const DURATIONS = ["30m", "1h", "4h", "8h", "24h", "72h", "168h"] as const;

const reasonProblem = (text: string): string | undefined =>
  REASON.test(text)
    ? undefined
    : text === ""
      ? "type a reason: other operators read it"
      : "1 to 500 characters, no control characters";

const fieldsOf = (reason: string): readonly Field[] => [
  { kind: "text", id: "reason", label: "Reason", initial: reason, isRequired: true, validate: reasonProblem },
  { kind: "choice", id: "duration", label: "For", initial: "4h", choices: DURATIONS },
];

/** Acknowledges at least one alert. Existing acknowledgements are replaced. */
export function acknowledgeDialog(items: readonly Acknowledgeable[], context: Context): Dialog {
  const [first] = items;
  const isOne = items.length === 1;
  const before = items.flatMap(({ name }) => acknowledgementOf(context, name) ?? []);
  return {
    title: `Acknowledge ${isOne && first !== undefined ? escapeControls(first.label) : plural(items.length, "row")}`,
    fields: fieldsOf(before[0]?.reason ?? ""),
    lines: (_, now) => [
      ...(isOne ? [] : [["Rows", line(namesText(items.map(({ label }) => label)))] as const]),
      [
        "Effect",
        line(`${isOne ? "folded" : "each is folded"} away in every operator's overview; nothing else changes`),
      ],
      ["Back", line("at the end of the time, once it gets worse, or when the acknowledgement is lifted")],
      ...items.flatMap(({ name }): Lines => {
        const active = acknowledgementOf(now, name);
        return active === undefined ? [] : [["Already", line(acknowledgementText(active, now.now), "warn")]];
      }),
    ],
    confirm: { kind: "yes", button: "acknowledge" },
    blockedReason: (_, { data }) => whyUnread(data),
    task: ({ reason = "", duration = "" }) => ({
      kind: "actions",
      actions: items.map(({ name, label, severity, degree }) =>
        putAction(name, label, { reason, duration, severity, degree }),
      ),
    }),
    undo: () => (then) =>
      before.length === items.length
        ? acknowledgeAgainDialog(before)
        : liftAcknowledgementsDialog(
            items.map(({ name }) => name),
            then,
          ),
  };
}

/** Returns the reason why acknowledgements are unknown: an older gateway has none, and a policy may forbid reading them. */
export function whyUnread(data: Data): string | undefined {
  const reading = data.get({ id: "list_acknowledgements" });
  if (reading?.value !== undefined) return undefined;
  const { failure } = reading ?? {};
  return failure === undefined
    ? "the acknowledgements are not loaded yet"
    : `the acknowledgements cannot be read: ${escapeControls(failure.message)}`;
}

/** Returns the reason if none of `names` is acknowledged; `undefined` if one is. */
export function whyNotAcknowledged(context: Context, names: readonly string[]): string | undefined {
  if (names.some((name) => acknowledgementOf(context, name) !== undefined)) return undefined;
  return names.length === 1 ? "it is no longer acknowledged" : "none of these is acknowledged any longer";
}

export function liftAcknowledgementsDialog(names: readonly string[], atFirst: Context): Dialog {
  const active = (context: Context) => names.flatMap((name) => acknowledgementOf(context, name) ?? []);
  const before = active(atFirst);
  const [first] = before;
  return {
    title:
      before.length === 1 && first !== undefined
        ? `Lift the acknowledgement of ${escapeControls(first.name)}`
        : `Lift ${plural(before.length, "acknowledgement")}`,
    fields: [],
    lines: (_, context) => [
      ...active(context)
        .slice(0, MAX_LISTED)
        .map((row): Lines[number] => ["Was", line(acknowledgementText(row, context.now))]),
      ["Effect", line("the alert is shown in every operator's overview again")],
    ],
    confirm: { kind: "yes", button: "lift now" },
    blockedReason: (_, context) => whyNotAcknowledged(context, names),
    task: (_, context) => ({
      kind: "actions",
      actions: active(context).map(({ name }) =>
        actionOf("delete_acknowledgement", { params: { name } }, () => ({
          message: `${escapeControls(name)}: acknowledgement lifted`,
        })),
      ),
    }),
    undo: (_, context) => acknowledgeAgainUndo(active(context)),
  };
}

/** Maximum number of acknowledgements that are listed individually. */
const MAX_LISTED = 8;

const acknowledgeAgainUndo = (before: readonly AcknowledgementRecord[]): CreateUndo | undefined =>
  before.length === 0 ? undefined : () => acknowledgeAgainDialog(before);

/** Undoes a lift or a changed end: acknowledges as before, for the remaining time. */
function acknowledgeAgainDialog(before: readonly AcknowledgementRecord[]): Dialog {
  const left = (now: number) => before.filter(({ until }) => Date.parse(until) > now);
  return {
    title: `Acknowledge ${plural(before.length, "row")} again`,
    fields: [],
    lines: (_, { now }) => left(now).map((row): Lines[number] => ["Again", line(acknowledgementText(row, now))]),
    confirm: { kind: "yes", button: "acknowledge again" },
    blockedReason: (_, { now }) => (left(now).length === 0 ? "it would have ended by now" : undefined),
    task: (_, { now }) => ({
      kind: "actions",
      actions: left(now).map(({ name, reason, until, severity, degree }) =>
        putAction(name, name, {
          reason,
          duration: formatDuration(Math.max(1, Date.parse(until) - now)),
          ...(severity !== null && { severity }),
          ...(degree !== null && { degree }),
        }),
      ),
    }),
  };
}

interface Put {
  readonly reason: string;
  readonly duration: string;
  readonly severity?: Acknowledgeable["severity"];
  readonly degree?: number;
}

const putAction = (name: string, label: string, acknowledgement: Put): Action =>
  actionOf("put_acknowledgement", { params: { name }, body: acknowledgement }, () => ({
    message: `${escapeControls(label)} acknowledged for ${acknowledgement.duration}`,
  }));
