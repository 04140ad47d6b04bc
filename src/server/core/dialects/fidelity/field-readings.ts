/** Reads the fields of a request one by one, each by the reading of its name. */
import type { Values } from "../values.ts";
import type { Capability } from "./capabilities.ts";
import { UseList } from "./use-list.ts";

export type Reading = (value: unknown, uses: UseList) => void;

/** Means nothing by itself, or is read together with others. */
export const nothing: Reading = () => {};

/** A field without a reading is unknown. Null is as good as absent. */
export function readFields(request: Values, readings: ReadonlyMap<string, Reading>, sought?: Capability): UseList {
  const uses = new UseList(sought);
  for (const name in request) {
    const value = request[name];
    if (value === null || value === undefined) continue;
    const read = readings.get(name);
    uses.enterField(name);
    if (read === undefined) uses.loseUnknown(name);
    else read(value, uses);
  }
  uses.enterField("");
  return uses;
}
