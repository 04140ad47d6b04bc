/**
 * Everything that all replicas must agree on, as data: the fields of every command and row. It is recorded, so that a change
 * that members with other builds would not follow is noticed before a release; see CONTRIBUTING, "Versions".
 */

import { envelopeParts } from "./command-envelope.ts";
import { membersChange } from "./commands/members.ts";
import { COMMAND_RULES } from "./commands/table.ts";
import { type Shape, shapeOf } from "./fields.ts";
import { rowShapes } from "./state-tables.ts";

export interface ReplicatedShape {
  /** Name of the shape: `command key.create`, `rows key`, the command envelope, or the context of membership changes. */
  readonly name: string;
  /** Feature level from which it may be written; absent if any. */
  readonly level?: number;
  readonly shape: Shape;
}

export function replicatedShapes(): readonly ReplicatedShape[] {
  const commands = Array.from(COMMAND_RULES.values(), ({ name, version, level, shape }) => ({
    name: `command ${name}`,
    level,
    shape: { version: String(version), fields: shape() },
  }));
  const rows = Object.entries(rowShapes()).map(([name, shape]) => ({ name: `rows ${name}`, shape }));
  return [
    { name: "envelope of commands", shape: shapeOf(envelopeParts) },
    { name: "context of a change of members", shape: shapeOf(membersChange) },
    ...commands,
    ...rows,
  ];
}
