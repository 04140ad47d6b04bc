/** The meaning of a chat completion, and of its chunks, in one form. */
import { trace } from "./to-compat-answer-golden.ts";

interface Message {
  readonly content: string | null;
  readonly refusal: string | null;
  readonly reasoning_content?: string;
  readonly reasoning_details?: readonly unknown[];
  readonly annotations?: readonly unknown[];
  readonly tool_calls?: readonly { readonly function: object }[];
  readonly function_call?: object;
}

export interface Completion {
  readonly id: string;
  readonly model: string;
  readonly service_tier?: string;
  readonly choices: readonly [{ readonly message: Message; readonly finish_reason: string }];
  readonly usage?: object;
}

/** Returns the meaning of a completion in the form of `gather`. */
export function meaningOf({ choices: [{ message, finish_reason }], usage }: Completion): ReadonlyMap<string, unknown> {
  return new Map<string, unknown>([
    ["content", message.content ?? ""],
    ["reasoning", message.reasoning_content ?? ""],
    ["details", message.reasoning_details ?? []],
    ["annotations", message.annotations ?? []],
    ["calls", message.tool_calls ?? (message.function_call === undefined ? [] : [message.function_call])],
    ["refusal", message.refusal],
    ["finish", finish_reason],
    ["usage", usage],
  ]);
}

interface CallDelta {
  readonly index: number;
  readonly id?: string;
  readonly type?: string;
  readonly function: { readonly name?: string; readonly arguments: string };
}

interface Delta {
  readonly content?: string;
  readonly refusal?: string;
  readonly reasoning_content?: string;
  readonly reasoning_details?: readonly unknown[];
  readonly annotations?: readonly unknown[];
  readonly tool_calls?: readonly CallDelta[];
  readonly function_call?: CallDelta["function"];
}

/** Assembles the chunks of a stream like its client. */
export function gather(frames: string): ReadonlyMap<string, unknown> {
  let content = "";
  let reasoning = "";
  let refusal: string | null = null;
  let finish: string | undefined;
  let usage: unknown;
  const details: unknown[] = [];
  let annotations: readonly unknown[] = [];
  const calls: Record<string, unknown>[] = [];
  for (const line of trace(frames)) {
    const [, kind, rest = ""] = /^(\w+) ?(.*)$/s.exec(line) ?? [];
    if (kind === "finish") finish = rest;
    if (kind === "usage") usage = JSON.parse(rest);
    if (kind !== "delta") continue;
    const delta = JSON.parse(rest) as Delta;
    content += delta.content ?? "";
    reasoning += delta.reasoning_content ?? "";
    refusal = delta.refusal ?? refusal;
    details.push(...(delta.reasoning_details ?? []));
    annotations = delta.annotations ?? annotations;
    for (const { index, id, type, function: called } of delta.tool_calls ?? []) {
      if (id !== undefined) calls[index] = { id, type, function: { ...called } };
      else (calls[index]?.["function"] as { arguments: string }).arguments += called.arguments;
    }
    const { function_call } = delta;
    if (function_call?.name !== undefined) calls[0] = { ...function_call };
    else if (function_call) (calls[0] as { arguments: string }).arguments += function_call.arguments;
  }
  return new Map<string, unknown>([
    ["content", content],
    ["reasoning", reasoning],
    ["details", details],
    ["annotations", annotations],
    ["calls", calls],
    ["refusal", refusal],
    ["finish", finish],
    ["usage", usage],
  ]);
}
