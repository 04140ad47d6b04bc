/** Tables that a caller may read: `query` shows a table exactly if its list is permitted. Design decisions, section 3. */

import { OPERATIONS, TABLES, type TableName } from "../../../admin-api/index.ts";
import type { Principal } from "../principal.ts";
import type { Access } from "./types.ts";

const NAMES = Object.keys(TABLES) as readonly TableName[];

export function permittedTables(access: Access, principal: Principal): readonly TableName[] {
  return NAMES.filter((name) => {
    const action = `list_${name}` as const;
    const { group } = OPERATIONS[action];
    return access.decide({ principal, action, group, resource: { kind: "Table", name } }).isAllowed;
  });
}
