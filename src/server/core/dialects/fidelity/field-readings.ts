/** Reads the fields of a request one by one, each by the reading of its name. */

import type { Values } from "../json/json-values.ts";
import type { Form } from "../routes/routes.ts";
import type { Capability } from "./capabilities.ts";
import { UseList } from "./uses/use-list.ts";

/** Reader of one field. `to` is the form in which the channel would get the request. */
export type FieldReader = (value: unknown, uses: UseList, to: Form) => void;

/** Reader of a field without a meaning of its own, or of one that is read together with others. */
export const ignoreField: FieldReader = () => {};

/** Reads the fields of a request. A field without a reader is unknown; null counts as absent. */
export function readFields(
  request: Values,
  readers: ReadonlyMap<string, FieldReader>,
  target: Capability | undefined,
  to: Form,
): UseList {
  const uses = new UseList(target);
  for (const name in request) {
    const value = request[name];
    if (value === null || value === undefined) continue;
    const read = readers.get(name);
    uses.enterField(name);
    if (read === undefined) uses.loseUnknown(name);
    else read(value, uses, to);
  }
  uses.enterField("");
  return uses;
}
