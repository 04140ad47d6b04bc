/**
 * Checks names in requests that must exist. A mistyped name must not look like success: a suspension of a wrong name would
 * leave its target running, and a key with an unknown profile would be refused at its first use.
 */

import type { SuspensionKind } from "../../admin-api/index.ts";
import { closestName } from "../../base/index.ts";
import type { StateView } from "../cluster/index.ts";
import { keyRowKey } from "../core/state/index.ts";
import type { Ports } from "./ports.ts";
import { refusal } from "./refusal.ts";
import { TABLE_PREFIX } from "./state-prefixes.ts";

/** Maximum number of names in a message. */
const MAX_LISTED = 20;
/** Maximum number of keys that are compared with an unknown name; comparing 100,000 would block the thread. */
const MAX_COMPARED = 1_000;

/** Throws `not_found` if nothing of this kind and name can be suspended. */
export function requireSuspendable(ports: Ports, kind: SuspensionKind, name: string): void {
  // A default provider also serves models that are not configured.
  if (kind === "model") return;
  if (kind === "key") {
    requireKey(ports, name);
    return;
  }
  const names = configuredNames(ports, kind);
  if (names.includes(name)) return;
  throw refusal(
    "not_found",
    `There is no ${KIND_NOUNS[kind]} named ${name} in the configuration${knownNamesText(name, names)}.`,
  );
}

type ConfiguredKind = Exclude<SuspensionKind, "model" | "key">;

const KIND_NOUNS: Readonly<Record<ConfiguredKind, string>> = {
  provider: "provider",
  profile: "profile",
  issuer: "issuer",
  mcp: "MCP server",
  a2a: "A2A agent",
};

function configuredNames({ backends, governance }: Ports, kind: ConfiguredKind): readonly string[] {
  switch (kind) {
    case "provider":
      return namesOf(backends.list());
    case "profile":
      return namesOf(governance.profiles());
    case "issuer":
      return governance.issuers();
    case "mcp":
      return namesOf(backends.servers());
    case "a2a":
      return namesOf(backends.agents());
    default:
      return kind satisfies never;
  }
}

/** Throws `invalid` for the field `profile` of a body if it names a profile that is not configured. */
export function requireProfile({ governance }: Ports, name: string): void {
  const names = namesOf(governance.profiles());
  if (names.includes(name)) return;
  const message = `names no profile of the configuration${knownNamesText(name, names)}`;
  const faults = [{ field: "profile", message }];
  throw refusal("invalid", `The field \`profile\` ${message}.`, { in: "body", faults });
}

const namesOf = (rows: readonly { readonly name: string }[]): readonly string[] => rows.map(({ name }) => name);

function requireKey({ cluster: { view } }: Ports, name: string): void {
  if (view.get(keyRowKey(name)) !== undefined) return;
  const near = closestName(name, similarKeys(view, name));
  throw refusal(
    "not_found",
    `There is no key named ${name}${near === undefined ? "." : `; did you mean \`${near}\`?`}`,
  );
}

/**
 * Yields names with the same beginning, then any, so that a typo in the first letters is found at least if there are few keys.
 */
function* similarKeys(view: StateView, name: string): Generator<string> {
  for (const beginning of [keyRowKey(name.slice(0, Math.ceil(name.length / 2))), TABLE_PREFIX.keys]) {
    let compared = 0;
    for (const [row] of view.scan(beginning)) {
      yield row.slice(TABLE_PREFIX.keys.length);
      compared += 1;
      if (compared === MAX_COMPARED) break;
    }
  }
}

/** Returns the known names for a message: the nearest, then as many as fit into a line. */
function knownNamesText(name: string, names: readonly string[]): string {
  if (names.length === 0) return ", which has none";
  const near = closestName(name, names);
  const first = names.slice(0, MAX_LISTED).map((it) => `\`${it}\``);
  const more = names.length > MAX_LISTED ? ` and ${names.length - MAX_LISTED} more` : "";
  return `${near === undefined ? "" : `; did you mean \`${near}\`?`} (it has ${first.join(", ")}${more})`;
}
