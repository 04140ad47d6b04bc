/** The usage ledger: rows are unpacked part by part as they are needed, since there may be a million. */

import type { UsageRecord } from "../../../admin-api/index.ts";
import { collectStored, type ListSource, type StoredPart, tablesVersion } from "../lists.ts";
import type { Ports } from "../ports.ts";
import { TABLE_PREFIX } from "../state-prefixes.ts";
import { cellValue, FIELD, partNames, scanText, usageParts } from "../usage-parts.ts";

export function usageList({ cluster: { view } }: Pick<Ports, "cluster">): ListSource<UsageRecord> {
  const parts = async (): Promise<readonly StoredPart[]> =>
    usageParts(await collectStored(view, TABLE_PREFIX.usage, (key, value) => [key, value] as const));
  return {
    ...tablesVersion(view, TABLE_PREFIX.usage),
    async take() {
      const taken = await parts();
      return () => usageRows(taken);
    },
    parts,
  };
}

function* usageRows(parts: readonly StoredPart[]): Generator<UsageRecord> {
  for (const { label, texts } of parts) {
    const names = partNames(texts);
    for (const text of texts) {
      const records: UsageRecord[] = [];
      scanText(text, (row) => void records.push(recordOf(row, label, names)));
      yield* records;
    }
  }
}

const FIELDS = Object.entries(FIELD);

function recordOf(row: readonly number[], hour: string, names: readonly string[]): UsageRecord {
  const record: Record<string, unknown> = { hour };
  for (const [column, field] of FIELDS) record[column] = cellValue(field, row[field] ?? 0, names);
  return record as unknown as UsageRecord;
}
