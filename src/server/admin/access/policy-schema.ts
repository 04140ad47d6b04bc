/**
 * Vocabulary of policies, as a Cedar schema made from the operations table. Source: design decisions, section 3 (Policy);
 * https://docs.cedarpolicy.com/schema/json-schema.html.
 *
 * Principals are `Local::"unix:<uid>"`, `Local::"loopback"` and `User::"<issuer>/<subject>"`, all in their `Role::"<role>"`; a
 * `User` has the attributes `issuer` and `subject`. An action is an operation, in one of the groups `read`, `write` and
 * `dangerous`; operations open to all are not decided and have no action. A resource has a kind and a name, and neither
 * attributes nor parents. There is no context.
 *
 * Decisions are made without the schema: it only finds names in a policy that do not exist.
 */

import type { SchemaJson } from "@cedar-policy/cedar-wasm/nodejs";
import { type ActionGroup, OPERATIONS, type Operation, type ResourceKind, TABLES } from "../../../admin-api/index.ts";

const GROUPS: readonly ActionGroup[] = ["read", "write", "dangerous"];

/** Returns the schema in the form that Cedar's tools read, for editors and for `cedar validate`. */
export function adminPolicySchema(): SchemaJson<string> {
  const operations = Object.entries<Operation>(OPERATIONS).filter(([, { isOpen }]) => isOpen !== true);
  const actions = operations.map(([id, { group, resource }]) => [
    id,
    {
      memberOf: [{ id: group }],
      appliesTo: { principalTypes: ["Local", "User"], resourceTypes: [resource.kind] },
    },
  ]);
  const text = { type: "String" } as const;
  return {
    "": {
      entityTypes: {
        Role: {},
        Local: { memberOfTypes: ["Role"] },
        User: { memberOfTypes: ["Role"], shape: { type: "Record", attributes: { issuer: text, subject: text } } },
        ...resourceTypes(operations.map(([, { resource }]) => resource)),
      },
      actions: { ...Object.fromEntries(GROUPS.map((group) => [group, {}])), ...Object.fromEntries(actions) },
    },
  };
}

/** Returns the entity types of resources. A type whose names are all known lists them, so that misspelled names are found. */
function resourceTypes(resources: readonly Operation["resource"][]): Record<string, object> {
  const names = new Map<ResourceKind, Set<string>>([["Table", new Set(Object.keys(TABLES))]]);
  const open = new Set<ResourceKind>();
  for (const resource of resources) {
    if (!("name" in resource)) open.add(resource.kind);
    else names.set(resource.kind, (names.get(resource.kind) ?? new Set()).add(resource.name));
  }
  const kinds = new Set([...names.keys(), ...open]);
  return Object.fromEntries(
    [...kinds].map((kind) => [kind, open.has(kind) ? {} : { enum: [...(names.get(kind) ?? [])].sort() }]),
  );
}
