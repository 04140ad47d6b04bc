/**
 * Losses caused by fields that the operator removes from requests (`remove_request_fields`): they are reported and counted, but
 * refuse nothing. Source: design decisions, section 20.
 */
import type { Form } from "../routes.ts";
import { objectOf } from "../values.ts";
import { isCapability } from "./capabilities.ts";
import type { Loss } from "./losses.ts";
import { placesOf, usesOf } from "./uses.ts";

export interface StrippedRequest {
  readonly form: Form;
  /** Form that the channel is sent. */
  readonly to: Form;
  /** Parsed request. */
  readonly request: unknown;
  /** Top-level fields. */
  readonly stripped: ReadonlySet<string>;
}

/**
 * Returns the losses of the request without those fields, followed by the losses that the removal causes. A loss that another
 * field also causes stays.
 */
export function withoutStripped(
  lost: readonly Loss[],
  { form, to, request, stripped }: StrippedRequest,
): readonly Loss[] {
  const fields = objectOf(request);
  if (fields === undefined || ![...stripped].some((name) => isSaid(fields[name]))) return lost;
  // A request for a response that passes as it is was not judged.
  const read = form === "responses" && to === form ? "chat" : to;
  const rest = Object.fromEntries(Object.entries(fields).filter(([name]) => !stripped.has(name)));
  const before = usesOf(form, fields, read);
  const after = usesOf(form, rest, read);
  const taken = (capability: string): Loss | undefined => {
    if (!isCapability(capability)) return undefined;
    const { used, lost: inForm } = placesOf(form, fields, capability, read);
    const place = [...used, ...inForm].find((it) => stripped.has(/^[^.[]*/.exec(it)?.[0] ?? ""));
    return place === undefined ? undefined : { capability, isHard: false, place, isStripped: true };
  };
  const still = lost.filter(
    ({ capability }) => after.capabilities.has(capability) || after.untranslatable.has(capability),
  );
  const told: Loss[] = [];
  for (const capability of new Set([...before.capabilities, ...before.untranslatable.keys()])) {
    if (still.some((it) => it.capability === capability)) continue;
    const loss = taken(capability);
    if (loss !== undefined) told.push(loss);
  }
  return [
    ...still.map((loss) => (loss.place === undefined ? loss : { ...loss, place: placeIn(after, loss) })),
    ...told,
  ];
}

const isSaid = (value: unknown): boolean => value !== undefined && value !== null;

/** The first place may have been that of a field that is gone. */
const placeIn = ({ untranslatable }: ReturnType<typeof usesOf>, { capability, place }: Loss): string | undefined =>
  untranslatable.get(capability) ?? place;
