/**
 * Short description of a record by its event: the decision or action, its subject and its author. The facts of each event are
 * in `data`; values that a newer gateway adds are shown unchanged. The result is safe to show.
 */

import type { AuditRecord } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";
import type { Tone } from "../model/text.ts";

type Facts = ReadonlyMap<string, unknown>;

const factsOf = ({ data }: AuditRecord): Facts =>
  new Map<string, unknown>(typeof data === "object" && data !== null ? Object.entries(data) : []);

/** Limits for unknown facts, so that they fit in a line. */
const MAX_FACTS = 12;
const MAX_FACT_LENGTH = 120;

interface RecordText {
  readonly text: string;
  readonly tone: Tone;
  /** True if a caller was refused, or something failed. */
  readonly isBad: boolean;
}

export function recordText(record: AuditRecord): RecordText {
  const facts = factsOf(record);
  const text = escapeControls(describeRecord(record, facts));
  return isBad(record, facts)
    ? { text: `! ${text}`, tone: "fail", isBad: true }
    : { text, tone: "plain", isBad: false };
}

function describeRecord({ event }: AuditRecord, facts: Facts): string {
  switch (event) {
    case "access.decision":
      return facts.has("action") ? adminDecision(facts) : accessDecision(facts);
    case "admin.write":
      return adminWrite(facts);
    case "auth.failure":
      return authFailure(facts);
    case "config.applied":
      return joinFacts(["sources", ...texts(facts, "sources")]);
    case "cluster.change":
      return joinFacts([
        `leader ${text(facts, "leader") ?? "none"}`,
        namedFact("term", facts),
        `members ${list(facts, "members")}`,
      ]);
    case "reconcile.breach":
      return joinFacts([
        `${text(facts, "provider")} ${text(facts, "day")} ${text(facts, "class")}`,
        namedFact("metered", facts),
        namedFact("reported", facts),
        text(facts, "direction"),
        facts.get("hard") === true ? "hard" : undefined,
      ]);
    case "chain.start":
      return joinFacts([
        "a new chain",
        facts.get("ephemeral") === true ? "with an EPHEMERAL key, gone with the process" : undefined,
        namedFact("version", facts),
        namedFact("pid", facts),
      ]);
    case "chain.resume":
      return joinFacts(["the chain continues", namedFact("version", facts), namedFact("pid", facts)]);
    case "chain.pause":
      return joinFacts(["the process ended normally", namedFact("pid", facts)]);
    default:
      return otherFacts(facts);
  }
}

/** Describes an access decision of the data plane. */
function accessDecision(facts: Facts): string {
  const rule = text(facts, "rule");
  const layer = text(facts, "layer");
  const refused = text(facts, "refused");
  return joinFacts([
    text(facts, "decision"),
    refused === undefined ? undefined : `by budget ${text(facts, "budget")}, ${refused} refused`,
    rule === undefined
      ? undefined
      : `by rule ${rule}${layer === "profile" ? ` of profile ${text(facts, "profile")}` : ""}`,
    text(facts, "error"),
    callerOf(facts),
    targetOf(facts),
  ]);
}

function callerOf(facts: Facts): string {
  const key = text(facts, "key");
  if (key !== undefined) return `key ${key}`;
  const who = text(facts, "user_name") ?? text(facts, "user") ?? text(facts, "agent");
  return who ?? text(facts, "caller") ?? "-";
}

function targetOf(facts: Facts): string {
  const model = text(facts, "model");
  const to = text(facts, "to");
  return joinFacts([model, to === undefined ? undefined : `-> ${to}`, text(facts, "hop")]);
}

const adminDecision = (facts: Facts): string =>
  joinFacts([text(facts, "decision"), text(facts, "action"), resourceOf(facts), by(facts)]);

const RESOURCE = /^(\w+)::"(.*)"$/;

/**
 * Turns `Suspension::"provider:acme"` into `provider:acme`, `Key::"ci"` into `key ci`, and a table into its name; other
 * spellings stay.
 */
function resourceOf(facts: Facts): string | undefined {
  const resource = text(facts, "resource");
  const [, kind = "", name = ""] = RESOURCE.exec(resource ?? "") ?? [];
  if (kind === "") return resource;
  if (kind === "Config") return "configuration";
  return kind === "Suspension" || kind === "Table" ? name : `${kind.toLowerCase()} ${name}`;
}

function adminWrite(facts: Facts): string {
  const outcome = text(facts, "outcome");
  return joinFacts([
    text(facts, "action"),
    resourceOf(facts),
    // Name of a new item when the resource is the list.
    text(facts, "name"),
    by(facts),
    facts.get("dry_run") === true ? "dry run" : undefined,
    outcome === "done" ? undefined : joinFacts([outcome?.toUpperCase(), text(facts, "code")]),
    facts.get("reason") === undefined ? undefined : `"${text(facts, "reason")}"`,
  ]);
}

const by = (facts: Facts): string | undefined => {
  const who = text(facts, "principal_name") ?? text(facts, "principal");
  return who === undefined ? undefined : `by ${who}`;
};

function authFailure(facts: Facts): string {
  const suppressed = facts.get("suppressed");
  return joinFacts([
    text(facts, "fault"),
    text(facts, "plane") === undefined ? undefined : `${text(facts, "plane")} plane`,
    namedFact("issuer", facts),
    namedFact("subject", facts),
    namedFact("key", facts),
    namedFact("key_id", facts),
    text(facts, "remote") === undefined ? undefined : `from ${text(facts, "remote")}`,
    suppressed === undefined ? undefined : `and ${suppressed} more not recorded`,
  ]);
}

/** Describes an event that this version does not know. */
function otherFacts(facts: Facts): string {
  return [...facts]
    .filter(([, value]) => value !== null)
    .slice(0, MAX_FACTS)
    .map(
      ([name, value]) =>
        `${name} ${(typeof value === "string" ? value : JSON.stringify(value)).slice(0, MAX_FACT_LENGTH)}`,
    )
    .join("  ");
}

function isBad({ event }: AuditRecord, facts: Facts): boolean {
  const decision = facts.get("decision");
  if (event === "auth.failure" || event === "reconcile.breach") return true;
  if (event === "admin.write") return facts.get("outcome") !== "done";
  return decision === "deny" || decision === "error";
}

const joinFacts = (parts: readonly (string | undefined)[]): string =>
  parts.filter((part) => part !== undefined && part !== "").join("  ");

/** Returns a fact as text; `undefined` if it is missing or empty. */
function text(facts: Facts, name: string): string | undefined {
  const value = facts.get(name);
  if (value === undefined || value === null || value === "") return undefined;
  return (typeof value === "string" ? value : JSON.stringify(value)).slice(0, MAX_FACT_LENGTH);
}

function namedFact(name: string, facts: Facts): string | undefined {
  const value = text(facts, name);
  return value === undefined ? undefined : `${name} ${value}`;
}

function texts(facts: Facts, name: string): readonly string[] {
  const value = facts.get(name);
  return Array.isArray(value) ? value.slice(0, MAX_FACTS).map(String) : [];
}

const list = (facts: Facts, name: string): string => texts(facts, name).join(", ");
