/**
 * Dialogs about virtual keys: mint, revoke, rotate, and a new expiry. The text of a key exists only in the outcome of minting
 * and rotating, as `secret`. Source: operator console reference, B6; admin API, `operations/keys.ts`.
 */

import { type CallInput, type KeyRecord, OPERATIONS } from "../../admin-api/index.ts";
import { escapeControls, formatDuration, parseDuration } from "../../base/index.ts";
import { namesText } from "../format/name-list.ts";
import { count, plural } from "../format/numbers.ts";
import { ago, clock, humanDuration } from "../format/times.ts";
import { actionOf, type Outcome } from "../model/action.ts";
import type { Context } from "../model/context.ts";
import { type Data, rowsOf } from "../model/data.ts";
import type { Dialog, FieldValues } from "../model/dialog.ts";
import { type Line, line } from "../model/text.ts";
import { onNodes } from "./applying-nodes.ts";
import { metadataOf } from "./key-metadata.ts";
import { type Lifetimes, proposedKey } from "./key-proposals.ts";
import { keyNamed, profileNamed } from "./keys-by-name.ts";

/** Lifetime of each choice; `undefined` never expires. */
const LIFETIMES: ReadonlyMap<string, string | undefined> = new Map([
  ["never", undefined],
  ["24h", "24h"],
  ["7d", "168h"],
  ["30d", "720h"],
  ["90d", "2160h"],
  ["1y", "8760h"],
]);
const LIFETIME_CHOICES = [...LIFETIMES.keys()];

const NAME = new RegExp(String(OPERATIONS.create_key.body.schema.keys.name.json["pattern"]));

/** Returns the lifetime of a choice, or the Go-style duration passed to a command; `undefined` for a key that never expires. */
const lifetimeOf = (choice: string): string | undefined => (LIFETIMES.has(choice) ? LIFETIMES.get(choice) : choice);

/** Returns when a key with this choice would expire, in milliseconds since 1970; `undefined` for never. */
function expiryFor(choice: string, now: number): number | undefined {
  const lifetime = lifetimeOf(choice);
  return lifetime === undefined ? undefined : now + (parseDuration(lifetime) ?? 0);
}

function expiryText(at: number | undefined, now: number): string {
  if (at === undefined) return "never expires";
  return at <= now ? `expired at ${clock(at, now)}` : `expires at ${clock(at, now)}, in ${humanDuration(at - now)}`;
}

const presentEnd = ({ expires_at }: KeyRecord): number | undefined =>
  expires_at === null ? undefined : Date.parse(expires_at);

/** Default if the existing keys do not suggest one: a key that never expires can be abused years after a leak. */
const USUAL_END = "90d";

const LIVES: Lifetimes = new Map(
  [...LIFETIMES].map(([choice, lifetime]) => [choice, lifetime === undefined ? undefined : parseDuration(lifetime)]),
);

/** Builds the dialog. `like` is a key whose profile the new key gets by default. */
export function mintDialog({ data }: Pick<Context, "data">, like?: string): Dialog {
  const proposed = proposedKey(data, like, LIVES, USUAL_END);
  return {
    title: "Mint a key",
    fields: [
      {
        kind: "text",
        id: "name",
        label: "Name",
        initial: "",
        isRequired: true,
        validate: (text) => nameProblem(text, data),
      },
      {
        kind: "text",
        id: "profile",
        label: "Profile",
        initial: proposed.profile,
        isProposal: true,
        suggestions: ["", ...rowsOf(data, "profiles").map(({ name }) => name)],
        validate: (text) => profileProblem(text, data),
      },
      { kind: "choice", id: "end", label: "Expires in", initial: proposed.end, choices: LIFETIME_CHOICES },
      { kind: "text", id: "metadata", label: "Metadata", initial: "", validate: metadataProblem },
    ],
    lines({ name = "", profile = "", end = "never" }, { data, now }) {
      const named = name === "" ? "a key" : escapeControls(name);
      return [
        ["Effect", line(`${named} is accepted ${onNodes(data)} at once and ${expiryText(expiryFor(end, now), now)}`)],
        ["Profile", line(profileText(profile, data))],
        ...budgetRows(profile, data, now),
        ["Secret", line("the text of the key is shown once, here; the gateway keeps a hash of it")],
        ["Format", line("metadata as team=core,env=prod; access rules can read it", "dim")],
      ];
    },
    confirm: { kind: "yes", button: "mint" },
    blockedReason: ({ name = "", profile = "", metadata = "" }, { data }) =>
      nameProblem(name, data) ?? profileProblem(profile, data) ?? metadataProblem(metadata),
    task: (values) => ({ kind: "actions", actions: [mintAction(values)] }),
  };
}

function nameProblem(name: string, data: Data): string | undefined {
  if (name === "") return "a key needs a name";
  if (!NAME.test(name))
    return "a name has 1 to 128 letters, digits, `_`, `.` and `-`, and begins with a letter or a digit";
  return keyNamed(data, name) === undefined ? undefined : `there is a key named ${name} already`;
}

function profileProblem(profile: string, data: Data): string | undefined {
  if (profile === "" || data.get({ id: "list_profiles" })?.value === undefined) return undefined;
  return profileNamed(data, profile) === undefined ? `there is no profile ${escapeControls(profile)}` : undefined;
}

function metadataProblem(text: string): string | undefined {
  const read = metadataOf(text);
  return read.kind === "invalid" ? read.problem : undefined;
}

function profileText(name: string, data: Data): string {
  if (name === "") return "none: all models; no budget";
  const found = profileNamed(data, name);
  if (found === undefined) return escapeControls(name);
  const models = found.allowed_models.length === 0 ? "all models" : namesText(found.allowed_models);
  const budget = found.budget === null ? "no budget" : escapeControls(`budget ${found.budget}`);
  return `${escapeControls(name)}: ${models}; ${budget}; ${plural(found.access_rules, "access rule")} of its own`;
}

/** Returns the state of the budget that the key would spend from. */
function budgetRows(name: string, data: Data, now: number): readonly (readonly [string, Line])[] {
  const budget = profileNamed(data, name)?.budget ?? null;
  const buckets = rowsOf(data, "budgets").filter((row) => row.budget === budget);
  const [first] = buckets;
  if (first === undefined) return [];
  const shared = buckets.find(({ bucket }) => bucket === "shared");
  const limit = `${count(first.limit)} cost units in ${escapeControls(first.window)}`;
  if (shared === undefined) return [["Budget", line(`a bucket of its own: ${limit}`)]];
  const left = `${count(shared.remaining)} left, resets in ${humanDuration(Date.parse(shared.resets_at) - now)}`;
  return [["Budget", line(`shared with others: ${limit}; ${left}`, shared.status === "ok" ? "plain" : "warn")]];
}

function mintAction({ name = "", profile = "", end = "never", metadata: pairs = "" }: FieldValues) {
  const read = metadataOf(pairs);
  const metadata = read.kind === "metadata" ? read.metadata : {};
  const expiresIn = lifetimeOf(end);
  const body: CallInput<"create_key">["body"] = {
    name,
    ...(profile !== "" && { profile }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
    ...(expiresIn !== undefined && { expires_in: expiresIn }),
  };
  return actionOf("create_key", { body }, ({ key }) => outcomeWithKey(name, "minted", key));
}

/**
 * Returns the outcome of minting or rotating. `key` is missing if the request repeated one that was already answered: only the
 * first answer contains the text.
 */
function outcomeWithKey(name: string, done: "minted" | "rotated", key: string | undefined): Outcome {
  const named = escapeControls(name);
  if (key !== undefined) return { message: `${named} ${done}; its text is shown this once`, secret: key };
  return {
    message: `${named} was ${done} by an earlier try of this request, and its text cannot be shown again: rotate it for a new one`,
  };
}

/** Builds the dialog. `names` has at least one name. One key is confirmed by its name, several by their number. */
export function revokeDialog(names: readonly string[]): Dialog {
  const [name = ""] = names;
  const isOne = names.length === 1;
  return {
    title: isOne ? `Revoke ${escapeControls(name)}` : `Revoke ${plural(names.length, "key")}`,
    isDangerous: true,
    fields: [],
    lines(_, { data, now }) {
      if (isOne) return [["Effect", revokeLine(name, data, now)]];
      const used = names.filter((it) => isUsedLately(keyNamed(data, it), now)).length;
      return [
        ["Effect", line(`${names.length} keys stop working ${onNodes(data)} now. Cannot be undone`)],
        ["Keys", line(namesText(names))],
        [
          "In use",
          line(`${used} of them used within the hour, as far as this node knows`, used > 0 ? "warn" : "plain"),
        ],
      ];
    },
    confirm: isOne
      ? { kind: "typed", button: "revoke", label: "type the name of the key", expected: () => name }
      : { kind: "typed", button: "revoke", label: "type the number of keys", expected: () => String(names.length) },
    blockedReason: (_, { data }) => whyGone(names, data),
    task: () => ({
      kind: "actions",
      actions: names.map((it) =>
        actionOf("delete_key", { params: { name: it } }, () => ({ message: `${escapeControls(it)} revoked` })),
      ),
    }),
  };
}

function revokeLine(name: string, data: Data, now: number): Line {
  return line(
    `${escapeControls(name)} stops working ${onNodes(data)} now. ${lastUseText(name, data, now)}. Cannot be undone`,
  );
}

/** Describes the last use. The gateway records its minute, so a use within the last minute has no exact age. */
function lastUseText(name: string, data: Data, now: number): string {
  const at = keyNamed(data, name)?.last_used_at ?? null;
  if (at === null) return "This node knows of no use of it";
  return now - Date.parse(at) < 60_000 ? "Last used within the last minute" : `Last used ${ago(at, now)}`;
}

const LATELY_MS = 3_600_000;

const isUsedLately = (key: KeyRecord | undefined, now: number): boolean =>
  key !== undefined && key.last_used_at !== null && now - Date.parse(key.last_used_at) < LATELY_MS;

/** Returns the reason if another operator was faster while the dialog was open. */
function whyGone(names: readonly string[], data: Data): string | undefined {
  if (data.get({ id: "list_keys" })?.value === undefined) return undefined;
  const gone = names.filter((name) => keyNamed(data, name) === undefined);
  if (gone.length === 0) return undefined;
  return `${namesText(gone)} no longer exist${gone.length === 1 ? "s" : ""}`;
}

export function rotateDialog(name: string): Dialog {
  return {
    title: `Rotate ${escapeControls(name)}`,
    isDangerous: true,
    fields: [],
    lines: (_, { data, now }) => [
      ["Effect", line(`the old text is refused at once ${onNodes(data)}: callers fail until they have the new one`)],
      ["Use", line(lastUseText(name, data, now))],
      ["Kept", line("name, profile, metadata and expiry")],
      ["New", line("its id; its own budget bucket starts again")],
      ["Secret", line("the new text is shown once, here")],
    ],
    confirm: { kind: "typed", button: "rotate", label: "type the name of the key", expected: () => name },
    blockedReason: (_, { data }) => whyGone([name], data),
    task: () => ({
      kind: "actions",
      actions: [actionOf("rotate_key", { params: { name } }, ({ key }) => outcomeWithKey(name, "rotated", key))],
    }),
  };
}

export function extendDialog(name: string): Dialog {
  return {
    title: `New expiry of ${escapeControls(name)}`,
    fields: [{ kind: "choice", id: "end", label: "Expires in", initial: "30d", choices: LIFETIME_CHOICES }],
    lines({ end = "30d" }, { data, now }) {
      const key = keyNamed(data, name);
      const next = expiryFor(end, now);
      const known = key === undefined ? [] : [["Now", line(expiryText(presentEnd(key), now))] as const];
      return [...known, ["Then", line(`it ${expiryText(next, now)}`)], ...comparison(key, next, now)];
    },
    confirm: { kind: "yes", button: "set the expiry" },
    blockedReason: (_, { data }) => whyGone([name], data),
    task: ({ end = "30d" }) => ({
      kind: "actions",
      actions: [
        actionOf("update_key", { params: { name }, body: { expires_in: LIFETIMES.get(end) ?? null } }, (answer) => ({
          message: escapeControls(
            answer.expires_at === null ? `${name} never expires` : `${name} expires at ${answer.expires_at}`,
          ),
        })),
      ],
    }),
    undo(_, { data }) {
      const key = keyNamed(data, name);
      return key && (() => formerExpiryDialog(name, presentEnd(key)));
    },
  };
}

/** Undoes a new expiry. `end` is the previous one, in milliseconds since 1970; `undefined` means that it never expired. */
function formerExpiryDialog(name: string, end: number | undefined): Dialog {
  const isPast = (now: number): boolean => end !== undefined && end <= now;
  return {
    title: `Restore the expiry of ${escapeControls(name)}`,
    fields: [],
    lines(_, { data, now }) {
      const key = keyNamed(data, name);
      const known = key === undefined ? [] : [["Now", line(expiryText(presentEnd(key), now))] as const];
      return [...known, ["Then", line(`it ${expiryText(end, now)}`)], ...comparison(key, end, now)];
    },
    confirm: { kind: "yes", button: "set the expiry" },
    blockedReason: (_, { data, now }) => (isPast(now) ? "it would have expired by now" : whyGone([name], data)),
    task: (_, { now }) => ({
      kind: "actions",
      actions: [
        actionOf(
          "update_key",
          { params: { name }, body: { expires_in: end === undefined ? null : formatDuration(end - now) } },
          () => ({ message: `${escapeControls(name)} ${expiryText(end, now)} again` }),
        ),
      ],
    }),
  };
}

function comparison(
  key: KeyRecord | undefined,
  next: number | undefined,
  now: number,
): readonly (readonly [string, Line])[] {
  if (key === undefined) return [];
  const present = presentEnd(key);
  if (present !== undefined && present <= now)
    return [["Effect", line("it has expired, and would be accepted again", "warn")]];
  const isEarlier = next !== undefined && (present === undefined || next < present);
  return isEarlier ? [["Effect", line("earlier than its present expiry", "warn")]] : [];
}
