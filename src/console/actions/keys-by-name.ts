/** Keys and profiles by name; each list is indexed once per answer, however many rows need it. */

import type { KeyRecord, ProfileRecord } from "../../admin-api/index.ts";
import { type Data, rowsOf } from "../model/data.ts";
import { remember } from "../model/remember.ts";

type ByName<T> = ReadonlyMap<string, T>;

const keysByName = remember(
  (rows: readonly KeyRecord[]): ByName<KeyRecord> => new Map(rows.map((it) => [it.name, it])),
);

export const keyNamed = (data: Data, name: string): KeyRecord | undefined => keysByName(rowsOf(data, "keys")).get(name);

const profilesByName = remember(
  (rows: readonly ProfileRecord[]): ByName<ProfileRecord> => new Map(rows.map((it) => [it.name, it])),
);

export const profileNamed = (data: Data, name: string): ProfileRecord | undefined =>
  profilesByName(rowsOf(data, "profiles")).get(name);
