/**
 * Dialogs that suspend, lift and extend, for every view whose rows can be suspended. Each shows the effect on traffic before it
 * is confirmed, updated with each answer of the gateway while it is open. Source: operator console reference, B5 (suspend
 * dialog) and B6; design decisions, section 3.
 *
 * One subject is confirmed by `y`, several by typing their number. A view may open a dialog if its `disabledReason` returned nothing; the
 * dialog's own `blockedReason` reports what has changed since.
 */

import type { SuspensionKind, SuspensionRecord } from "../../admin-api/index.ts";
import { parseDuration } from "../../base/index.ts";
import { namesText } from "../format/name-list.ts";
import { plural } from "../format/numbers.ts";
import { type Action, actionOf } from "../model/action.ts";
import type { Context } from "../model/context.ts";
import { type Data, rowsOf } from "../model/data.ts";
import type { CreateUndo, Dialog, FieldValues } from "../model/dialog.ts";
import { type Line, line } from "../model/text.ts";
import { onNodes } from "./applying-nodes.ts";
import { suspendAgainDialog } from "./resuspend-dialog.ts";
import {
  DURATION_FIELD,
  durationText,
  KIND_FIELD,
  kindOf,
  nameField,
  nameProblem,
  reasonField,
  reasonProblem,
  UNTIL_LIFTED,
} from "./suspension-fields.ts";
import { reroutingOf, suspensionOf } from "./suspension-routes.ts";
import { KIND_TEXTS, labelOf, type Suspendable, suspensionText, untilText } from "./suspension-text.ts";

export { activeSuspensions, suspensionOf } from "./suspension-routes.ts";
export { labelOf, type Suspendable, suspensionText } from "./suspension-text.ts";

/** Subjects of one kind, one or more. */
export interface Subjects {
  readonly kind: SuspensionKind;
  readonly names: readonly string[];
}

type Lines = ReturnType<Dialog["lines"]>;

/** Warning that the reason is part of the error that callers receive. */
const READ_BY_CALLERS: Lines[number] = ["Callers", line("read the reason in the error they get", "warn")];

export function suspendDialog({ kind, names }: Subjects, { data }: Context): Dialog {
  return {
    title: `Suspend ${titleOf(kind, names)}`,
    isDangerous: kind === "provider" && reroutingOf(data, names).unserved.length > 0,
    fields: [reasonField(), DURATION_FIELD],
    lines: (_, context) => [...namesLine(names), ...consequences(kind, names, context.data), READ_BY_CALLERS],
    confirm: confirmationFor("suspend now", kind, names.length),
    blockedReason: (values, context) => whyNotSuspend(kind, names, values, context),
    task: (values, context) => ({
      kind: "actions",
      actions: notSuspended(kind, names, context.data).map((name) => putAction({ kind, name }, values)),
    }),
    undo: (_, context) => liftOf(notSuspended(kind, names, context.data).map((name) => ({ kind, name }))),
  };
}

const liftOf =
  (subjects: readonly Suspendable[]): CreateUndo =>
  (context) =>
    liftSuspensionsDialog(subjects, context);

/** Suspends a subject whose kind and name are typed in the dialog. */
export function newSuspensionDialog({ data }: Context): Dialog {
  const subjectOf = (values: FieldValues): Suspendable => ({
    kind: kindOf(values["kind"]),
    name: values["name"] ?? "",
  });
  return {
    title: "New suspension",
    fields: [KIND_FIELD, nameField(knownNames(data)), reasonField(), DURATION_FIELD],
    lines(values, context) {
      const { kind, name } = subjectOf(values);
      return name === ""
        ? [["Effect", line("none yet: type the name of what to suspend")]]
        : [...consequences(kind, [name], context.data), READ_BY_CALLERS];
    },
    confirm: { kind: "yes", button: "suspend now" },
    blockedReason(values, context) {
      const { kind, name } = subjectOf(values);
      return nameProblem(name) ?? whyUnknown(kind, name, context.data) ?? whyNotSuspend(kind, [name], values, context);
    },
    task: (values) => ({ kind: "actions", actions: [putAction(subjectOf(values), values)] }),
    undo: (values) => liftOf([subjectOf(values)]),
  };
}

export const liftDialog = ({ kind, names }: Subjects, context: Context): Dialog =>
  liftSuspensionsDialog(
    names.map((name) => ({ kind, name })),
    context,
  );

/** Lifts suspensions of several kinds at once. Ignores subjects that are not suspended if others are. */
export function liftSuspensionsDialog(chosen: readonly Suspendable[], { data: initialData }: Context): Dialog {
  const active = chosen.filter(({ kind, name }) => suspensionOf(initialData, kind, name) !== undefined);
  const subjects = active.length === 0 ? chosen : active;
  const [first] = subjects;
  const suspended = (data: Data): readonly SuspensionRecord[] =>
    subjects.flatMap(({ kind, name }) => suspensionOf(data, kind, name) ?? []);
  return {
    title: `Lift ${subjects.length === 1 && first !== undefined ? labelOf(first) : plural(subjects.length, "suspension")}`,
    fields: [],
    lines(_, { data, now }) {
      const all = suspended(data);
      return [
        ...all.slice(0, MAX_LISTED).map((it): Lines[number] => ["Effect", line(liftText(it, data, now))]),
        ...moreLine(all.length - MAX_LISTED),
        ...(all.some(({ kind }) => ASKED_BY_CHECK.has(kind)) ? [PROBE_HINT] : []),
      ];
    },
    confirm:
      subjects.length === 1
        ? { kind: "yes", button: "lift now" }
        : typedConfirmation("lift now", subjects.length, "suspensions"),
    blockedReason: (_, { data }) => whyNotSuspended(data, subjects),
    task: (_, { data }) => ({ kind: "actions", actions: suspended(data).map(deleteAction) }),
    undo: (_, { data }) => suspendAgainUndo(suspended(data)),
  };
}

const ASKED_BY_CHECK: ReadonlySet<SuspensionKind> = new Set(["provider", "mcp", "a2a"]);

/**
 * Advice to check a provider before its suspension is lifted. It gets no requests while suspended, so its known state
 * is old.
 */
const PROBE_HINT: Lines[number] = [
  "First",
  line("check that it answers: `gateway check -config NODE_FILE` on a node sends it one request"),
];

/** Sets a new end, counted from now; reason and author are replaced by those of this operator. */
export function extendDialog({ kind, name }: Suspendable, { data }: Context): Dialog {
  const label = labelOf({ kind, name });
  return {
    title: `Extend ${label}`,
    fields: [DURATION_FIELD, reasonField(suspensionOf(data, kind, name)?.reason)],
    lines(values, context) {
      const suspension = suspensionOf(context.data, kind, name);
      if (suspension === undefined) return [["Now", line("not suspended", "warn")]];
      return [
        ["Now", line(suspensionText(suspension, context.now))],
        ["Effect", newEnd(label, suspension, durationOf(values), context.now)],
        ["Then", line("it is recorded under your name, with the reason below")],
      ];
    },
    confirm: { kind: "yes", button: "extend now" },
    blockedReason: (values, context) =>
      reasonProblem(values["reason"] ?? "") ??
      (suspensionOf(context.data, kind, name) === undefined ? `${label} is not suspended` : undefined),
    task: (values) => ({ kind: "actions", actions: [putAction({ kind, name }, values)] }),
    undo: (_, context) => suspendAgainUndo([suspensionOf(context.data, kind, name)].filter((it) => it !== undefined)),
  };
}

const suspendAgainUndo = (records: readonly SuspensionRecord[]): CreateUndo | undefined =>
  records.length === 0 ? undefined : () => suspendAgainDialog(records);

/** Returns the reason why none of them can be suspended, for `disabledReason` of an offer. */
export function whyAllSuspended(data: Data, { kind, names }: Subjects): string | undefined {
  const bad = names.map((name) => nameProblem(name)).find((reason) => reason !== undefined);
  if (bad !== undefined) return bad;
  if (notSuspended(kind, names, data).length > 0) return undefined;
  const [name = ""] = names;
  const by = suspensionOf(data, kind, name);
  return names.length === 1 && by !== undefined
    ? `${labelOf({ kind, name })} is suspended already, by ${namesText([by.by])}`
    : `all ${names.length} are suspended already`;
}

/** Returns the reason why none of them can be lifted, for `disabledReason` of an offer. */
export function whyNotSuspended(data: Data, subjects: readonly Suspendable[]): string | undefined {
  if (subjects.some(({ kind, name }) => suspensionOf(data, kind, name) !== undefined)) return undefined;
  return subjects.length === 1
    ? `${namesText(subjects.map(({ name }) => name))} is not suspended`
    : `none of these ${subjects.length} is suspended`;
}

function whyNotSuspend(
  kind: SuspensionKind,
  names: readonly string[],
  values: FieldValues,
  { data }: Context,
): string | undefined {
  return reasonProblem(values["reason"] ?? "") ?? whyAllSuspended(data, { kind, names });
}

/** Returns the reason if the name does not exist. Models are not checked, since a model may have a name that no list contains. */
function whyUnknown(kind: SuspensionKind, name: string, data: Data): string | undefined {
  if (kind === "model" && name.endsWith("*")) return "a suspension names one model; a pattern would match nothing";
  const list = LISTS[kind];
  const known = list === undefined ? undefined : data.get({ id: list })?.value;
  if (known === undefined || known.some((row) => row.name === name)) return undefined;
  return `there is no ${KIND_TEXTS[kind].one} named ${namesText([name])}`;
}

/** Lists that contain all names of a kind. */
const LISTS = {
  provider: "list_backends",
  profile: "list_profiles",
  mcp: "list_mcp_servers",
  a2a: "list_a2a_agents",
  key: undefined,
  model: undefined,
  issuer: undefined,
} as const;

/**
 * Describes the effects of the suspension, and names the subjects that are already suspended, which stay unchanged.
 * `names` are of one kind.
 */
function consequences(kind: SuspensionKind, names: readonly string[], data: Data): Lines {
  const unsuspended = notSuspended(kind, names, data);
  const before = names.filter((name) => !unsuspended.includes(name));
  return [
    ["Effect", line(effectText(kind, unsuspended.length === 0 ? names : unsuspended, data))],
    ...(kind === "provider" ? reroutedText(names, data) : []),
    ...(before.length === 0
      ? []
      : [["Already", line(`${namesText(before)} is suspended already and is left unchanged`, "warn")] as const]),
  ];
}

function effectText(kind: SuspensionKind, names: readonly string[], data: Data): string {
  const { many, one, suspended } = KIND_TEXTS[kind];
  const named = names.length === 1 ? namesText(names) : `these ${plural(names.length, one, many)}`;
  const subject = kind === "provider" || names.length > 1 ? named : `${one} ${named}`;
  const inFlight = rowsOf(data, "backends").filter(({ name }) => names.includes(name));
  const running = inFlight.reduce((sum, { in_flight }) => sum + in_flight, 0);
  const finishing =
    kind === "provider" && inFlight.length > 0 ? `; ${running} in flight finish${running === 1 ? "es" : ""}` : "";
  return `${suspended(subject)} ${onNodes(data)}${finishing}`;
}

/** Maximum number of models without a provider that a line names. */
const MAX_UNSERVED = 5;

function reroutedText(names: readonly string[], data: Data): Lines {
  if (data.get({ id: "list_models" })?.value === undefined) {
    return [["Then", line("the new route is not known: the models could not be read", "warn")]];
  }
  const { routed, replacements, unserved } = reroutingOf(data, names);
  const possessive = names.length === 1 ? "its" : "their";
  const left = `models left with no provider: ${unserved.length}`;
  return [
    [
      "Then",
      line(
        routed === 0
          ? `no model is routed to ${names.length === 1 ? "it" : "them"} first`
          : replacements.length === 0
            ? `${possessive} models go to: no provider`
            : `${possessive} models go to: ${namesText(replacements)}`,
      ),
    ],
    ["", unserved.length === 0 ? line(left) : line(`${left} (${namesText(unserved, MAX_UNSERVED)})`, "fail")],
  ];
}

const notSuspended = (kind: SuspensionKind, names: readonly string[], data: Data): readonly string[] =>
  names.filter((name) => suspensionOf(data, kind, name) === undefined);

/** Maximum number of suspensions that the lift dialog lists individually. */
const MAX_LISTED = 8;

const moreLine = (more: number): Lines => (more > 0 ? [["", line(`and ${more} more`)]] : []);

function liftText(suspension: SuspensionRecord, data: Data, now: number): string {
  const { kind, by, reason } = suspension;
  const [who, reasonText] = [namesText([by]), namesText([reason])];
  return `${labelOf(suspension)} ${KIND_TEXTS[kind].lifted} ${onNodes(data)}. Suspended by ${who} for "${reasonText}", ${untilText(suspension, now)}`;
}

function newEnd(label: string, { until }: SuspensionRecord, duration: string, now: number): Line {
  if (duration === UNTIL_LIFTED) return line(`${label} stays suspended until lifted`);
  const isSooner = until === null || now + (parseDuration(duration) ?? 0) < Date.parse(until);
  return isSooner
    ? line(`${label} lifts ${duration} from now, which is SOONER than it would`, "warn")
    : line(`${label} lifts ${duration} from now`);
}

const durationOf = (values: FieldValues): string => values["duration"] ?? DURATION_FIELD.initial;

function putAction({ kind, name }: Suspendable, values: FieldValues): Action {
  const duration = durationOf(values);
  return actionOf(
    "put_suspension",
    {
      params: { kind, name },
      body: { reason: values["reason"] ?? "", ...(duration !== UNTIL_LIFTED && { duration }) },
    },
    () => ({ message: `${labelOf({ kind, name })} suspended ${durationText(duration)}` }),
  );
}

function deleteAction({ kind, name }: Suspendable): Action {
  return actionOf("delete_suspension", { params: { kind, name } }, () => ({
    message: `${labelOf({ kind, name })} ${KIND_TEXTS[kind].lifted}`,
  }));
}

function titleOf(kind: SuspensionKind, names: readonly string[]): string {
  const [name = ""] = names;
  const { one, many } = KIND_TEXTS[kind];
  return names.length === 1 ? labelOf({ kind, name }) : plural(names.length, one, many);
}

const namesLine = (names: readonly string[]): Lines => (names.length > 1 ? [["Names", line(namesText(names))]] : []);

function confirmationFor(button: string, kind: SuspensionKind, number: number): Dialog["confirm"] {
  return number === 1 ? { kind: "yes", button } : typedConfirmation(button, number, KIND_TEXTS[kind].many);
}

function typedConfirmation(button: string, number: number, many: string): Dialog["confirm"] {
  return { kind: "typed", button, label: `type the number of ${many}`, expected: () => String(number) };
}

/** Maximum number of suggested names: cycling through more would take longer than typing. */
const MAX_SUGGESTED = 200;

function knownNames(data: Data): readonly string[] {
  const names = [
    ...rowsOf(data, "backends").map(({ name }) => name),
    ...rowsOf(data, "models").flatMap(({ model, kind }) => (kind === "name" || kind === "alias" ? [model] : [])),
    ...rowsOf(data, "profiles").map(({ name }) => name),
    ...rowsOf(data, "mcp_servers").map(({ name }) => name),
    ...rowsOf(data, "a2a_agents").map(({ name }) => name),
    ...rowsOf(data, "keys").map(({ name }) => name),
  ];
  return [...new Set(names)].slice(0, MAX_SUGGESTED);
}
