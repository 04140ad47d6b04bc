/**
 * Audit records of the admin plane: changes with their results, and changes that the policy denied. Source: design decisions,
 * section 4; the facts of `admin.write` and of a denied `access.decision`.
 *
 * `data` depends on the event and on the version that wrote it: missing facts are shown as unknown.
 */

import { type AuditRecord, OPERATIONS, type Operation } from "../../admin-api/index.ts";
import type { Data } from "../model/data.ts";
import { remember } from "../model/remember.ts";
import type { Tone } from "../model/text.ts";

export interface Change {
  readonly id: string;
  /** Time in milliseconds since 1970. */
  readonly at: number;
  readonly who: string;
  readonly action: string;
  /** Changed resource: `Suspension provider:acme-chat`. */
  readonly resource: string;
  readonly result: "done" | "tried" | "refused" | "denied" | "unknown";
  /** Code of the refusal; empty if it was not refused. */
  readonly code: string;
  /** Additional facts of the record: reason, revision and the like. */
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly record: AuditRecord;
}

export const RESULTS: Readonly<Record<Change["result"], { word: string; tone: Tone; isBad: boolean }>> = {
  done: { word: "done", tone: "plain", isBad: false },
  tried: { word: "dry run", tone: "dim", isBad: false },
  refused: { word: "!REFUSED", tone: "warn", isBad: true },
  denied: { word: "!DENIED", tone: "fail", isBad: true },
  unknown: { word: "~UNKNOWN", tone: "warn", isBad: true },
};

/** Facts that have their own columns, and the path of the request. */
const KNOWN: ReadonlySet<string> = new Set([
  ...["action", "resource", "principal", "principal_name", "roles", "door", "request_id"],
  ...["outcome", "code", "dry_run", "decision", "policies", "failed_policies"],
]);

/** Fact with the name of a new item, whose record has the list as its resource. */
const NAME = "name";

/** Need for the audit records of writes, which nodes keep longer than those of denied attempts. */
export const CHANGE_RECORDS = { id: "list_audit_records", name: "admin.write" } as const;
export const RECORDS = { id: "list_audit_records" } as const;

/** Returns the changes of all nodes, newest first. */
export const changesOf = (data: Data): readonly Change[] =>
  changesIn(data.get(RECORDS)?.value ?? NO_RECORDS, data.get(CHANGE_RECORDS)?.value);

const NO_RECORDS: readonly AuditRecord[] = [];

const changesIn = remember((all: readonly AuditRecord[], changes: readonly AuditRecord[] = all): readonly Change[] => {
  const isWrite = ({ event }: AuditRecord): boolean => event === CHANGE_RECORDS.name;
  const writes = changes.filter(isWrite);
  const records = [...writes, ...all.filter((record) => !isWrite(record))].sort(
    (a, b) => Date.parse(a.ts) - Date.parse(b.ts),
  );
  return records.flatMap((record) => changeOf(record) ?? []).toReversed();
});

/** Reads a change from an audit record. Returns `undefined` if the record is not a change through the admin API. */
export function changeOf(record: AuditRecord): Change | undefined {
  const { event, data } = record;
  if (typeof data !== "object" || data === null) return undefined;
  const facts = new Map<string, unknown>(Object.entries(data));
  const action = textOf(facts.get("action"));
  const isDenied = event === "access.decision" && facts.get("decision") === "deny" && isWrite(action);
  if (event !== "admin.write" && !isDenied) return undefined;
  return {
    id: `${record.kid}:${record.seq}`,
    at: Date.parse(record.ts),
    who: textOf(facts.get("principal")),
    action,
    resource: resourceOf(textOf(facts.get("resource"))),
    result: isDenied ? "denied" : resultOf(facts),
    code: isDenied ? "forbidden" : facts.has("code") ? textOf(facts.get("code")) : "",
    facts: [...facts]
      .flatMap(([name, value]) => (KNOWN.has(name) || value === null ? [] : [[name, textOf(value)] as const]))
      // The name comes first, since the rest may be cut off.
      .sort(([a], [b]) => Number(b === NAME) - Number(a === NAME)),
    record,
  };
}

function resultOf(facts: ReadonlyMap<string, unknown>): Change["result"] {
  switch (facts.get("outcome")) {
    case "done":
      return facts.get("dry_run") === true ? "tried" : "done";
    case "refused":
      return "refused";
    default:
      return "unknown";
  }
}

const GROUPS: ReadonlyMap<string, Operation["group"]> = new Map(
  Object.entries(OPERATIONS).map(([id, { group }]) => [id, group]),
);

const isWrite = (action: string): boolean => GROUPS.has(action) && GROUPS.get(action) !== "read";

/** Returns kind and name of a resource in Cedar's spelling, such as `Suspension::"provider:acme-chat"`. */
function resourceOf(text: string): string {
  const [, kind, name] = /^(\w+)::"(.*)"$/.exec(text) ?? [];
  if (kind === undefined || name === undefined) return text;
  // A list is shown by its own name, and the configuration, of which there is only one, as `configuration`.
  return kind === "Table" ? name : kind === "Config" ? "configuration" : `${kind} ${name}`;
}

function textOf(value: unknown): string {
  if (value === undefined) return "?";
  if (typeof value === "string") return value;
  return Array.isArray(value) ? value.map(textOf).join(", ") : (JSON.stringify(value) ?? "?");
}

/** Text of each action; the resource follows if there are several. */
const ACTION_TEXTS: Readonly<Record<string, string>> = {
  create_key: "mint key",
  update_key: "change key",
  delete_key: "revoke key",
  rotate_key: "rotate key",
  put_suspension: "suspend",
  delete_suspension: "lift suspension of",
  put_acknowledgement: "acknowledge",
  delete_acknowledgement: "lift acknowledgement of",
  put_secret: "write secret",
  delete_secret: "delete secret",
  rewrap_secrets: "re-encrypt secrets",
  put_source: "write source",
  delete_source: "delete source",
  rollback_source: "roll back source",
  reload_config: "reload the deployment document",
  delete_cluster_member: "remove member",
  prune_cluster: "prune the cluster",
  transfer_leader: "hand leadership over",
  save_snapshot: "save a snapshot",
  restore_snapshot: "restore a snapshot",
};

/** Returns the action without its resource: `suspend`; an unknown action by its id. */
export const actionName = ({ action }: Pick<Change, "action">): string =>
  (Object.hasOwn(ACTION_TEXTS, action) ? ACTION_TEXTS[action] : undefined)?.replace(/ of$/, "") ?? action;

/** Returns the action with its resource: `suspend provider:acme-chat`; an unknown action by its id. */
export function actionText({ action, resource }: Change): string {
  const text = Object.hasOwn(ACTION_TEXTS, action) ? ACTION_TEXTS[action] : undefined;
  if (text === undefined) return `${action} ${resource}`;
  const [kind = "", ...name] = resource.split(" ");
  // A resource without a name is the list itself, or the only one of its kind.
  return name.length === 0 || kind === "" ? text : `${text} ${name.join(" ")}`;
}

/** Returns `done  reason "key rotation", until ...`; foreign text in it is not escaped yet. */
export function resultText({ result, code, facts }: Change): string {
  const details = [...(code === "" ? [] : [code]), ...facts.map(([name, value]) => `${name} ${value}`)];
  return [RESULTS[result].word, ...(details.length === 0 ? [] : [details.join(", ")])].join("  ");
}
