/** Sealed secrets: names, versions and keys are shown, values never. */

import type { SecretRecord } from "../../../admin-api/index.ts";
import { type Handlers, NO_CONTENT } from "../handler-types.ts";
import { fixedRows, type ListSource, tablesVersion } from "../lists.ts";
import type { Ports } from "../ports.ts";
import { refusal } from "../refusal.ts";
import { TABLE_PREFIX } from "../state-prefixes.ts";

/** Returns the list of secrets. It also changes with the keyring, because wrapping a data key again changes its `kek`. */
export function secretList({ cluster: { view }, secrets }: Ports): ListSource<SecretRecord> {
  return { ...tablesVersion(view, TABLE_PREFIX.secrets, TABLE_PREFIX.ring), take: () => fixedRows(secrets.list()) };
}

export const secretHandlers: Pick<Handlers, "put_secret" | "delete_secret" | "rewrap_secrets"> = {
  async put_secret({ params: { name }, body, write }, { secrets }) {
    return { value: await secrets.put(name, body.value, write) };
  },
  async delete_secret({ params: { name }, write }, { secrets }) {
    if (!(await secrets.delete(name, write))) throw refusal("not_found", `There is no secret named ${name}.`);
    return NO_CONTENT;
  },
  async rewrap_secrets({ write }, { secrets }) {
    return { value: await secrets.rewrap(write) };
  },
};
