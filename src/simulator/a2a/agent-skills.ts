/** Skills of the simulated agent, selected by the first word of the message. Any other message is echoed. */

import type { AgentQuirk } from "../agents/quirks.ts";
import { excerpt } from "../answer-text.ts";
import type { JsonObject } from "../json-fields.ts";
import type { Step } from "./agent-tasks.ts";
import type { UserMessage } from "./parse-a2a-request.ts";

export const SKILLS: readonly JsonObject[] = [
  skill("answer", "Answer", "Repeats the message.", "Hello!"),
  skill("report", "Report", "A task in steps, with an artifact that grows: report [STEPS] [MS]", "report 5 200"),
  skill("book", "Book", "A task that asks back, and goes on with the answer.", "book a table"),
  skill("fail", "Fail", "A task that fails.", "fail"),
];

const MAX_STEPS = 100;
const MAX_STEP_MS = 60_000;

export type AgentAction =
  | { readonly kind: "message"; readonly parts: readonly JsonObject[] }
  | { readonly kind: "task"; readonly steps: readonly Step[] };

/** Returns what the agent does for a message. `say` applies the fault of the request to a text. */
export function actionFor(
  { text, parts }: UserMessage,
  quirks: ReadonlySet<AgentQuirk>,
  say: (text: string) => string,
): AgentAction {
  const [word = "", ...rest] = text.split(/\s+/);
  if (quirks.has("fail")) return task(status(0, "FAILED", "The agent's name asked for a task that fails."));
  if (quirks.has("reject")) return task(status(0, "REJECTED", "The agent's name asked for a task that is rejected."));
  if (quirks.has("auth")) return task(status(0, "AUTH_REQUIRED", "The agent's name asked for authentication."));
  switch (word.toLowerCase()) {
    case "report":
      return task(...report(numberOf(rest[0], 3, MAX_STEPS), numberOf(rest[1], 100, MAX_STEP_MS), say));
    case "book":
      return task(status(0, "WORKING"), status(0, "INPUT_REQUIRED", "For how many people?"));
    case "fail":
      return task(status(0, "WORKING"), status(0, "FAILED", "It was asked to fail."));
    default:
      return { kind: "message", parts: [{ text: say(`You said: "${excerpt(text)}"`) }, ...parts.filter(isData)] };
  }
}

/** Returns the steps after a task's question was answered. */
export function stepsAfterAnswer({ text }: UserMessage, say: (text: string) => string): readonly Step[] {
  const parts = [{ text: say(`A table for ${excerpt(text)} was booked.`) }];
  return [
    status(0, "WORKING"),
    { atMs: 0, kind: "artifact", id: "booking", name: "Booking", parts, isAppended: false, isLast: true },
    status(0, "COMPLETED"),
  ];
}

function report(count: number, stepMs: number, say: (text: string) => string): readonly Step[] {
  const steps: Step[] = [status(0, "WORKING", "The report is being written.")];
  for (let index = 0; index < count; index += 1) {
    steps.push({
      atMs: (index + 1) * stepMs,
      kind: "artifact",
      id: "report",
      name: "Report",
      parts: [{ text: say(`Part ${index + 1} of ${count}. `) }],
      isAppended: index > 0,
      isLast: index === count - 1,
    });
  }
  steps.push(status((count + 1) * stepMs, "COMPLETED", "The report is written."));
  return steps;
}

const isData = (part: JsonObject): boolean => "data" in part;

function numberOf(word: string | undefined, fallback: number, max: number): number {
  return /^\d{1,5}$/.test(word ?? "") ? Math.min(max, Number(word)) : fallback;
}

function status(atMs: number, state: Extract<Step, { kind: "status" }>["state"], message?: string): Step {
  return { atMs, kind: "status", state, ...(message !== undefined && { message }) };
}

const task = (...steps: readonly Step[]): AgentAction => ({ kind: "task", steps });

function skill(id: string, name: string, description: string, example: string): JsonObject {
  return { id, name, description, tags: ["simulated"], examples: [example] };
}
