/** Whose a request is, as lists and records of the operator tell it: bounded, and nothing that a terminal obeys. */
import { cutText, escapeControls } from "../../base/index.ts";
import type { Caller } from "../auth/index.ts";

/** UTF-16 units; of models, those of providers have 64 at most. */
const MAX_LENGTH = 128;

/** As people know a caller; a token may say anything. Undefined: it has no name. */
export function nameOf(caller: Caller): string | undefined {
  const name = toldNameOf(caller);
  return name === undefined ? undefined : shown(name);
}

/** As the key or the token says it, of any length and with anything in it. */
export const toldNameOf = ({ key, user, agent }: Caller): string | undefined =>
  key?.name ?? (user === undefined ? agent?.name : user.email === "" ? user.name : user.email);

/** A name to be kept: no longer than what will be shown of it. `isShared`: it may be a part of a long text, kept with it. */
export function keptName(name: string | undefined, isShared = false): string | undefined {
  if (name === undefined || (name.length <= MAX_LENGTH && !isShared)) return name;
  return Buffer.from(cutText(name, MAX_LENGTH)).toString();
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
