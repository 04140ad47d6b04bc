/** Whose a request is, as lists and records of the operator tell it: bounded, and nothing that a terminal obeys. */
import { cutText, escapeControls } from "../../base/index.ts";
import type { Caller } from "../auth/index.ts";

/** UTF-16 units; of models, those of providers have 64 at most. */
const MAX_LENGTH = 128;

/** As people know a caller; a token may say anything. Undefined: it has no name. */
export function nameOf({ key, user, agent }: Caller): string | undefined {
  const name = key?.name ?? (user === undefined ? agent?.name : user.email === "" ? user.name : user.email);
  return name === undefined ? undefined : shown(name);
}

/** A name that a caller has chosen. */
export const shown = (text: string): string => escapeControls(cutText(text, MAX_LENGTH));

export interface Whose {
  readonly request: string;
  readonly caller: string | null;
  /** As the client asked for it. */
  readonly model: string | null;
}

export function whose(
  { requestId, caller }: { readonly requestId: string; readonly caller: Caller | undefined },
  model: string | undefined,
): Whose {
  const name = caller === undefined ? undefined : nameOf(caller);
  return { request: requestId, caller: name ?? null, model: model === undefined ? null : shown(model) };
}
