/**
 * Reports losses caused by fields that the operator removes from requests (`remove_request_fields`). They are counted but
 * never refuse a request. Source: design decisions, section 20.
 */

import { objectOf } from "../json/json-values.ts";
import type { Form } from "../routes/routes.ts";
import { isCapability } from "./capabilities.ts";
import type { Loss } from "./losses.ts";
import { placesOf, usesOf } from "./uses/uses.ts";

interface StrippedRequest {
  readonly form: Form;
  /** Form in which the channel gets the request. */
  readonly to: Form;
  /** Parsed request. */
  readonly request: unknown;
  /** Names of the top-level fields that are removed. */
  readonly stripped: ReadonlySet<string>;
}

/**
 * Returns the losses of the request without the removed fields, followed by the losses that the removal causes. A loss that a
 * remaining field also causes stays.
 */
export function withoutStripped(
  lost: readonly Loss[],
  { form, to, request, stripped }: StrippedRequest,
): readonly Loss[] {
  const fields = objectOf(request);
  if (fields === undefined || ![...stripped].some((name) => isSet(fields[name]))) return lost;
  // `usesOf` reports nothing for a `responses` request that is not translated, so it is read as for chat.
  const read = form === "responses" && to === form ? "chat" : to;
  const rest = Object.fromEntries(Object.entries(fields).filter(([name]) => !stripped.has(name)));
  const before = usesOf(form, fields, read);
  const after = usesOf(form, rest, read);
  const removalLoss = (capability: string): Loss | undefined => {
    if (!isCapability(capability)) return undefined;
    const { used, lost: inForm } = placesOf(form, fields, capability, read);
    const place = [...used, ...inForm].find((it) => stripped.has(/^[^.[]*/.exec(it)?.[0] ?? ""));
    return place === undefined ? undefined : { capability, isHard: false, place, isStripped: true };
  };
  const remainingLosses = lost.filter(
    ({ capability }) => after.capabilities.has(capability) || after.untranslatable.has(capability),
  );
  const removalLosses: Loss[] = [];
  for (const capability of new Set([...before.capabilities, ...before.untranslatable.keys()])) {
    if (remainingLosses.some((it) => it.capability === capability)) continue;
    const loss = removalLoss(capability);
    if (loss !== undefined) removalLosses.push(loss);
  }
  return [
    ...remainingLosses.map((loss) => (loss.place === undefined ? loss : { ...loss, place: placeIn(after, loss) })),
    ...removalLosses,
  ];
}

const isSet = (value: unknown): boolean => value !== undefined && value !== null;

/** Returns where a loss occurs in the remaining request, since the first place may have been in a removed field. */
const placeIn = ({ untranslatable }: ReturnType<typeof usesOf>, { capability, place }: Loss): string | undefined =>
  untranslatable.get(capability) ?? place;
