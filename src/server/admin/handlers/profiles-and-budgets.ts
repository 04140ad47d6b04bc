/** Profiles, with the number of keys in each, and the buckets of budgets. */

import type { BudgetRecord, ProfileRecord } from "../../../admin-api/index.ts";
import type { StateView } from "../../cluster/index.ts";
import { readKey } from "../../core/state/index.ts";
import { countedVersion, fixedRows, type ListSource, processInTurns, storedValues, tablesVersion } from "../lists.ts";
import type { Ports } from "../ports.ts";
import { TABLE_PREFIX } from "../state-prefixes.ts";

/** Returns the list of profiles. It changes with the configuration and with the keys. */
export function profileList({ cluster: { view }, governance }: Ports): ListSource<ProfileRecord> {
  const keys = tablesVersion(view, TABLE_PREFIX.keys);
  const counts = keyCounts(view);
  let changes = 0;
  return {
    version: () => keys.version() + changes,
    watch(onChange) {
      const unwatch = [
        keys.watch(onChange),
        governance.onChange((what) => {
          if (what !== "configuration") return;
          changes += 1;
          onChange();
        }),
      ];
      return () => {
        for (const end of unwatch) end();
      };
    },
    async take() {
      const profiles = governance.profiles();
      const counted = profiles.length === 0 ? undefined : await counts();
      return fixedRows(profiles.map((row) => ({ ...row, keys: counted?.get(row.name) ?? 0 })));
    },
  };
}

/** Returns the list of budgets. It changes at once with the configuration, at most once a second with spending and grants. */
export function budgetList({ governance }: Ports): ListSource<BudgetRecord> {
  return {
    ...countedVersion((listener) => governance.onChange(listener)),
    async take() {
      const rows = await governance.budgets();
      return () => rows;
    },
  };
}

type Counts = ReadonlyMap<string, number>;

/** Returns the number of keys per profile, counted once per version of the keys. */
function keyCounts(view: StateView): () => Promise<Counts> {
  let known: { readonly version: number; readonly counts: Promise<Counts> } | undefined;
  return async () => {
    const version = view.version(TABLE_PREFIX.keys);
    if (known?.version !== version) known = { version, counts: countKeys(view) };
    return await known.counts;
  };
}

async function countKeys(view: StateView): Promise<Counts> {
  const counts = new Map<string, number>();
  await processInTurns(await storedValues(view, TABLE_PREFIX.keys), (value) => {
    const { profile } = readKey(value);
    if (profile !== null) counts.set(profile, (counts.get(profile) ?? 0) + 1);
  });
  return counts;
}
