/** Node of an xray tree: an object, its live state, and the row of another view that shows it. */

import { suspensionText } from "../actions/suspension-dialogs.ts";
import { count, milliseconds, percent } from "../format/numbers.ts";
import type { TreeNode } from "../format/tree.ts";
import type { Data, ReadableId } from "../model/data.ts";
import type { Tone } from "../model/text.ts";
import type { Place } from "../model/view.ts";
import { type MeasuredRow, STATES } from "./measured.ts";

/** Row of the view that shows the object. */
export interface Target {
  readonly place: Place;
  readonly row?: string;
  readonly filter?: string;
}

export interface XrayNode {
  /** Id, unique in the tree. */
  readonly id: string;
  /** Kind of the object: `budget`, `provider`. */
  readonly kind: string;
  readonly name: string;
  /** State in words; empty for a node that only groups others. */
  readonly state: string;
  readonly tone: Tone;
  readonly isBad: boolean;
  /** Returns further facts; ages are relative to `now`, in milliseconds since 1970. */
  facts(now: number): string;
  /** Row of a view that shows the object; `undefined` if no view does. */
  readonly target: Target | undefined;
  readonly json: unknown;
}

export type Tree = TreeNode<XrayNode>;

/** Returns the reason why a list is not known yet; `undefined` once it was read. */
export function unread(data: Data, id: ReadableId): string | undefined {
  const reading = data.get({ id });
  if (reading?.value !== undefined) return undefined;
  const failure = reading?.failure;
  if (failure === undefined) return "not read yet";
  return failure.status === 403 ? `your policy does not permit ${id}` : `not read: ${failure.message}`;
}

export const unreadNode = (parent: string, kind: string, reason: string, name = ""): Tree =>
  node(parent, { kind, name, state: "UNKNOWN", tone: "dim", facts: () => reason });

interface Fields extends Partial<XrayNode> {
  readonly kind: string;
  readonly name: string;
}

/** Returns a node of the tree. Its id is the path from the root, and its fields default to a plain node without facts. */
export function node(parent: string, fields: Fields, children: (id: string) => readonly Tree[] = () => []): Tree {
  const id = `${parent}\n${fields.kind}:${fields.name}`;
  const value: XrayNode = {
    state: "",
    tone: "plain",
    isBad: false,
    facts: () => "",
    target: undefined,
    json: { kind: fields.kind, name: fields.name },
    ...fields,
    id,
  };
  return { value, children: children(id) };
}

/** Makes the node of a provider, server or agent from its measurements of the last minute. */
export function measuredNode(
  data: Data,
  parent: string,
  kind: string,
  name: string,
  met: MeasuredRow | undefined,
  view: string,
): Tree {
  const reason = met === undefined && kind === "provider" ? unread(data, "list_backends") : undefined;
  if (reason !== undefined) return unreadNode(parent, kind, reason, name);
  if (met === undefined)
    return node(parent, { kind, name, state: "UNKNOWN", tone: "warn", isBad: true, target: { place: { view } } });
  const { state, record, suspension } = met;
  const { word, tone } = STATES[state];
  return node(parent, {
    kind,
    name,
    state: word,
    tone,
    isBad: state === "failing" || state === "suspended",
    facts: (now) =>
      suspension !== undefined
        ? suspensionText(suspension, now)
        : [
            `${count(record.rate, 1)} req/s`,
            ...(record.error_ratio === null ? [] : [`${percent(record.error_ratio)} % fail`]),
            ...(record.ttfb_p50_ms === null ? [] : [`first byte ${milliseconds(record.ttfb_p50_ms)}`]),
          ].join(", "),
    target: { place: { view }, row: name },
    json: record,
  });
}
